-- The bus: the outbox is the queue.
--
--   enqueue (in the sender's transaction)        claim                       settle
--   message_ids ─ new id? ─> messages ─────────> the same row, leased ─────> row deleted
--                                                    │ refused, expired, or taken ten times in vain
--                                                    └─────────────────────> dead_letters
--
-- A row of messages waits while visible_at is in the future. Taking a message writes a lease_token and leased_until, one
-- minute ahead: if the consumer dies, the minute passes and the next one finds the row again without anybody cleaning up.
-- Only the holder of the newest token can settle, renew or give back, and only before its minute ends. Settled rows are
-- deleted, so the table holds what is still to do. Nothing here reads the clock: `now` is a parameter.
--
-- No index mentions the lease, and pages are filled to 45 % only, so a claim writes the new row version into the same page
-- and touches no index (HOT). A prototype of the statements, three runs of each kind in turns on a busy machine, did
-- 32,000-45,000 messages/s with 1.5 KB of log each; with the lease in the queue's index 17,000-23,000 and 2.4 KB. Of 45, 50
-- and 70 % only 45 made every claim HOT. The price: a claim walks past the leased rows at the head of the queue, as many as
-- consumers hold at that moment.
--
-- All three tables turn over completely within minutes, so autovacuum counts rows and not shares of the table, does not
-- pause, and never truncates: giving pages back takes a lock that would stop every sender.

create table messages (
  id             bigint generated always as identity primary key,
  topic          text collate "C" not null check (topic in ('orchestrator-events', 'worker-jobs', 'worker-results')),
  subscription   text collate "C" not null,
  message_id     text collate "C" not null check (length(message_id) between 1 and 128),
  message_type   text collate "C" not null,
  worker_id      text collate "C",
  body           text not null check (octet_length(body) <= 262144),
  enqueued_at    timestamptz not null,
  visible_at     timestamptz not null,
  expires_at     timestamptz not null,
  delivery_count integer not null default 0 check (delivery_count >= 0),
  leased_until   timestamptz,
  lease_token    uuid,
  check ((lease_token is null) = (leased_until is null)),
  check (lease_token is null or delivery_count > 0),
  check (visible_at >= enqueued_at),
  check (topic <> 'worker-jobs' or (worker_id is not null and subscription = 'worker-' || worker_id)),
  check (topic = 'worker-jobs' or subscription = 'orchestrator')
) with (
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = false,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000, toast.vacuum_truncate = false
);
-- The claim walks this in order and stops at its limit, so a backlog of a million costs what a backlog of a thousand does.
create index messages_queue on messages (topic, subscription, visible_at, id);
create index messages_by_expiry on messages (expires_at);
-- Without the topic, so that no claim can ever be planned over it.
create index messages_by_message_id on messages (message_id);

-- Duplicate detection: a message id is remembered for ten minutes after it was sent, whatever became of the message.
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

-- Messages that could not be handled, kept whole until a person replays or discards them, and after that as a record.
-- original_message_id is the id before any `-replay-{n}` was added, so that replays of replays are counted together.
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
-- A job that lies here will not be answered: the engine settles its step, once, and notes when.
create index dead_letters_unnoticed on dead_letters (id) where topic = 'worker-jobs' and noticed_at is null;
create index dead_letters_by_message on dead_letters (topic, original_message_id);
-- Two replays must never share a message id: duplicate detection would swallow the second.
create unique index dead_letters_replayed_as on dead_letters (topic, replayed_as) where replayed_as is not null;
