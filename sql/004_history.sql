-- What happened, who asked for it, and the answers of API calls that create something. Rows are never changed.

-- One row per settled job: by its result, its deadline, its withdrawal or its dead letter. effect_json is the undo ledger: what the job changed
-- and the call that takes it back; null when nobody knows (docs/undo.md).
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
  duration_ms   integer,
  effect_json   jsonb check (jsonb_typeof(effect_json -> 'changed') = 'boolean')
);
-- A job's id consists of these three, so one index keeps attempts unique and finds those of a step.
create unique index attempts_once on attempts (step_id, attempt, poll);

-- Messages to members: one row for each that a worker reports as sent. is_current marks the last one that told a member its
-- start time; a member has at most one. While its start_time differs from the batch's, that member is owed a correction. A member who moves
-- takes its current row along as a copy, with the step of the same name. Phase and step are named here too: the list of members who were not
-- told joined a million steps for that.
create table sent_messages (
  id              bigint generated always as identity primary key,
  batch_id        bigint not null,
  batch_member_id bigint not null,
  step_id         bigint not null,
  phase_name      text,
  step_name       text not null,
  attempt         integer not null,
  message         text not null,
  language        text not null,
  recipient       text not null,
  start_time      timestamptz,
  corrects_time   timestamptz,
  is_current      boolean not null,
  from_batch_id   bigint,
  sent_at         timestamptz not null,
  check (not is_current or start_time is not null)
);
-- A copy that somebody took along has no attempt of its own.
create unique index sent_messages_once on sent_messages (step_id, attempt) where from_batch_id is null;
create index sent_messages_of_batch on sent_messages (batch_id, id);
create index sent_messages_of_member on sent_messages (batch_member_id, id);
-- Finds members to whom a step has sent nothing.
create index sent_messages_by_step on sent_messages (batch_id, lower(phase_name), lower(step_name), batch_member_id);
create unique index sent_messages_current on sent_messages (batch_member_id) where is_current;
-- Finds those who are owed a correction without reading those who are not.
create index sent_messages_by_time on sent_messages (batch_id, start_time) where is_current;

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
create function number_transaction() returns trigger language plpgsql set search_path from current as $$
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
create function audit_rows_are_immutable() returns trigger language plpgsql set search_path from current as $$
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

create function audit_is_not_truncated() returns trigger language plpgsql set search_path from current as $$
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

-- A rehearsal that the API ran. It works on a database of its own; only its result is kept here, and only of the newest ones, because a
-- report names people. A row that is still running long after its time limit belongs to an API that has ended. batch_id is set for the
-- what-if of a running batch.
create table rehearsals (
  id           bigint generated always as identity primary key,
  runbook_name text not null,
  batch_id     bigint,
  members      integer not null check (members >= 0),
  requested_by text not null,
  requested_at timestamptz not null,
  status       text not null check (status in ('running', 'completed', 'failed', 'cancelled')),
  ended_at     timestamptz,
  because      text,
  report_json  jsonb,
  -- How long each phase took, from the report: forecasts read it every few seconds, and a report may have megabytes.
  times_json   jsonb,
  check ((status = 'running') = (ended_at is null)),
  check ((status in ('failed', 'cancelled')) = (because is not null)),
  check ((status = 'completed') = (report_json is not null))
);

-- A change of many members that a person asked for, so that they can come back to it. Written in the transactions of its chunks: what is
-- here was done. The selection names nobody; the members are in bulk_action_members until their batch is erased.
create table bulk_actions (
  id             bigint generated always as identity primary key,
  batch_id       bigint not null references batches,
  action         text not null,
  started_by     text not null,
  started_at     timestamptz not null,
  progress_at    timestamptz not null,
  ended_at       timestamptz,
  reason         text not null,
  selection_json jsonb not null check (jsonb_typeof(selection_json) = 'object'),
  options_json   jsonb not null check (jsonb_typeof(options_json) = 'object'),
  selected_count integer not null check (selected_count > 0),
  done_count     integer not null default 0 check (done_count >= 0),
  refused_count  integer not null default 0 check (refused_count >= 0),
  check (done_count + refused_count <= selected_count)
);
create index bulk_actions_of_batch on bulk_actions (batch_id, id);

create table bulk_action_members (
  action_id bigint not null references bulk_actions,
  member_id bigint not null,
  refusal   text,
  primary key (action_id, member_id)
);
create index bulk_action_members_of_member on bulk_action_members (member_id);

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
  foreach name in array array['batches', 'reviews', 'dead_letters', 'bulk_actions', 'batch_members', 'phase_executions', 'step_executions',
                              'source_ticks', 'events', 'audit'] loop
    execute format('select coalesce(max(id), 0) from %I', name) into newest;
    perform setval(pg_get_serial_sequence(name, 'id'), case
      when name in ('batches', 'reviews', 'dead_letters', 'bulk_actions') then (newest / 1000 + 2) * 1000
      else greatest(newest + 1, floor(extract(epoch from began))::bigint * 100000)
    end);
  end loop;
end
$$;

-- Removes the personal data of up to so many members of an ended batch, with their steps, attempts and events; returns how many members it
-- changed. The counts, the course of events and their times stay. A key becomes its hash, so that a source that still lists the person is
-- recognised and nobody is migrated twice. The owner's right, because the application may only append to attempts and events; bound to a
-- batch that is marked as erased, which the application's audit row explains.
create function erase_members(erased bigint, most integer) returns integer language plpgsql security definer set search_path from current as $$
declare
  ids bigint[];
begin
  if not exists (select from batches where id = erased and erased_at is not null) then
    raise exception 'batch % is not marked as erased', erased;
  end if;
  ids := array(select id from batch_members where batch_id = erased and key_folded not like 'erased:%' order by id limit most);
  update attempts a set result_json = null, effect_json = null, error_message = case when a.error_message is not null then 'erased' end
    from step_executions s where s.batch_id = erased and s.batch_member_id = any (ids) and a.step_id = s.id;
  update step_executions s
     set params_json = null, result_json = null, late_result_json = null, poll_said = null,
         error_message = case when s.error_message is not null then 'erased' end
   where s.batch_id = erased and s.batch_member_id = any (ids);
  update events e set because = 'erased', details = null where e.batch_id = erased and e.batch_member_id = any (ids);
  delete from dead_letters d
   where (d.replayed_at is not null or d.discarded_at is not null)
     and substring(d.original_message_id from '^(?:result-)?(?:step|rollback|removal|undo)-([0-9]+)')::bigint in
         (select id from step_executions where batch_id = erased and batch_member_id = any (ids));
  update sent_messages set recipient = 'erased' where batch_member_id = any (ids);
  delete from member_addresses where member_id = any (ids);
  delete from reviews where batch_member_id = any (ids);
  delete from source_absences where batch_member_id = any (ids);
  delete from bulk_action_members where member_id = any (ids);
  delete from holds where scope = 'member' and member_id = any (ids);
  update batch_members m
     set member_key = 'erased-' || m.id, data_json = '{}', worker_data_json = '{}',
         key_folded = 'erased:' || encode(sha256(convert_to(m.key_folded, 'UTF8')), 'hex')
   where m.id = any (ids);
  return coalesce(array_length(ids, 1), 0);
end
$$;

-- Removes what is not of one member: addresses in texts about the whole batch, outputs and jobs of init steps, reviews of people who wanted
-- to join.
create function erase_batch(erased bigint) returns void language plpgsql security definer set search_path from current as $$
begin
  if not exists (select from batches where id = erased and erased_at is not null) then
    raise exception 'batch % is not marked as erased', erased;
  end if;
  update batches set outputs_json = '{}', held_reason = regexp_replace(held_reason, '\S+@\S+', '[address]', 'g') where id = erased;
  update events set because = regexp_replace(because, '\S+@\S+', '[address]', 'g'), details = null
   where batch_id = erased and batch_member_id is null and (details is not null or because like '%@%');
  update attempts a set result_json = null, effect_json = null, error_message = case when a.error_message is not null then 'erased' end
    from step_executions s where s.batch_id = erased and s.batch_member_id is null and a.step_id = s.id;
  update step_executions
     set params_json = null, result_json = null, late_result_json = null, poll_said = null,
         error_message = case when error_message is not null then 'erased' end
   where batch_id = erased and batch_member_id is null;
  delete from reviews where batch_id = erased;
  delete from source_issues where batch_id = erased;
  update bulk_actions set reason = regexp_replace(reason, '\S+@\S+', '[address]', 'g'), selection_json = '{}', options_json = '{}'
   where batch_id = erased;
end
$$;

-- Deletes up to so many rows of an archived batch and returns how many; 0 when nothing is left. Steps go with their attempts. Only for a
-- batch whose purge was recorded by a sealed audit row, so nobody can delete history without leaving that row in the chain.
-- The newest event from before the day stays, and younger ones do: every running process remembers the newest event that it saw, and would
-- take its disappearance for a restore from a backup.
create function purge_rows(purged bigint, most integer, day_ago timestamptz) returns integer
language plpgsql security definer set search_path from current as $$
declare
  part integer;
  total integer := 0;
  remembered bigint := (select id from events where at < day_ago order by id desc limit 1);
begin
  if not exists (select from batches b join audit u on u.action = 'batch.purge' and u.subject = 'batch ' || purged and u.hash is not null
                  where b.id = purged and b.purged_at is not null and b.rows_purged_at is null) then
    raise exception 'the purge of batch % is not recorded in a sealed audit row', purged;
  end if;
  with gone as (
      delete from step_executions where id = any (array(
        select id from step_executions where batch_id = purged order by id limit most)) returning id),
    tried as (delete from attempts where step_id in (select id from gone) returning 1),
    messages as (delete from sent_messages where step_id in (select id from gone) returning 1)
  select (select count(*) from gone) + (select count(*) from tried) + (select count(*) from messages) into total;
  if total > 0 then
    return total;
  end if;
  delete from events where id = any (array(
     select f.id from events f join batches b on b.id = purged
      where f.batch_id = purged and f.id <= b.pack_event_id and f.at < day_ago and f.id <> remembered order by f.id limit most));
  get diagnostics part = row_count;
  return part;
end
$$;

-- What people hear of, by a stable key: open once until it is cleared, and an ending exactly once. Texts name no person. Rows and the
-- messages about them are written in one transaction; both are deleted some weeks after their end.
create table notification_conditions (
  id           bigint generated always as identity primary key,
  key          text not null check (length(key) between 1 and 400),
  kind         text not null,
  runbook_name text,
  batch_id     bigint,
  title        text not null,
  text         text not null,
  command      text not null,
  since        timestamptz not null,
  opened_at    timestamptz not null,
  cleared_at   timestamptz check (cleared_at >= opened_at),
  is_ending    boolean not null,
  channels     text[] not null check (cardinality(channels) > 0),
  check (not is_ending or cleared_at = opened_at)
);
create unique index notification_conditions_open on notification_conditions (key) where cleared_at is null;
create unique index notification_conditions_ended on notification_conditions (key) where is_ending;
create index notification_conditions_by_end on notification_conditions (cleared_at) where cleared_at is not null;

-- A message to a channel. message_id is the same at every attempt, so that its receiver recognises a repetition. While is_gathering, what
-- happens until due_at is added. A sender leases a due row, sends outside of a transaction, and marks the row if the lease is still its own.
-- may_have_arrived: an earlier attempt had no answer, or its sender died; the next one says so.
create table notifications (
  id           bigint generated always as identity primary key,
  message_id   text not null unique check (length(message_id) between 1 and 64),
  channel      text not null,
  items        jsonb not null check (jsonb_typeof(items) = 'array'),
  left_out     integer not null default 0 check (left_out >= 0),
  is_gathering boolean not null,
  status       text not null check (status in ('waiting', 'sent', 'failed')),
  created_at   timestamptz not null,
  due_at       timestamptz not null,
  attempts     integer not null default 0 check (attempts >= 0),
  may_have_arrived boolean not null default false,
  lease_token  text,
  leased_until timestamptz,
  ended_at     timestamptz,
  error        text,
  check ((lease_token is null) = (leased_until is null)),
  check ((status = 'waiting') = (ended_at is null)),
  check (status = 'waiting' or lease_token is null),
  check (status <> 'failed' or error is not null)
);
create index notifications_due on notifications (due_at) where status = 'waiting';
create index notifications_of_channel on notifications (channel, id);
create index notifications_by_end on notifications (ended_at) where ended_at is not null;

-- PostgreSQL lets everybody execute a new function. Each role is granted those that it needs (src/bus/role-rights.ts).
revoke execute on function number_transaction, audit_rows_are_immutable, audit_is_not_truncated, skip_numbers, erase_members,
  erase_batch, purge_rows from public;
