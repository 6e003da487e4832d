-- The bus of the postgres transport: the outbox is the queue.
--
--   send (in the sender's transaction)             claim                        ack
--   message_ids ── new id? ──> bundles ──────────> the same row, leased ──────> row deleted
--                                                     │ refused, expired, or delivered ten times
--                                                     └────────────────────────> dead_letters
--
-- A message is invisible while visible_at is in the future. A claim writes a lease_token and leased_until, one minute ahead. When
-- the consumer dies, the lease runs out and the next claim finds the row: nothing cleans up. Only the newest token can ack, renew
-- or abandon, and only while its lease lasts. Acked rows are deleted, so the table holds only open work. Nothing reads the clock.
--
-- Messages that are sent together and share their envelope are one row, a bundle: stored, leased and deleted at once. Storing and
-- claiming 500 messages as 500 rows was a third of PostgreSQL's work for a step.
--
--   sent together ──> bundle ──> claimed whole ──> acked whole: one insert, update and delete for up to 500 messages
--                       │ a consumer wants fewer; a part is acked, abandoned, dead-lettered or withdrawn
--                       └──────> split: each message gets its own row
--
-- Ids and bodies are the lines of a text. A body with a line break gets a bundle to itself. A bundle's id is a multiple of 1,024;
-- the numbers above it belong to its messages, so a message keeps its number when the bundle is split. The view messages shows
-- one row per message.
--
-- No index contains the lease, and pages are filled to 45 % only, so a claim updates the row in its page and writes no index (HOT).
-- A prototype did 32,000-45,000 messages/s with 1.5 KB of log each; with the lease in the queue's index 17,000-23,000 and 2.4 KB.
-- Of 45, 50 and 70 % only 45 made every claim HOT. The price: a claim reads past the leased rows at the head of the queue.
--
-- These tables turn over within minutes, so autovacuum counts rows instead of fractions, does not pause, and never truncates:
-- returning pages takes a lock that stops every sender.

create table bundles (
  id             bigint generated always as identity (increment by 1024 start with 1024) primary key,
  topic          text collate "C" not null check (topic in ('orchestrator-events', 'worker-jobs', 'worker-results')),
  subscription   text collate "C" not null,
  -- Storage external: values over 2 KB lie outside the row, uncompressed. Compressing 200 KB costs more than writing them.
  message_ids    text collate "C" not null,
  message_type   text collate "C" not null,
  worker_id      text collate "C",
  bodies         text not null check (octet_length(bodies) <= 262144),
  enqueued_at    timestamptz not null,
  visible_at     timestamptz not null,
  expires_at     timestamptz not null,
  delivery_count integer not null default 0 check (delivery_count >= 0),
  leased_until   timestamptz,
  lease_token    uuid,
  size           integer not null check (size between 1 and 1000),
  check ((lease_token is null) = (leased_until is null)),
  check (lease_token is null or delivery_count > 0),
  check (visible_at >= enqueued_at),
  check (topic <> 'worker-jobs' or (worker_id is not null and subscription = 'worker-' || worker_id)),
  check (topic = 'worker-jobs' or subscription = 'orchestrator'),
  -- Every claim checks this again; the length in bytes is known without reading what lies outside the row.
  check (octet_length(message_ids) between size and 129 * size)
) with (
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = false,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000, toast.autovacuum_vacuum_cost_delay = 0,
  toast.vacuum_truncate = false
);
alter table bundles alter column message_ids set storage external, alter column bodies set storage external;
-- A claim reads this in order and stops at its limit: a backlog of a million costs as much as a backlog of a thousand.
create index bundles_queue on bundles (topic, subscription, visible_at, id);
-- All results live equally long, so the oldest expire first and bundles_queue finds them.
create index bundles_by_expiry on bundles (expires_at) where topic <> 'worker-results';

create function messages_in_bundle(message_ids text, bodies text, size integer)
returns table (place bigint, message_id text, body text) language sql immutable as $$
  select c.place, c.message_id, c.body
    from unnest(case when size = 1 then array[message_ids] else string_to_array(message_ids, E'\n') end,
                case when size = 1 then array[bodies] else string_to_array(bodies, E'\n') end)
         with ordinality as c (message_id, body, place)
$$;

create view messages as
  select case when p.size = 1 then p.id else p.id + c.place end as id, p.topic, p.subscription, c.message_id, p.message_type,
         p.worker_id, c.body, p.enqueued_at, p.visible_at, p.expires_at, p.delivery_count, p.leased_until, p.lease_token
    from bundles p cross join lateral messages_in_bundle(p.message_ids, p.bodies, p.size) c;

-- The newest event, by which a worker that takes jobs notices later that the database went back. Fails (MT001) while this PostgreSQL is not
-- the one that the epoch began on, and when an event that the caller saw is gone and no epoch has begun since: the jobs that lie here may
-- have run. In a trial a worker took a restored queue 0.5 s after its server was back, and 16 functions that must not run twice did.
create function newest_event(seen_id bigint, seen_at timestamptz) returns table (id bigint, at timestamptz)
stable security definer language plpgsql set search_path from current as $$
begin
  if current_epoch() is null
     or seen_id is not null
        and not exists (select from events e where e.id = seen_id and date_trunc('milliseconds', e.at) = seen_at)
        and not exists (select from epochs e where e.began_at > seen_at) then
    raise exception 'the database is older than what this process has seen, or has moved, and no epoch has begun since' using errcode = 'MT001';
  end if;
  return query select e.id, e.at from events e order by e.id desc limit 1;
end
$$;

-- Leases bundles of up to max_messages messages. It reads them one by one, so it locks only what it takes and the first that does
-- not fit: a concurrent consumer must not find the queue empty. If already the first is too large, only its id comes back, for
-- the caller to split it.
-- Planned at each call: vacuum often finds the table empty, and a plan for an empty table reads all of a full one.
-- At least one bundle, and no more once max_bytes is reached: 500 results of 200 KB took an orchestrator to 1.5 GB.
create function claim_bundles(queue_topic text, queue_subscription text, since timestamptz, at timestamptz, max_messages integer,
                              max_bytes integer, until timestamptz, token uuid, seen_id bigint default null, seen_at timestamptz default null)
returns setof bundles language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  waiting cursor for
    select p.id, p.ctid as place, p.size, octet_length(p.bodies) as bytes from bundles p
     where p.topic = queue_topic and p.subscription = queue_subscription and p.visible_at >= since and p.visible_at <= at
       and (p.leased_until is null or p.leased_until <= at)
     order by p.visible_at, p.id limit max_messages
     for update skip locked;
  places tid[] := '{}';
  free integer := max_messages;
  free_bytes integer := max_bytes;
  too_large bundles;
begin
  if queue_topic = 'worker-jobs' then
    perform newest_event(seen_id, seen_at);
  end if;
  for bundle in waiting loop
    if bundle.size > free then
      too_large.id := bundle.id;
      exit;
    end if;
    places := places || bundle.place;
    free := free - bundle.size;
    free_bytes := free_bytes - bundle.bytes;
    exit when free = 0 or free_bytes <= 0;
  end loop;
  if free < max_messages then
    return query
      update bundles p set leased_until = until, lease_token = token, delivery_count = p.delivery_count + 1
       where p.ctid = any (places) returning p.*;
  elsif too_large.id is not null then
    return next too_large;
  end if;
end
$$;

-- Database roles that `matoolkit db grant` has set up, so that an upgrade can renew their rights. An application has one row and no
-- worker; a worker has a row for each id whose jobs it may take.
create table database_roles (
  role_name  text not null,
  worker_id  text collate "C",
  granted_at timestamptz not null,
  unique nulls not distinct (role_name, worker_id)
);

-- Whether the caller may take the jobs of a worker. Functions below run with the rights of their owner, so they ask for the caller.
create function may_serve(asked_worker_id text) returns boolean stable security definer language sql set search_path from current as $$
  select pg_has_role(session_user, current_user, 'usage') or exists (
    select from database_roles d join pg_roles r on r.rolname = d.role_name
     where (d.worker_id is null or d.worker_id = asked_worker_id) and pg_has_role(session_user, r.oid, 'usage'))
$$;

-- Gives each message of these bundles its own row, if the bundle is: leased under the token, free at the time (never leased, or
-- lapsed), unleased (never leased), or lapsed at the time. Returns the new rows.
-- A worker's role must not insert rows with ids of its choice: it could take those of the next bundles, and senders would fail.
create function split_bundles(ids bigint[], state text, token uuid, at timestamptz)
returns setof bigint security definer language plpgsql
set search_path from current set plan_cache_mode = force_custom_plan as $$
begin
  if exists (select from bundles p where p.id = any (ids) and not may_serve(case p.topic when 'worker-jobs' then p.worker_id end)) then
    raise insufficient_privilege using message = format('role %s may not split these bundles', session_user);
  end if;
  return query
    with split as (
      delete from bundles p where p.id = any (ids) and p.size > 1 and case state
          when 'leased' then p.lease_token = token
          when 'free' then p.leased_until is null or p.leased_until <= at
          when 'unleased' then p.lease_token is null
          when 'lapsed' then p.leased_until <= at
        end
      returning p.*)
    insert into bundles (id, topic, subscription, message_ids, message_type, worker_id, bodies, size, enqueued_at, visible_at,
                         expires_at, delivery_count, leased_until, lease_token)
    overriding system value
    select s.id + c.place, topic, subscription, c.message_id, message_type, worker_id, c.body, 1, enqueued_at, visible_at,
           expires_at, delivery_count, leased_until, lease_token
      from split s cross join lateral messages_in_bundle(s.message_ids, s.bodies, s.size) c
    returning id;
end
$$;

-- Duplicate detection: a message id is remembered for ten minutes after it was sent. The topic of a worker's messages is followed by its
-- id (worker-results/w1): nobody can use up the ids of others.
create table message_ids (
  topic      text collate "C" not null,
  message_id text collate "C" not null,
  seen_at    timestamptz not null,
  primary key (topic, message_id)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 200000, vacuum_truncate = false
);
create index message_ids_by_age on message_ids (seen_at);

-- Remembers message ids. Returns null when all were new, else the new ones as topic/id. "On conflict" for every single id took
-- twice as long, so the first insert assumes that none is known. Both inserts wait for a concurrent sender of the same id.
create function remember_message_ids(topics text[], ids text[], seen timestamptz, forgotten timestamptz)
returns text[] language plpgsql as $$
declare
  fresh_keys text[];
begin
  insert into message_ids (topic, message_id, seen_at) select unnest(topics), unnest(ids), seen;
  return null;
exception when unique_violation then
  with fresh as (
    insert into message_ids (topic, message_id, seen_at)
    select topic, message_id, seen from unnest(topics, ids) as m (topic, message_id)
    on conflict on constraint message_ids_pkey do update set seen_at = excluded.seen_at
      where message_ids.seen_at <= forgotten
    returning topic, message_id)
  select coalesce(array_agg(topic || '/' || message_id), '{}') into fresh_keys from fresh;
  return fresh_keys;
end
$$;

-- Messages that could not be handled, kept whole until a person replays or discards them, and then as a record.
-- original_message_id is the id without any `-replay-{n}`, so that replays of replays count together.
create table dead_letters (
  id                  bigint generated always as identity primary key,
  topic               text collate "C" not null,
  subscription        text collate "C" not null,
  message_id          text collate "C" not null,
  original_message_id text collate "C" not null,
  message_type        text collate "C" not null,
  worker_id           text collate "C",
  body                text not null,
  enqueued_at         timestamptz not null,
  expires_at          timestamptz not null,
  delivery_count      integer not null,
  reason              text not null,
  description         text not null,
  dead_lettered_at    timestamptz not null,
  replayed_at         timestamptz,
  replayed_by         text,
  replayed_as         text,
  discarded_at        timestamptz,
  discarded_by        text,
  noticed_at          timestamptz,
  check ((replayed_at is null) = (replayed_by is null) and (replayed_at is null) = (replayed_as is null)),
  check ((discarded_at is null) = (discarded_by is null)),
  check (replayed_at is null or discarded_at is null)
);
create index dead_letters_open on dead_letters (topic, subscription, id)
  where replayed_at is null and discarded_at is null;
-- Nobody answers a dead-lettered job: the engine settles its step once and writes noticed_at.
create index dead_letters_unnoticed on dead_letters (id) where topic = 'worker-jobs' and noticed_at is null;
create index dead_letters_by_message on dead_letters (topic, original_message_id);
-- Two replays must never share a message id: duplicate detection would drop the second.
create unique index dead_letters_replayed_as on dead_letters (topic, replayed_as) where replayed_as is not null;

-- Each role is granted what it needs (src/bus/role-rights.ts).
revoke execute on function messages_in_bundle, newest_event, claim_bundles, may_serve, split_bundles, remember_message_ids from public;
