// Writing: what a decision changed, set-based, in the caller's transaction. Every status is guarded by the status that was
// loaded under the lock; a row that is not there any more means that the lock was not held, and nothing at all is written.
import type { AttemptRecord, Draft, EventRecord } from '../domain/decide/draft.ts'
import { priorityOf } from '../domain/decide/send.ts'
import type { Step } from '../domain/facts.ts'
import { columns, jsonText, time } from './columns.ts'
import type { Tx } from './db.ts'

/** Thrown when a guarded update moved fewer rows than it should: another writer was there without the lock. */
export class GuardFailed extends Error {
  override readonly name = 'GuardFailed'
}

const mustMove = (what: string, moved: number, wanted: number): void => {
  if (moved !== wanted)
    throw new GuardFailed(`${what}: ${moved} of ${wanted} rows were as they had been loaded`)
}

/**
 * Writes all of the draft but its messages. The statements are given to the connection all at once: it runs them in this order,
 * and the next one's parameters are written while the database works on the one before.
 */
export async function writeChanges(tx: Tx, draft: Draft): Promise<void> {
  await Promise.all([writeRows(tx, draft), updatePhases(tx, draft), updateBatch(tx, draft)])
}

/** All but the phases and the batch itself: what belongs to single members and steps. */
export async function writeRows(tx: Tx, draft: Draft): Promise<void> {
  const ids = await insertSteps(tx, draft)
  const real = (id: number): number => (id < 0 ? ids.get(id)! : id)
  await Promise.all([
    updateSteps(tx, draft),
    updatePlans(tx, draft),
    replaceWaits(tx, draft, real),
    insertAttempts(tx, draft.batch.id, draft.now, draft.attempts),
    updateMembers(tx, draft),
    insertEvents(tx, draft.batch.id, draft.now, draft.actor, draft.events, real),
  ])
}

async function insertSteps(
  tx: Tx,
  { newSteps, batch }: Draft,
): Promise<ReadonlyMap<number, number>> {
  if (newSteps.length === 0) return new Map()
  // Rows come back in the order they were given: identity numbers rise with it. A row may have been cancelled already: the
  // init that a version adds, when the one that runs fails in this very change.
  const rows = await tx.query<{ id: number }>(
    `insert into step_executions (batch_id, kind, batch_member_id, origin_step_id, origin_attempt, removal_number,
       status, completed_at, runbook_version, step_name, step_index, worker_id, on_failure, is_poll_step, poll_interval_sec, poll_timeout_sec,
       max_retries, retry_interval_sec, retry_backoff, retry_max_interval_sec, timeout_sec)
     select $1, kind, member, origin, origin_attempt, removal, status, completed_at, version, name, index, worker, on_failure,
            poll_interval is not null, poll_interval, poll_timeout, retries, retry_interval, backoff, retry_cap, timeout
       from unnest($2::text[], $3::bigint[], $4::bigint[], $5::int[], $6::int[], $7::text[], $8::timestamptz[], $9::int[],
                   $10::text[], $11::int[], $12::text[], $13::text[], $14::int[], $15::int[], $16::int[], $17::int[],
                   $18::text[], $19::int[], $20::int[])
            with ordinality as s (kind, member, origin, origin_attempt, removal, status, completed_at, version, name, index,
                   worker, on_failure, poll_interval, poll_timeout, retries, retry_interval, backoff, retry_cap, timeout, n)
      order by n
     returning id`,
    [
      batch.id,
      ...columns(
        newSteps,
        (s) => s.kind,
        (s) => s.memberId,
        (s) => s.originStepId,
        (s) => s.originAttempt,
        (s) => s.removalNumber,
        (s) => s.status,
        (s) => time(s.completedAt),
        ...planColumns.map((pick) => (s: Step) => pick(s)),
      ),
    ],
  )
  const made = rows.map(({ id }) => id).sort((a, b) => a - b)
  return new Map(newSteps.map((step, i) => [step.id, made[i]!]))
}

const planColumns: ((step: Step) => string | number | null)[] = [
  (s) => s.plan.runbookVersion,
  (s) => s.plan.stepName,
  (s) => s.plan.stepIndex,
  (s) => s.plan.workerId,
  (s) => s.plan.onFailure,
  (s) => s.plan.pollIntervalSec,
  (s) => s.plan.pollTimeoutSec,
  (s) => s.plan.maxRetries,
  (s) => s.plan.retryIntervalSec,
  (s) => s.plan.retryBackoff,
  (s) => s.plan.retryMaxIntervalSec,
  (s) => s.plan.timeoutSec,
]

/** Two statements, since a step that is sent changes other columns than one that ends; each row is in one of them. */
async function updateSteps(tx: Tx, draft: Draft): Promise<void> {
  const sent: Step[] = []
  const others: Step[] = []
  for (const step of draft.changedSteps) {
    if (step.id < 0) continue
    const isSent = step.status === 'dispatched' && draft.statusLoaded(step) !== 'dispatched'
    if (isSent) sent.push(step)
    else if (draft.isStepWritten(step)) others.push(step)
  }
  const [dispatched, changed] = await Promise.all([
    sent.length > 0 ? updateSent(tx, draft, sent) : 0,
    others.length > 0 ? updateOthers(tx, draft, others) : 0,
  ])
  mustMove('dispatch', dispatched, sent.length)
  mustMove('step moves', changed, others.length)
}

async function updateSent(tx: Tx, draft: Draft, steps: readonly Step[]): Promise<number> {
  const rows = await tx.query(
    `update step_executions s
        set status = 'dispatched', attempt = c.attempt, retry_count = c.retry_count, retry_after = null, error_message = null,
            job_id = c.job_id, function_name = c.function_name, params_json = c.params::jsonb,
            dispatched_at = $1, deadline_at = c.deadline_at, poll_count = 0
       from unnest($2::bigint[], $3::text[], $4::int[], $5::int[], $6::text[], $7::text[], $8::text[], $9::timestamptz[])
            as c (id, from_status, attempt, retry_count, job_id, function_name, params, deadline_at)
      where s.id = c.id and s.status = c.from_status
     returning s.id`,
    [
      draft.now,
      ...columns(
        steps,
        (s) => s.id,
        (s) => draft.statusLoaded(s) ?? 'pending',
        (s) => s.attempt,
        (s) => s.retryCount,
        (s) => s.jobId,
        (s) => s.functionName,
        (s) => jsonText(s.params),
        (s) => time(s.deadlineAt),
      ),
    ],
  )
  return rows.length
}

async function updateOthers(tx: Tx, draft: Draft, steps: readonly Step[]): Promise<number> {
  const rows = await tx.query(
    `update step_executions s
        set status = c.status, attempt = c.attempt, retry_count = c.retry_count, retry_after = c.retry_after,
            job_id = c.job_id, was_taken = c.was_taken, deadline_at = c.deadline_at, completed_at = c.completed_at,
            error_message = c.error,
            result_json = case when c.completed_at is null then null else coalesce(c.result::jsonb, s.result_json) end,
            poll_started_at = c.poll_started_at, last_polled_at = c.last_polled_at, poll_count = c.poll_count,
            poll_timeout_at = c.poll_timeout_at, late_result_json = c.late::jsonb
       from unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::int[], $6::timestamptz[], $7::text[],
                   $8::timestamptz[], $9::timestamptz[], $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[],
                   $14::int[], $15::timestamptz[], $16::text[], $17::bool[])
            as c (id, from_status, status, attempt, retry_count, retry_after, job_id, deadline_at, completed_at, error, result,
                  poll_started_at, last_polled_at, poll_count, poll_timeout_at, late, was_taken)
      where s.id = c.id and s.status = c.from_status
     returning s.id`,
    columns(
      steps,
      (s) => s.id,
      (s) => draft.statusLoaded(s) ?? 'pending',
      (s) => s.status,
      (s) => s.attempt,
      (s) => s.retryCount,
      (s) => time(s.retryAfter),
      (s) => s.jobId,
      (s) => time(s.deadlineAt),
      (s) => time(s.completedAt),
      (s) => s.error,
      (s) => jsonText(s.result),
      (s) => time(s.pollStartedAt),
      (s) => time(s.lastPolledAt),
      (s) => s.pollCount,
      (s) => time(s.pollTimeoutAt),
      (s) => jsonText(s.lateResult),
      (s) => s.wasTaken,
    ),
  )
  return rows.length
}

/** A step that is taken up again takes the words of the active version. Rare, so a statement of its own. */
async function updatePlans(tx: Tx, draft: Draft): Promise<void> {
  const steps = [...draft.changedPlans].filter(({ id }) => id > 0)
  if (steps.length === 0) return
  await tx.query(
    `update step_executions s
        set runbook_version = c.version, step_name = c.name, step_index = c.index, worker_id = c.worker,
            on_failure = c.on_failure, is_poll_step = c.poll_interval is not null, poll_interval_sec = c.poll_interval,
            poll_timeout_sec = c.poll_timeout, max_retries = c.retries, retry_interval_sec = c.retry_interval,
            retry_backoff = c.backoff, retry_max_interval_sec = c.retry_cap, timeout_sec = c.timeout
       from unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::text[], $6::text[], $7::int[], $8::int[], $9::int[],
                   $10::int[], $11::text[], $12::int[], $13::int[])
            as c (id, version, name, index, worker, on_failure, poll_interval, poll_timeout, retries, retry_interval, backoff,
                  retry_cap, timeout)
      where s.id = c.id`,
    columns(steps, (s) => s.id, ...planColumns),
  )
}

async function replaceWaits(tx: Tx, draft: Draft, real: (id: number) => number): Promise<void> {
  const gone = [...draft.changedWaits].filter((step) => draft.hadWait(step)).map(({ id }) => id)
  const deleted =
    gone.length > 0 && tx.query('delete from waits where step_id = any($1::bigint[])', [gone])
  const waiting = [...draft.changedWaits].filter(({ wait }) => wait !== null)
  const inserted = waiting.length > 0 && insertWaits(tx, draft.batch.id, waiting, real)
  await Promise.all([deleted, inserted])
}

function insertWaits(
  tx: Tx,
  batchId: number,
  waiting: readonly Step[],
  real: (id: number) => number,
): Promise<unknown> {
  return tx.query(
    `insert into waits (step_id, batch_id, batch_member_id, worker_id, what, priority, since, wake_at, job_id)
     select id, $1, member, worker, what, priority, since, wake_at, job_id
       from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::timestamptz[], $8::timestamptz[], $9::text[])
            as w (id, member, worker, what, priority, since, wake_at, job_id)`,
    [
      batchId,
      ...columns(
        waiting,
        (s) => real(s.id),
        (s) => s.memberId,
        (s) => s.plan.workerId,
        (s) => s.wait!.what,
        priorityOf,
        (s) => time(s.wait!.since),
        (s) => time(s.wait!.wakeAt),
        (s) => (s.wait!.what === 'job' ? s.wait!.jobId : null),
      ),
    ],
  )
}

async function insertAttempts(
  tx: Tx,
  batchId: number,
  now: Date,
  attempts: readonly AttemptRecord[],
): Promise<void> {
  if (attempts.length === 0) return
  await tx.query(
    `insert into attempts (step_id, batch_id, job_id, attempt, poll, worker_id, sent_at, settled_at, outcome, result_json,
                           error_message, duration_ms)
     select step_id, $1, job_id, attempt, poll, worker_id, sent_at, $2, outcome, result::jsonb, error, duration_ms
       from unnest($3::bigint[], $4::text[], $5::int[], $6::int[], $7::text[], $8::timestamptz[], $9::text[], $10::text[],
                   $11::text[], $12::int[])
            as a (step_id, job_id, attempt, poll, worker_id, sent_at, outcome, result, error, duration_ms)`,
    [
      batchId,
      now,
      ...columns(
        attempts,
        (a) => a.stepId,
        (a) => a.jobId,
        (a) => a.attempt,
        (a) => a.poll,
        (a) => a.workerId,
        (a) => time(a.sentAt),
        (a) => a.outcome,
        (a) => jsonText(a.result),
        (a) => a.error,
        (a) => a.durationMs,
      ),
    ],
  )
}

async function updateMembers(tx: Tx, draft: Draft): Promise<void> {
  if (draft.changedMembers.size === 0) return
  const rows = await tx.query(
    `update batch_members m
        set status = c.status, worker_data_json = c.outputs::jsonb, failed_at = c.failed_at, removed_at = c.removed_at,
            removed_by = c.removed_by, removal_number = c.removal_number, moved_to_batch_id = c.moved_to
       from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::text[], $8::int[],
                   $9::bigint[])
            as c (id, from_status, status, outputs, failed_at, removed_at, removed_by, removal_number, moved_to)
      where m.id = c.id and m.status = c.from_status
     returning m.id`,
    columns(
      draft.changedMembers,
      (m) => m.id,
      (m) => draft.memberStatusLoaded(m),
      (m) => m.status,
      (m) => JSON.stringify(m.outputs),
      (m) => time(m.failedAt),
      (m) => time(m.removedAt),
      (m) => m.removedBy,
      (m) => m.removalNumber,
      (m) => m.movedToBatchId,
    ),
  )
  mustMove('member moves', rows.length, draft.changedMembers.size)
}

async function updatePhases(tx: Tx, draft: Draft): Promise<void> {
  if (draft.changedPhases.size === 0) return
  const rows = await tx.query(
    `update phase_executions p
        set status = c.status, skipped_because = c.skipped_because, due_at = c.due_at, dispatched_at = c.dispatched_at,
            expanded_through = c.expanded_through, expanded_at = c.expanded_at, completed_at = c.completed_at,
            fuse_acknowledged = c.fuse, steps_pending = c.s1, steps_dispatched = c.s2, steps_polling = c.s3,
            steps_succeeded = c.s4, steps_failed = c.s5, steps_poll_timeout = c.s6, steps_rolled_back = c.s7,
            steps_cancelled = c.s8, steps_skipped = c.s9, members_total = c.m1, members_passed = c.m2,
            members_failed = c.m3, members_stopped = c.m4, members_removed = c.m5
       from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::bigint[],
                   $8::timestamptz[], $9::timestamptz[], $10::int[], $11::int[], $12::int[], $13::int[], $14::int[], $15::int[],
                   $16::int[], $17::int[], $18::int[], $19::int[], $20::int[], $21::int[], $22::int[], $23::int[], $24::int[])
            as c (id, from_status, status, skipped_because, due_at, dispatched_at, expanded_through, expanded_at, completed_at,
                  fuse, s1, s2, s3, s4, s5, s6, s7, s8, s9, m1, m2, m3, m4, m5)
      where p.id = c.id and p.status = c.from_status
     returning p.id`,
    columns(
      draft.changedPhases,
      (p) => p.id,
      (p) => draft.phaseStatusLoaded(p),
      (p) => p.status,
      (p) => p.skippedBecause,
      (p) => time(p.dueAt),
      (p) => time(p.dispatchedAt),
      (p) => p.expandedThrough,
      (p) => time(p.expandedAt),
      (p) => time(p.completedAt),
      (p) => p.fuseAcknowledged,
      (p) => p.steps.pending,
      (p) => p.steps.dispatched,
      (p) => p.steps.polling,
      (p) => p.steps.succeeded,
      (p) => p.steps.failed,
      (p) => p.steps.poll_timeout,
      (p) => p.steps.rolled_back,
      (p) => p.steps.cancelled,
      (p) => p.steps.skipped,
      (p) => p.members.total,
      (p) => p.members.passed,
      (p) => p.members.failed,
      (p) => p.members.stopped,
      (p) => p.members.removed,
    ),
  )
  mustMove('phase moves', rows.length, draft.changedPhases.size)
}

async function updateBatch(
  tx: Tx,
  { batch, batchStatusLoaded, isBatchChanged }: Draft,
): Promise<void> {
  if (!isBatchChanged) return
  const rows = await tx.query(
    `update batches
        set status = $3, runbook_version = $4,
            runbook_id = case when runbook_version = $4 then runbook_id else
                           (select r.id from runbooks r where lower(r.name) = runbook_name and r.version = $4) end,
            batch_start_time = $5, failed_in_init = $6, current_phase = $7,
            init_dispatched_at = $8, activated_at = $9, ended_at = $10, held_at = $11, held_by = $12, held_reason = $13,
            outputs_json = $14::jsonb, members_active = $15, members_failed = $16, members_removed = $17, init_open = $18,
            rollback_open = $19, removal_open = $20
      where id = $1 and status = $2
     returning id`,
    [
      batch.id,
      batchStatusLoaded,
      batch.status,
      batch.runbookVersion,
      batch.startTime,
      batch.failedInInit,
      batch.currentPhase,
      batch.initDispatchedAt,
      batch.activatedAt,
      batch.endedAt,
      batch.heldAt,
      batch.heldBy,
      batch.heldReason,
      JSON.stringify(batch.outputs),
      batch.membersActive,
      batch.membersFailed,
      batch.membersRemoved,
      batch.initOpen,
      batch.rollbackOpen,
      batch.removalOpen,
    ],
  )
  mustMove('batch move', rows.length, 1)
}

export async function insertEvents(
  tx: Tx,
  batchId: number | null,
  now: Date,
  actor: string,
  events: readonly EventRecord[],
  real: (id: number) => number = (id) => id,
): Promise<void> {
  if (events.length === 0) return
  await tx.query(
    `insert into events (at, batch_id, actor, thing, event, from_status, to_status, batch_member_id, phase_id, step_id, attempt,
                         job_id, because, details)
     select $1, $2, $3, thing, event, from_status, to_status, member, phase, step, attempt, job_id, because, details::jsonb
       from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::int[],
                   $12::text[], $13::text[], $14::text[])
            as e (thing, event, from_status, to_status, member, phase, step, attempt, job_id, because, details)`,
    [
      now,
      batchId,
      actor,
      ...columns(
        events,
        (e) => e.thing,
        (e) => e.event,
        (e) => e.from,
        (e) => e.to,
        (e) => e.memberId,
        (e) => e.phaseId,
        (e) => (e.stepId === null ? null : real(e.stepId)),
        (e) => e.attempt,
        (e) => e.jobId,
        (e) => e.because,
        (e) => (e.details === null ? null : JSON.stringify(e.details)),
      ),
    ],
  )
}
