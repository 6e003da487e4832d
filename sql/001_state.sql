-- The state of every migration. Read this file first; then 002_bus, 003_sources, 004_history.
--
--   runbooks ──< batches ──< batch_members ──< step_executions ──< attempts (004_history)
--                   └──────< phase_executions ──<┘      └── waits: what an unfinished step waits for
--
-- A runbook is published in versions. A batch is one wave of members. Each phase of the runbook has one row per batch, each
-- step of a phase one row per member. Init, rollback, removal and undo steps are rows of the same table (kind).
-- Statuses change only through src/engine, by the table in src/domain/state/transitions.ts. A draft decides them, but for the open steps
-- of a cancelled batch, which one statement cancels. Tests compare the CHECKs and the partial indexes below with the table, an invariant
-- compares every event. No statement reads the clock: every time is a parameter.

create table runbooks (
  id               bigint generated always as identity primary key,
  name             text not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$'),
  version          integer not null check (version > 0),
  yaml_content     text not null,
  is_active        boolean not null,
  overdue_behavior text not null default 'ignore' check (overdue_behavior in ('ignore', 'rerun')),
  rerun_init       boolean not null default false,
  created_at       timestamptz not null,
  published_by     text not null,
  last_error       text,
  last_error_at    timestamptz,
  check ((last_error is null) = (last_error_at is null))
);
create unique index runbooks_version on runbooks (lower(name), version);
create unique index runbooks_one_active on runbooks (lower(name)) where is_active;

-- The automation switch, with the person who turned it last. A runbook whose switch was never turned has no row.
create table runbook_automation_settings (
  runbook_name       text primary key check (runbook_name = lower(runbook_name)),
  automation_enabled boolean not null default false,
  enabled_at         timestamptz,
  enabled_by         text,
  disabled_at        timestamptz,
  disabled_by        text,
  check (not automation_enabled or enabled_at is not null),
  check (automation_enabled or disabled_at is not null),
  check ((enabled_at is null) = (enabled_by is null)),
  check ((disabled_at is null) = (disabled_by is null))
);

-- source_time is the instant in the data that made the batch and never changes; batch_start_time may be rescheduled. A manual
-- batch has no source_time and is never matched to data.
-- erased_at: the personal data of its members is gone; nothing can be done with the batch any more. purged_at: so are its steps, attempts
-- and events, which are in the evidence pack pack_file up to pack_event_id; rows_purged_at: none is left. The row and its counters stay: a source that still lists the people of an old
-- wave must not make it again.
-- Every transaction updates the counters it affects, so a summary never counts 100,000 rows. failure_revision grows whenever a
-- step enters or leaves a failed status: a cache of failure groups compares it, where reading 2,000 failures takes 2 ms.
create table batches (
  id                 bigint generated always as identity primary key,
  runbook_id         bigint not null references runbooks,
  runbook_name       text not null check (runbook_name = lower(runbook_name)),
  runbook_version    integer not null,
  source_time        timestamptz,
  batch_start_time   timestamptz,
  is_manual          boolean not null,
  created_by         text not null,
  current_phase      text,
  status             text not null check (status in
    ('detected', 'init_dispatched', 'active', 'completed', 'failed', 'cancelled')),
  failed_in_init     boolean not null default false,
  detected_at        timestamptz not null,
  init_dispatched_at timestamptz,
  activated_at       timestamptz,
  ended_at           timestamptz,
  held_at            timestamptz,
  held_by            text,
  held_reason        text,
  window_closed_at   timestamptz,
  window_opens_at    timestamptz,
  window_override_until  timestamptz,
  window_override_by     text,
  window_override_reason text,
  outputs_json       jsonb not null default '{}',
  members_active     integer not null default 0 check (members_active >= 0),
  members_failed     integer not null default 0 check (members_failed >= 0),
  members_removed    integer not null default 0 check (members_removed >= 0),
  init_open          integer not null default 0 check (init_open >= 0),
  rollback_open      integer not null default 0 check (rollback_open >= 0),
  removal_open       integer not null default 0 check (removal_open >= 0),
  undo_open          integer not null default 0 check (undo_open >= 0),
  failure_revision   bigint not null default 0 check (failure_revision >= 0),
  erased_at          timestamptz,
  purged_at          timestamptz,
  pack_file          text,
  pack_event_id      bigint,
  rows_purged_at     timestamptz,
  check ((source_time is null) = is_manual),
  check (is_manual or batch_start_time is not null),
  check ((status in ('completed', 'failed', 'cancelled')) = (ended_at is not null)),
  check (status <> 'init_dispatched' or init_dispatched_at is not null),
  check (status not in ('active', 'completed') or activated_at is not null),
  check (not failed_in_init or status = 'failed'),
  check (erased_at is null or ended_at is not null),
  check (purged_at is null or erased_at is not null and pack_file is not null and pack_event_id is not null),
  check (rows_purged_at is null or purged_at is not null),
  check ((held_at is null) = (held_by is null) and (held_at is null) = (held_reason is null)),
  check (window_closed_at is not null or window_opens_at is null),
  check ((window_override_until is null) = (window_override_by is null)
     and (window_override_until is null) = (window_override_reason is null))
);
create unique index batches_by_source on batches (runbook_name, source_time) where source_time is not null;
create index batches_unfinished on batches (runbook_name, id)
  where status in ('detected', 'init_dispatched', 'active');
create index batches_by_runbook on batches (runbook_id);
-- Timers look every second whether their windows have opened.
create index batches_outside_window on batches (runbook_id) where window_closed_at is not null;
-- What retention looks at: ended batches by their end.
create index batches_by_end on batches (ended_at, id) where ended_at is not null and rows_purged_at is null;
-- Lists of batches by their cut-over.
create index batches_by_start on batches (batch_start_time, id);

-- member_key is the key as the source wrote it; key_folded (trimmed, lower case) is what comparisons use.
-- A chunk of results updates every member of a page in one transaction, so a page needs room for a second version of each row.
-- At fillfactor 60 every eighth update left its page and wrote five indexes; at 35 none did.
create table batch_members (
  id                   bigint generated always as identity primary key,
  batch_id             bigint not null references batches,
  member_key           text not null check (length(member_key) between 1 and 512),
  key_folded           text not null check (key_folded = lower(trim(key_folded))),
  data_json            jsonb not null check (jsonb_typeof(data_json) = 'object'),
  data_hash            text not null,
  worker_data_json     jsonb not null default '{}' check (jsonb_typeof(worker_data_json) = 'object'),
  status               text not null check (status in ('active', 'failed', 'removed')),
  added_at             timestamptz not null,
  failed_at            timestamptz,
  removed_at           timestamptz,
  removed_by           text,
  removal_number       integer not null default 0 check (removal_number >= 0),
  moved_to_batch_id    bigint references batches,
  add_dispatched_at    timestamptz,
  remove_dispatched_at timestamptz,
  unique (batch_id, key_folded),
  check ((status = 'removed') = (removed_at is not null) and (status = 'removed') = (removed_by is not null)),
  check (status <> 'failed' or failed_at is not null),
  check (status <> 'active' or failed_at is null)
) with (fillfactor = 35);
create index batch_members_of_batch on batch_members (batch_id, id);
-- The operator class finds keys by their beginning too, in every collation.
create index batch_members_by_key on batch_members (key_folded text_pattern_ops);
-- A list of the few members who are not active must not read 100,000 others. Only a member's transitions write this index,
-- never its outputs, so hot-path updates stay HOT.
create index batch_members_not_active on batch_members (batch_id, status, id) where status <> 'active';
-- A search for part of a key reads keys and ids from this index alone: 100,000 entries instead of as many wide rows. The
-- operator class serves prefixes in every collation.
create index batch_members_keys on batch_members (batch_id, key_folded text_pattern_ops) include (id);

-- Every address in the data and outputs of a member except its key, folded like keys, so that a person is found by any of them. An
-- address stays when the data changes. Byte order, so that this one index finds an address by its beginning too.
create table member_addresses (
  address   text collate "C" not null check (length(address) <= 320),
  member_id bigint not null,
  primary key (address, member_id)
);

-- due_at is null for manual batches. offset_minutes is positive before the start (T-5d = 7200) and negative after it.
-- expanded_at means that every member's steps are written; members_* count the members who have steps here.
-- gate_approvals and gate_ready_percent are what must be true before it starts; an approval stands while at most gate_survives people have
-- joined or left since; gate_look_at is set while it is due and that is not true.
-- ramp_percents are the shares of its members that start one after the other. ramp_share counts from 0; steps are written for members up
-- to ramp_through, in the last share for all (null). soak_ends_at is set between the end of a share and the start of the next.
create table phase_executions (
  id                 bigint generated always as identity primary key,
  batch_id           bigint not null references batches,
  phase_name         text not null,
  phase_index        integer not null check (phase_index >= 0),
  offset_minutes     integer not null,
  due_at             timestamptz,
  runbook_version    integer not null,
  status             text not null check (status in
    ('pending', 'dispatched', 'completed', 'failed', 'skipped', 'superseded', 'cancelled')),
  skipped_because    text check (skipped_because in ('empty', 'overdue')),
  dispatched_at      timestamptz,
  expanded_through   bigint not null default 0,
  expanded_at        timestamptz,
  completed_at       timestamptz,
  steps_pending      integer not null default 0 check (steps_pending >= 0),
  steps_dispatched   integer not null default 0 check (steps_dispatched >= 0),
  steps_polling      integer not null default 0 check (steps_polling >= 0),
  steps_succeeded    integer not null default 0 check (steps_succeeded >= 0),
  steps_failed       integer not null default 0 check (steps_failed >= 0),
  steps_poll_timeout integer not null default 0 check (steps_poll_timeout >= 0),
  steps_rolled_back  integer not null default 0 check (steps_rolled_back >= 0),
  steps_undone       integer not null default 0 check (steps_undone >= 0),
  steps_cancelled    integer not null default 0 check (steps_cancelled >= 0),
  steps_skipped      integer not null default 0 check (steps_skipped >= 0),
  fuse_acknowledged  integer not null default 0 check (fuse_acknowledged >= 0),
  gate_approvals     integer check (gate_approvals >= 0),
  gate_ready_percent integer check (gate_ready_percent between 1 and 100),
  gate_survives      integer check (gate_survives >= 0),
  gate_passed_at     timestamptz,
  gate_look_at       timestamptz,
  ramp_percents      integer[],
  ramp_share         integer check (ramp_share >= 0),
  ramp_through       bigint,
  soak_ends_at       timestamptz,
  -- A forecast that it misses its time, as people were told: deadline, deadlineOf, bySec, because, since.
  forecast_miss        jsonb,
  members_total      integer not null default 0 check (members_total >= 0),
  members_passed     integer not null default 0 check (members_passed >= 0),
  members_failed     integer not null default 0 check (members_failed >= 0),
  members_stopped    integer not null default 0 check (members_stopped >= 0),
  members_removed    integer not null default 0 check (members_removed >= 0),
  check ((status = 'skipped') = (skipped_because is not null)),
  check (status in ('pending', 'dispatched') = (completed_at is null)),
  check (status not in ('dispatched', 'completed', 'failed') or dispatched_at is not null),
  check (status not in ('completed', 'failed') or expanded_at is not null),
  check (expanded_at is null or dispatched_at is not null),
  check (members_passed + members_failed + members_stopped + members_removed <= members_total),
  -- Nothing of a gated phase is sent before its gate has passed.
  check (gate_approvals is null or gate_passed_at is not null or status not in ('dispatched', 'completed', 'failed')),
  check (gate_approvals is not null or (gate_survives is null and gate_ready_percent is null and gate_passed_at is null and gate_look_at is null)),
  check (ramp_percents is null or ramp_share is not null or status not in ('dispatched', 'completed', 'failed')),
  check (ramp_percents is not null or ramp_share is null),
  check (ramp_through is null or (ramp_share is not null and expanded_at is null)),
  check (soak_ends_at is null or ramp_through is not null)
) with (fillfactor = 50);
create unique index phase_executions_one_per_version on phase_executions (batch_id, lower(phase_name), runbook_version);
create index phase_executions_due on phase_executions (due_at) where status = 'pending';
create index phase_executions_soaking on phase_executions (soak_ends_at) where soak_ends_at is not null;
create index phase_executions_unexpanded on phase_executions (id)
  where status = 'dispatched' and expanded_at is null;

-- What people decided about the gate of a phase: an approval of its start, or a waiver of its readiness until ends_at. It was made about
-- this version, these members (a hash of their ids) and this time; when one of them changes, it is void. members_present and
-- members_removed let a timer notice most changes without reading the members. members keeps the ids where the gate lets an approval
-- survive some changes, so that they can be counted.
create table gate_decisions (
  id              bigint generated always as identity primary key,
  batch_id        bigint not null references batches,
  phase_name      text not null check (phase_name = lower(phase_name)),
  kind            text not null check (kind in ('approval', 'waiver')),
  decided_by      text not null,
  decided_at      timestamptz not null,
  reason          text not null,
  ends_at         timestamptz,
  runbook_version integer not null,
  members_hash    text not null,
  members_present integer not null,
  members_removed integer not null,
  members         bigint[],
  due_at          timestamptz,
  ended_at        timestamptz,
  ended_because   text,
  check ((kind = 'waiver') = (ends_at is not null)),
  check ((ended_at is null) = (ended_because is null))
);
create index gate_decisions_of_batch on gate_decisions (batch_id, id);
-- A person approves once, and one waiver is in force.
create unique index gate_decisions_approval on gate_decisions (batch_id, phase_name, decided_by)
  where kind = 'approval' and ended_at is null;
create unique index gate_decisions_waiver on gate_decisions (batch_id, phase_name) where kind = 'waiver' and ended_at is null;

-- attempt numbers every job of this step and never resets (it is part of the job id); retry_count resets when an operator
-- retries. job_id is the last job sent; a row in waits tells whether it is still unsettled.
-- A poll that says what the former one said is counted here (poll_count, last_polled_at) and leaves no other row: 10,000 mailboxes polled
-- every 15 minutes for two weeks would leave 40 million attempts and events. poll_changes counts those that said something else.
-- A row is narrow until its job is sent and grows twice (parameters, result). At fillfactor 40, 3 in 100 updates left their page
-- and wrote every index; at 33 none did, and the table ends 6 % larger.
-- corrects_time: the step told its member this start time, which is no longer true; its next message corrects it. corrects_sent_at is when
-- that was told.
-- No foreign keys: their checks took 13 of the 22 µs that a row cost to insert. Rows are made only from rows of the tables they
-- would reference; an invariant (src/db/invariants/invariants.ts) finds orphans.
create table step_executions (
  id                     bigint generated always as identity primary key,
  batch_id               bigint not null,
  kind                   text not null check (kind in ('init', 'phase', 'rollback', 'removal', 'undo')),
  phase_execution_id     bigint,
  batch_member_id        bigint,
  origin_step_id         bigint,
  origin_attempt         integer,
  removal_number         integer,
  runbook_version        integer not null,
  step_name              text not null,
  step_index             integer not null check (step_index >= 0),
  worker_id              text not null,
  on_failure             text,
  is_poll_step           boolean not null,
  poll_interval_sec      integer check (poll_interval_sec > 0),
  poll_timeout_sec       integer check (poll_timeout_sec >= poll_interval_sec),
  max_retries            integer not null check (max_retries >= 0),
  retry_interval_sec     integer not null check (retry_interval_sec >= 0),
  retry_backoff          text not null check (retry_backoff in ('fixed', 'exponential')),
  retry_max_interval_sec integer,
  timeout_sec            integer not null check (timeout_sec > 0),
  status                 text not null default 'pending' check (status in
    ('pending', 'dispatched', 'polling', 'succeeded', 'failed', 'poll_timeout', 'rolled_back', 'undone', 'cancelled', 'skipped')),
  attempt                integer not null default 0 check (attempt >= 0),
  retry_count            integer not null default 0 check (retry_count >= 0),
  retry_after            timestamptz,
  function_name          text,
  params_json            jsonb,
  job_id                 text,
  may_have_effect              boolean not null default false,
  dispatched_at          timestamptz,
  deadline_at            timestamptz,
  completed_at           timestamptz,
  result_json            jsonb,
  error_message          text,
  poll_started_at        timestamptz,
  last_polled_at         timestamptz,
  poll_count             integer not null default 0 check (poll_count >= 0),
  poll_timeout_at        timestamptz,
  poll_said              text,
  poll_changes           integer not null default 0 check (poll_changes >= 0),
  late_result_json       jsonb,
  corrects_time          timestamptz,
  corrects_sent_at       timestamptz check ((corrects_sent_at is null) = (corrects_time is null)),
  check (case kind
    when 'init'     then phase_execution_id is null and batch_member_id is null and origin_step_id is null and removal_number is null
    when 'phase'    then phase_execution_id is not null and batch_member_id is not null and origin_step_id is null and removal_number is null
    when 'rollback' then phase_execution_id is null and origin_step_id is not null and origin_attempt is not null and removal_number is null
    when 'undo'     then phase_execution_id is null and origin_step_id is not null and origin_attempt is not null and removal_number is null
                         and function_name is not null
    else                 phase_execution_id is null and batch_member_id is not null and origin_step_id is null and removal_number is not null
  end),
  check (is_poll_step = (poll_interval_sec is not null) and is_poll_step = (poll_timeout_sec is not null)),
  check (retry_count <= max_retries),
  check (status not in ('dispatched', 'polling') or
    (job_id is not null and dispatched_at is not null and deadline_at is not null and function_name is not null)),
  check (status <> 'polling' or (is_poll_step and poll_started_at is not null and poll_timeout_at is not null)),
  check ((poll_started_at is null) = (poll_timeout_at is null)),
  check (status in ('pending', 'dispatched', 'polling') = (completed_at is null)),
  check (retry_after is null or status = 'pending')
) with (fillfactor = 33);
-- Names are compared without case: a version that renames create to Create gives nobody a second step.
create unique index step_executions_of_member on step_executions (batch_member_id, phase_execution_id, lower(step_name))
  where kind = 'phase';
create unique index step_executions_of_init on step_executions (batch_id, runbook_version, lower(step_name)) where kind = 'init';
create unique index step_executions_of_rollback on step_executions (origin_step_id, origin_attempt, step_index)
  where kind = 'rollback';
create unique index step_executions_of_removal on step_executions (batch_member_id, removal_number, step_index)
  where kind = 'removal';
-- An effect is an attempt's (attempts in 004_history): it is undone once. function_name and params_json hold the inverse from the start.
-- The origin may be a step of the same person in another batch: an undo that failed there is repeated where the person is now.
create unique index step_executions_of_undo on step_executions (origin_step_id, origin_attempt, coalesce(batch_member_id, 0))
  where kind = 'undo';
create index step_executions_compensation on step_executions (batch_member_id) where kind in ('rollback', 'removal', 'undo');
create index step_executions_of_batch on step_executions (batch_id, id);
-- Finds failed steps among a million. The column stays null on the hot path, so those updates stay HOT; with the status in an
-- index no step's update would.
create index step_executions_with_error on step_executions (batch_id, id) where error_message is not null;

create view init_executions as select * from step_executions where kind = 'init';

-- What a step waits for while it is unfinished or its job unsettled. At most one row per step:
--   slot   ready to send once its worker's window has a free slot and no hold covers it
--   job    a job was sent; at wake_at the bus is asked where it is. A job is unsettled exactly while this row exists
--   retry  failed, tries again at wake_at
--   poll   polls again, or times out, at wake_at
create table waits (
  step_id         bigint primary key,
  batch_id        bigint not null,
  batch_member_id bigint,
  worker_id       text not null,
  kind            text not null check (kind in ('slot', 'job', 'retry', 'poll')),
  priority        smallint not null,
  since           timestamptz not null,
  wake_at         timestamptz,
  job_id          text,
  changes_tenant  boolean not null default true,
  check ((kind = 'job') = (job_id is not null)),
  check (kind = 'slot' or wake_at is not null)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- At most one unsettled job per member, and one per batch without a member: compensation never races the step it compensates.
-- The first index also finds all waits of a member: its job rows share the last column's value, all others differ.
create unique index waits_one_job_per_member on waits (batch_id, batch_member_id, (case kind when 'job' then 0 else step_id end))
  where batch_member_id is not null;
create unique index waits_one_job_per_batch on waits (batch_id) where kind = 'job' and batch_member_id is null;
-- Only slots are handed out in order. This index also lists the workers and batches that wait for slots; an index on worker_id
-- alone made that read thousands of dead entries.
create index waits_for_slots on waits (worker_id, batch_id, priority, since, step_id) where kind = 'slot';
-- Outside a change window only these are sent: in a large batch they are found without a look at those that wait.
create index waits_for_slots_reading on waits (worker_id, batch_id, priority, since, step_id) where kind = 'slot' and not changes_tenant;
-- Counts jobs, retries and polls by worker and batch. Rows sent together are equal here and share an entry.
create index waits_outstanding on waits (worker_id, kind, batch_id, since) where kind <> 'slot';
create index waits_timers on waits (wake_at) where wake_at is not null;

-- job_ms is the mean run time of its latest jobs, pace_json the results a second: they say how many jobs are sent ahead.
create table workers (
  worker_id       text primary key,
  version         text,
  slots           integer,
  functions_json  jsonb not null default '[]',
  -- Of functions_json: programs read it again when this has changed.
  functions_hash  text,
  throttles_json  jsonb not null default '[]',
  is_configured   boolean not null default false,
  first_seen_at   timestamptz,
  last_seen_at    timestamptz,
  max_outstanding integer check (max_outstanding > 0),
  job_ms          double precision check (job_ms >= 0),
  pace_json       jsonb,
  last_served_batch_id bigint not null default 0,
  check (is_configured or first_seen_at is not null),
  check ((first_seen_at is null) = (last_seen_at is null))
);

create table settings (
  key        text primary key,
  value      jsonb not null,
  updated_at timestamptz not null,
  updated_by text not null
);

-- The lives of this database: a restore from a backup begins a new one. Ids that are sent end with its epoch, so nothing that workers
-- remember of the time after the backup matches them; the first epoch is empty. sign tells which PostgreSQL the epoch began on,
-- backup_at when the newest record of the backup was written. settled_at is set once the jobs of earlier epochs are given back.
create table epochs (
  number     integer primary key check (number >= 0),
  epoch      text not null unique check (epoch ~ '^([a-z2-7]{6})?$'),
  sign       text not null,
  began_at   timestamptz not null,
  begun_by   text not null,
  because    text not null,
  backup_at  timestamptz,
  settled_at timestamptz,
  check ((number = 0) = (epoch = '')),
  check ((number = 0) = (backup_at is null)),
  check (number > 0 or settled_at is not null)
);

-- Cluster, database and timeline: a dump restored elsewhere changes the first or second, recovery to a point in time the third. The
-- embedded database shows nothing: its folder looks the same when it is copied back, and reading its control file takes 0.4 ms.
create function database_sign() returns text language plpgsql stable as $$
declare
  cluster text := '-';
begin
  if version() like '%PGlite%' then
    return 'embedded';
  end if;
  begin
    cluster := (select system_identifier from pg_control_system());
  exception when insufficient_privilege then
    null;
  end;
  return concat_ws('/', cluster, (select oid from pg_database where datname = current_database()),
                   left(pg_walfile_name(pg_current_wal_lsn()), 8));
end
$$;

-- Null when this PostgreSQL is not the one that the epoch began on: nothing may be decided until a new epoch begins.
create function current_epoch() returns text language plpgsql stable as $$
declare
  latest epochs;
begin
  select * into latest from epochs order by number desc limit 1;
  if not found then
    return '';
  end if;
  return case when latest.sign = database_sign() then latest.epoch end;
end
$$;

-- Holds in force on the whole system, a runbook, a worker or a member; a batch's own hold is in its row. target is empty, the
-- runbook's name, the worker's id or the member's id. withdrawn_at is set once the jobs that no worker had taken are withdrawn.
-- No foreign keys: their checks would wait for a locked batch, and a hold waits for nobody.
create table holds (
  scope        text not null check (scope in ('system', 'runbook', 'worker', 'member')),
  target       text not null,
  batch_id     bigint,
  member_id    bigint,
  held_at      timestamptz not null,
  held_by      text not null,
  held_reason  text not null,
  withdrawn_at timestamptz,
  primary key (scope, target),
  check ((scope = 'member') = (member_id is not null) and (scope = 'member') = (batch_id is not null)),
  check ((scope = 'system') = (target = '')),
  check (scope <> 'runbook' or target = lower(target)),
  check (scope <> 'member' or target = member_id::text)
);
create index holds_of_members on holds (member_id) where scope = 'member';
create index holds_of_batch on holds (batch_id) where scope = 'member';

-- What people said about a need, by its key (domain/needs/needs.ts): who takes care of it, and that it is accepted as it was then.
create table need_decisions (
  need_key      text primary key,
  owner         text,
  accepted_mark text,
  decided_by    text not null,
  decided_at    timestamptz not null,
  reason        text not null
);

-- Each role is granted what it needs (src/bus/role-rights.ts).
revoke execute on function database_sign, current_epoch from public;
