-- Membership from data sources: when each source is read, what was found, and what waits for a person.
--
--   source_states ── one row per runbook name: when its source is read next, and which scheduler reads it now
--   source_ticks ─── one row per reading of a source
--   source_absences, reviews, source_issues ── what the last good tick left open; every good tick recomputes them
--
-- A tick writes only differences: an unchanged result of 100,000 rows changes four rows here.

-- The lease is a row with a deadline, so a scheduler that dies during a tick loses it. Every transaction of a tick first checks its
-- token: a scheduler that was only suspended cannot write after another took over.
create table source_states (
  runbook_name  text primary key check (runbook_name = lower(runbook_name)),
  due_at        timestamptz not null,
  lease_token   text,
  leased_until  timestamptz,
  issues_digest text not null default '',
  check ((lease_token is null) = (leased_until is null))
);

create table source_ticks (
  id              bigint generated always as identity primary key,
  runbook_name    text not null check (runbook_name = lower(runbook_name)),
  runbook_version integer not null,
  started_by      text not null,
  started_at      timestamptz not null,
  ended_at        timestamptz,
  outcome         text not null check (outcome in ('running', 'good', 'failed', 'abandoned')),
  row_count       integer check (row_count >= 0),
  group_count     integer check (group_count >= 0),
  counts          jsonb not null default '{}' check (jsonb_typeof(counts) = 'object'),
  error           text,
  check ((outcome = 'running') = (ended_at is null)),
  check ((outcome = 'failed') = (error is not null)),
  check (outcome <> 'good' or (row_count is not null and group_count is not null))
);
create index source_ticks_of_runbook on source_ticks (runbook_name, id);
create index source_ticks_running on source_ticks (runbook_name) where outcome = 'running';

-- Further times that match a batch besides its source_time: the source redated the wave, and a person confirmed that it is the
-- same wave.
create table batch_source_times (
  batch_id     bigint not null references batches,
  source_time  timestamptz not null,
  runbook_name text not null check (runbook_name = lower(runbook_name)),
  agreed_at    timestamptz not null,
  agreed_by    text not null,
  primary key (batch_id, source_time)
);
create index batch_source_times_by_time on batch_source_times (runbook_name, source_time);

-- Members whose key was missing from the last one or two good ticks. Nobody leaves before the second.
create table source_absences (
  batch_member_id bigint primary key references batch_members,
  runbook_name    text not null check (runbook_name = lower(runbook_name)),
  missed          integer not null check (missed in (1, 2)),
  since           timestamptz not null
);
create index source_absences_of_runbook on source_absences (runbook_name);

-- Source changes that wait for a person, who approves or dismisses them. A dismissed review stays while its change does.
--   removal  the key left the source
--   move     the key is in another group: to_time
--   join     the key is in a group whose batch ended, or another batch finished it; data_json is the member's data
create table reviews (
  id              bigint generated always as identity primary key,
  runbook_name    text not null check (runbook_name = lower(runbook_name)),
  kind            text not null check (kind in ('removal', 'move', 'join')),
  cause           text not null check (cause in ('many', 'started', 'begun', 'redated', 'late', 'done', 'removed')),
  batch_id        bigint references batches,
  batch_member_id bigint references batch_members,
  member_key      text not null check (length(member_key) between 1 and 512),
  key_folded      text not null,
  to_time         timestamptz,
  data_json       jsonb check (jsonb_typeof(data_json) = 'object'),
  data_hash       text,
  reason          text not null,
  since           timestamptz not null,
  dismissed_at    timestamptz,
  dismissed_by    text,
  check ((kind = 'join') = (batch_member_id is null)),
  check ((kind = 'join') = (data_json is not null) and (kind = 'join') = (data_hash is not null)),
  check ((kind = 'removal') = (to_time is null)),
  check (kind = 'join' or batch_id is not null),
  check ((dismissed_at is null) = (dismissed_by is null))
);
create unique index reviews_of_member on reviews (batch_member_id, kind) where batch_member_id is not null;
create unique index reviews_of_joiner on reviews (runbook_name, key_folded) where kind = 'join';
create index reviews_of_runbook on reviews (runbook_name, kind, id);
create index reviews_of_batch on reviews (batch_id, kind, id);

-- Rows that the last good tick could not use and changes that it did not make. At most 1,000 per runbook; the tick's counts hold
-- the totals.
create table source_issues (
  id           bigint generated always as identity primary key,
  runbook_name text not null check (runbook_name = lower(runbook_name)),
  tick_id      bigint not null,
  kind         text not null,
  member_key   text,
  column_name  text,
  batch_id     bigint,
  reason       text not null,
  found_at     timestamptz not null
);
create index source_issues_of_runbook on source_issues (runbook_name, id);
