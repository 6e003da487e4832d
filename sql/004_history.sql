-- What happened, who asked for it, and the answers of API calls that create something. Rows are never changed.

-- One row per settled job: by its result, its deadline, its withdrawal or its dead letter.
create table attempts (
  id            bigint generated always as identity,
  step_id       bigint not null,
  batch_id      bigint not null,
  job_id        text not null,
  attempt       integer not null,
  poll          integer not null,
  worker_id     text not null,
  sent_at       timestamptz not null,
  settled_at    timestamptz not null,
  outcome       text not null check (outcome in
    ('succeeded', 'incomplete', 'failed', 'lost', 'dead_lettered', 'withdrawn', 'refused', 'undelivered')),
  result_json   jsonb,
  error_message text,
  duration_ms   integer
);
-- A job's id consists of these three, so one index keeps attempts unique and finds those of a step.
create unique index attempts_once on attempts (step_id, attempt, poll);

-- Timelines, live streams and reports read events. An event belongs to the transaction of its change.
create table events (
  id              bigint generated always as identity primary key,
  at              timestamptz not null,
  batch_id        bigint,
  batch_member_id bigint,
  phase_id        bigint,
  step_id         bigint,
  entity          text not null check (entity in ('system', 'runbook', 'batch', 'phase', 'member', 'step', 'worker')),
  event           text not null,
  from_status     text,
  to_status       text,
  attempt         integer,
  job_id          text,
  actor           text not null,
  because         text not null,
  details         jsonb
);
create index events_of_batch on events (batch_id, id);
create index events_of_member on events (batch_member_id, id) where batch_member_id is not null;
-- The course of a batch: some dozen rows among a million. Events of steps and members are not in this index, so the hot path
-- does not write it.
create index events_of_course on events (batch_id, id) where entity in ('batch', 'phase');

-- A transaction has its number before its events have theirs. Otherwise a reader that finds a gap takes the transaction behind it for a
-- later one, does not wait for it, and the event is never seen by those who listen (src/api/events/gapless-reader.ts).
create function number_transaction() returns trigger language plpgsql as $$
begin
  perform pg_current_xact_id();
  return null;
end
$$;
create trigger number_before_events before insert on events for each statement execute function number_transaction();

-- What is known of the time that a restore from a backup undid.
create index events_before_restore on events (job_id, id) where event = 'result_before_restore';

-- Who asked for what. An audit row belongs to the transaction of its change and is sealed in the background, in the order in which
-- the sealer finds the rows: seal_number counts that order without gaps, and each hash covers the row and the previous hash. The
-- order of ids would not do: a row may commit after one with a higher id was sealed.
create table audit (
  id            bigint generated always as identity primary key,
  at            timestamptz not null,
  actor         text not null,
  actor_name    text not null default '',
  client_app    text,
  request_id    text,
  action        text not null,
  subject       text not null,
  reason        text,
  source        text,
  before_json   jsonb,
  after_json    jsonb,
  seal_number   bigint check (seal_number > 0),
  previous_hash text,
  hash          text,
  check ((hash is null) = (previous_hash is null)),
  check ((hash is null) = (seal_number is null))
);
create index audit_unsealed on audit (id) where hash is null;
create unique index audit_sealed on audit (seal_number) where seal_number is not null;
create index audit_by_time on audit (at, id);
create index audit_by_actor on audit (actor, id);
create index audit_by_subject on audit (subject, id);
create index audit_prunings on audit (id) where action = 'audit.prune';

-- Sealing is the only update. Pruning (a setting limits how long the audit is kept) is itself a sealed row (audit.prune): it names
-- the last row that goes and the time before which rows go. Only such rows can be deleted, and only after it is sealed, so nobody can
-- delete without leaving that row in the chain.
create function audit_rows_are_immutable() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.hash is null and new.hash is not null
    and to_jsonb(old) - array['hash', 'previous_hash', 'seal_number']
      = to_jsonb(new) - array['hash', 'previous_hash', 'seal_number']
  then
    return new;
  end if;
  if tg_op = 'DELETE' and exists (
    select from audit p where p.action = 'audit.prune' and p.hash is not null and p.seal_number > old.seal_number
      and old.seal_number <= (p.after_json->>'through')::bigint and old.at < (p.after_json->>'before')::timestamptz)
  then
    return old;
  end if;
  raise exception 'audit rows are never changed or deleted (row %)', old.id;
end
$$;
create trigger audit_rows_are_immutable before update or delete on audit
  for each row execute function audit_rows_are_immutable();

create function audit_is_not_truncated() returns trigger language plpgsql as $$
begin
  raise exception 'the audit is never truncated';
end
$$;
create trigger audit_is_not_truncated before truncate on audit
  for each statement execute function audit_is_not_truncated();

-- One row per creating call with an Idempotency-Key, written in the call's transaction: the answer exists exactly when the created
-- row does. A second call with the same key waits at the primary key for the first one's commit.
create table idempotency_keys (
  actor        text not null,
  key          text not null check (length(key) between 1 and 128),
  operation    text not null,
  request_hash text not null,
  created_at   timestamptz not null,
  status       integer check (status between 200 and 299),
  answer_json  jsonb,
  primary key (actor, key),
  check ((status is null) = (answer_json is null))
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- After a restore, once its epoch has begun: numbers that the lost time used are skipped. Those that people write down continue at a full
-- thousand, the others where this database has never been (it gives out fewer than 100,000 a second). The owner's right, because the
-- application may use sequences but not set them; without arguments and only in an unsettled epoch, so that nobody else can abuse it.
create function skip_numbers() returns void language plpgsql security definer set search_path from current as $$
declare
  began timestamptz := (select began_at from epochs where settled_at is null order by number desc limit 1);
  name text;
  newest bigint;
begin
  if began is null then
    raise exception 'numbers are skipped only when an epoch begins';
  end if;
  foreach name in array array['batches', 'reviews', 'dead_letters', 'batch_members', 'phase_executions', 'step_executions',
                              'source_ticks', 'events', 'audit'] loop
    execute format('select coalesce(max(id), 0) from %I', name) into newest;
    perform setval(pg_get_serial_sequence(name, 'id'), case
      when name in ('batches', 'reviews', 'dead_letters') then (newest / 1000 + 2) * 1000
      else greatest(newest + 1, floor(extract(epoch from began))::bigint * 100000)
    end);
  end loop;
end
$$;
