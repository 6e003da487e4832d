// Writes what a decision changed, set-based, in the caller's transaction. Every update is guarded by the status loaded under the lock:
// a mismatch means that somebody wrote without the lock, and nothing at all is written.
import type { AttemptRecord, Draft } from '../domain/decide/draft.ts'
import { priorityOf } from '../domain/decide/send.ts'
import type { EventRecord } from '../domain/event-record.ts'
import type { Phase, Step } from '../domain/facts.ts'
import {
  arrayParams,
  idsParam,
  jsonText,
  kindParams,
  lineParam,
  timeParam,
  unnestRows,
} from './arrays.ts'
import { batchCounters, countersOf, PHASE_COUNTERS } from './counters.ts'
import type { Tx } from './db.ts'
import { updateGuarded } from './guard.ts'
import { addAddresses } from './member-addresses.ts'
import { insertSteps, updateDefinitions, updateSteps } from './step-changes.ts'

/** Writes the draft without its messages. The statements are pipelined: the next one's parameters are built while the database runs. */
export async function writeChanges(tx: Tx, draft: Draft): Promise<void> {
  await Promise.all([
    writeRows(tx, draft),
    updatePhases(tx, draft),
    updateBatch(tx, draft),
    raiseFailureRevision(tx, draft),
  ])
}

/** The rows of single members and steps, without phases and batch. */
export async function writeRows(tx: Tx, draft: Draft): Promise<void> {
  const ids = await insertSteps(tx, draft)
  const real = (id: number): number => (id < 0 ? ids.get(id)! : id)
  await Promise.all([
    updateSteps(tx, draft),
    updateDefinitions(tx, draft),
    replaceWaits(tx, draft, real),
    insertAttempts(tx, draft.batch.id, draft.now, draft.attempts),
    updateMembers(tx, draft),
    insertEvents(tx, draft.batch.id, draft.now, draft.actor, draft.events, real),
  ])
}

async function replaceWaits(tx: Tx, draft: Draft, real: (id: number) => number): Promise<void> {
  const gone = [...draft.changedWaits].filter((step) => draft.hadWait(step)).map(({ id }) => id)
  const deleted =
    gone.length > 0 &&
    tx.query('delete from waits where step_id = any($1::bigint[])', [idsParam(gone)])
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
    `insert into waits (step_id, batch_id, batch_member_id, worker_id, kind, priority, since, wake_at, job_id)
     select id, $1, member, ($6::text[])[kind], ($7::text[])[kind], ($8::int[])[kind], ($9::timestamptz[])[kind],
            ($10::timestamptz[])[kind], job_id
       from ${unnestRows({ id: '$2::bigint[]', member: '$3::bigint[]', job_id: '$4::text[]', kind: '$5::int[]' })} as w`,
    [
      batchId,
      ...arrayParams(
        waiting,
        (s) => real(s.id),
        (s) => s.memberId,
        (s) => (s.wait!.kind === 'job' ? s.wait!.jobId : null),
      ),
      ...kindParams(
        waiting,
        (s) => s.definition.workerId,
        (s) => s.wait!.kind,
        priorityOf,
        (s) => s.wait!.since,
        (s) => s.wait!.wakeAt,
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
  const rows = unnestRows({
    step_id: '$3::bigint[]',
    job_id: '$4::text[]',
    error: '$5::text[]',
    duration_ms: '$6::int[]',
    result: `string_to_array($7, E'\\n', '')`,
    kind: '$8::int[]',
  })
  await tx.query(
    `insert into attempts (step_id, batch_id, job_id, attempt, poll, worker_id, sent_at, settled_at, outcome, result_json,
                           error_message, duration_ms)
     select step_id, $1, job_id, ($9::int[])[kind], ($10::int[])[kind], ($11::text[])[kind], ($12::timestamptz[])[kind], $2,
            ($13::text[])[kind], result::jsonb, error, duration_ms
       from ${rows} as a`,
    [
      batchId,
      now,
      ...arrayParams(
        attempts,
        (a) => a.stepId,
        (a) => a.jobId,
        (a) => a.error,
        (a) => a.durationMs,
      ),
      lineParam(attempts, (a) => jsonText(a.result)),
      ...kindParams(
        attempts,
        (a) => a.attempt,
        (a) => a.poll,
        (a) => a.workerId,
        (a) => a.sentAt,
        (a) => a.outcome,
      ),
    ],
  )
}

/** Nearly always only outputs change: two columns instead of nine. */
async function updateMembers(tx: Tx, draft: Draft): Promise<void> {
  if (draft.changedMembers.size === 0) return
  const isTransition = draft.events.some(({ entity }) => entity === 'member')
  await Promise.all([
    isTransition ? updateWholeMembers(tx, draft) : updateOutputs(tx, draft),
    addAddresses(
      tx,
      [...draft.changedMembers].map((member) => ({
        memberId: member.id,
        key: member.key,
        texts: draft.newOutputs(member),
      })),
    ),
  ])
}

function updateOutputs(tx: Tx, draft: Draft): Promise<void> {
  const members = [...draft.changedMembers]
  return updateGuarded(
    tx,
    'outputs',
    members.length,
    `update batch_members m set worker_data_json = c.outputs::jsonb
       from ${unnestRows({ id: '$1::bigint[]', status: '$2::text[]', outputs: `string_to_array($3, E'\\n')` })} as c
      where m.id = c.id and m.status = c.status`,
    [
      ...arrayParams(
        members,
        (m) => m.id,
        (m) => m.status,
      ),
      lineParam(members, (m) => JSON.stringify(m.outputs)),
    ],
  )
}

function updateWholeMembers(tx: Tx, draft: Draft): Promise<void> {
  return updateGuarded(
    tx,
    'members',
    draft.changedMembers.size,
    `update batch_members m
        set status = c.status, worker_data_json = c.outputs::jsonb, failed_at = c.failed_at, removed_at = c.removed_at,
            removed_by = c.removed_by, removal_number = c.removal_number, moved_to_batch_id = c.moved_to
       from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::text[], $8::int[],
                   $9::bigint[])
            as c (id, from_status, status, outputs, failed_at, removed_at, removed_by, removal_number, moved_to)
      where m.id = c.id and m.status = c.from_status`,
    arrayParams(
      draft.changedMembers,
      (m) => m.id,
      (m) => draft.memberStatusLoaded(m),
      (m) => m.status,
      (m) => JSON.stringify(m.outputs),
      (m) => timeParam(m.failedAt),
      (m) => timeParam(m.removedAt),
      (m) => m.removedBy,
      (m) => m.removalNumber,
      (m) => m.movedToBatchId,
    ),
  )
}

const UPDATE_PHASES = `
  update phase_executions p
     set status = c.status, skipped_because = c.skipped_because, due_at = c.due_at, dispatched_at = c.dispatched_at,
         expanded_through = c.expanded_through, expanded_at = c.expanded_at, completed_at = c.completed_at,
         fuse_acknowledged = c.fuse, ${PHASE_COUNTERS.map((name, i) => `${name} = c.n${i}`).join(', ')}
    from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::bigint[],
                $8::timestamptz[], $9::timestamptz[], $10::int[], ${PHASE_COUNTERS.map((_, i) => `$${i + 11}::int[]`).join(', ')})
         as c (id, from_status, status, skipped_because, due_at, dispatched_at, expanded_through, expanded_at, completed_at,
               fuse, ${PHASE_COUNTERS.map((_, i) => `n${i}`).join(', ')})
   where p.id = c.id and p.status = c.from_status`

async function updatePhases(tx: Tx, draft: Draft): Promise<void> {
  if (draft.changedPhases.size === 0) return
  const phases = [...draft.changedPhases]
  const counters = new Map(phases.map((phase) => [phase, countersOf(phase)]))
  await updateGuarded(
    tx,
    'phases',
    phases.length,
    UPDATE_PHASES,
    arrayParams(
      phases,
      (p) => p.id,
      (p) => draft.phaseStatusLoaded(p),
      (p) => p.status,
      (p) => p.skippedBecause,
      (p) => timeParam(p.dueAt),
      (p) => timeParam(p.dispatchedAt),
      (p) => p.expandedThrough,
      (p) => timeParam(p.expandedAt),
      (p) => timeParam(p.completedAt),
      (p) => p.fuseAcknowledged,
      ...PHASE_COUNTERS.map((_, i) => (p: Phase) => counters.get(p)![i]!),
    ),
  )
}

const UPDATE_BATCH = `
  update batches
     set status = $3, runbook_version = $4,
         runbook_id = case when runbook_version = $4 then runbook_id else
                        (select r.id from runbooks r where lower(r.name) = runbook_name and r.version = $4) end,
         batch_start_time = $5, failed_in_init = $6, current_phase = $7,
         init_dispatched_at = $8, activated_at = $9, ended_at = $10, held_at = $11, held_by = $12, held_reason = $13,
         outputs_json = $14::jsonb, ${batchCounters.map(([, column], i) => `${column} = $${i + 15}`).join(', ')}
   where id = $1 and status = $2`

async function updateBatch(
  tx: Tx,
  { batch, batchStatusLoaded, isBatchChanged }: Draft,
): Promise<void> {
  if (!isBatchChanged) return
  await updateGuarded(tx, 'batch', 1, UPDATE_BATCH, [
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
    ...batchCounters.map(([property]) => batch[property]),
  ])
}

async function raiseFailureRevision(tx: Tx, { batch, failureChanges }: Draft): Promise<void> {
  if (failureChanges === 0) return
  await tx.query('update batches set failure_revision = failure_revision + $2 where id = $1', [
    batch.id,
    failureChanges,
  ])
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
  const rows = unnestRows({
    member: '$4::bigint[]',
    step: '$5::bigint[]',
    job_id: '$6::text[]',
    because: '$7::text[]',
    details: `string_to_array($8, E'\\n', '')`,
    kind: '$9::int[]',
  })
  await tx.query(
    `insert into events (at, batch_id, actor, entity, event, from_status, to_status, batch_member_id, phase_id, step_id, attempt,
                         job_id, because, details)
     select $1, $2, $3, ($10::text[])[kind], ($11::text[])[kind], ($12::text[])[kind], ($13::text[])[kind], member,
            ($14::bigint[])[kind], step, ($15::int[])[kind], job_id, because, details::jsonb
       from ${rows} as e`,
    [
      now,
      batchId,
      actor,
      ...arrayParams(
        events,
        (e) => e.memberId,
        (e) => (e.stepId === null ? null : real(e.stepId)),
        (e) => e.jobId,
        (e) => e.because,
      ),
      lineParam(events, (e) => (e.details === null ? null : JSON.stringify(e.details))),
      ...kindParams(
        events,
        (e) => e.entity,
        (e) => e.event,
        (e) => e.from,
        (e) => e.to,
        (e) => e.phaseId,
        (e) => e.attempt,
      ),
    ],
  )
}
