// Writes what decisions changed, set-based, in the caller's transaction; the drafts of several batches with the same statements. Every
// update is guarded by the status loaded under the lock: a mismatch means that somebody wrote without the lock, and nothing at all is written.
import type { AttemptRecord, Draft } from '../../domain/decide/draft.ts'
import { priorityOf } from '../../domain/decide/send.ts'
import { changesTenant } from '../../domain/decide/tenant-effect.ts'
import type { EventRecord } from '../../domain/state/event-record.ts'
import type { Member, Phase, Step } from '../../domain/state/facts.ts'
import {
  arrayParams,
  idsParam,
  jsonText,
  kindParams,
  lineParam,
  unnestRows,
} from '../connection/arrays.ts'
import type { Tx } from '../connection/db.ts'
import { updateGuarded } from '../connection/guard.ts'
import { writeSentMessages } from '../orders/sent-messages.ts'
import { CHANGED_BATCH_COLUMNS } from './batch-columns.ts'
import { changedColumns, updateOf } from './columns.ts'
import type { SeenEvent } from './epochs.ts'
import { addAddresses } from './member-addresses.ts'
import { CHANGED_PHASE_COLUMNS } from './phase-columns.ts'
import { insertSteps, updateDefinitions, updateSteps } from './step-changes.ts'

/** The draft of one transaction on one batch; several when one transaction changes several batches, at the same moment. */
export type Drafts = readonly [Draft, ...Draft[]]

/** Writes the drafts without their messages. The statements are pipelined: the next one's parameters are built while the database runs. */
export async function writeChanges(tx: Tx, drafts: Drafts): Promise<SeenEvent | null> {
  const [newest] = await Promise.all([
    writeRows(tx, drafts),
    updatePhases(tx, drafts),
    updateBatches(tx, drafts),
    raiseFailureRevisions(tx, drafts),
  ])
  return newest
}

/** The rows of single members and steps, without phases and batch. Returns the newest event that it wrote. */
export async function writeRows(tx: Tx, drafts: Drafts): Promise<SeenEvent | null> {
  const real = await insertAllSteps(tx, drafts)
  const [newest] = await Promise.all([
    insertAllEvents(tx, drafts, real),
    updateSteps(tx, drafts),
    ...drafts.map((draft) => updateDefinitions(tx, draft)),
    replaceWaits(tx, drafts, real),
    insertAttempts(tx, drafts),
    updateMembers(tx, drafts),
  ])
  if (
    drafts.some(
      ({ sentMessages, changedCorrections }) => sentMessages.length + changedCorrections.size > 0,
    )
  )
    await writeSentMessages(tx, drafts)
  return newest
}

/** The id that a row got, from the one that its draft gave it. */
type RealId = (draft: Draft, id: number) => number

/** Only failures and removals make steps here, so a statement for each batch will do. */
async function insertAllSteps(tx: Tx, drafts: Drafts): Promise<RealId> {
  const ids = new Map<Draft, ReadonlyMap<number, number>>()
  for (const draft of drafts)
    if (draft.newSteps.length > 0) ids.set(draft, await insertSteps(tx, draft))
  return (draft, id) => (id < 0 ? ids.get(draft)!.get(id)! : id)
}

interface WaitingStep {
  readonly draft: Draft
  readonly step: Step
}

async function replaceWaits(tx: Tx, drafts: Drafts, real: RealId): Promise<void> {
  const gone: number[] = []
  const waiting: WaitingStep[] = []
  for (const draft of drafts) {
    for (const step of draft.changedWaits) {
      if (draft.hadWait(step)) gone.push(step.id)
      if (step.wait !== null) waiting.push({ draft, step })
    }
  }
  await Promise.all([
    gone.length > 0 &&
      tx.query('delete from waits where step_id = any($1::bigint[])', [idsParam(gone)]),
    waiting.length > 0 && insertWaits(tx, waiting, real),
  ])
}

function insertWaits(tx: Tx, waiting: readonly WaitingStep[], real: RealId): Promise<unknown> {
  const rows = unnestRows({
    id: '$1::bigint[]',
    batch: '$2::bigint[]',
    member: '$3::bigint[]',
    job_id: '$4::text[]',
    kind: '$5::int[]',
  })
  return tx.query(
    `insert into waits (step_id, batch_id, batch_member_id, worker_id, kind, priority, since, wake_at, changes_tenant, job_id)
     select id, batch, member, ($6::text[])[kind], ($7::text[])[kind], ($8::int[])[kind], ($9::timestamptz[])[kind],
            ($10::timestamptz[])[kind], ($11::bool[])[kind], job_id
       from ${rows} as w`,
    [
      ...arrayParams(
        waiting,
        ({ draft, step }) => real(draft, step.id),
        ({ draft }) => draft.batch.id,
        ({ step }) => step.memberId,
        ({ step: { wait } }) => (wait!.kind === 'job' ? wait!.jobId : null),
      ),
      ...kindParams(
        waiting,
        ({ step }) => step.definition.workerId,
        ({ step }) => step.wait!.kind,
        ({ step }) => priorityOf(step),
        ({ step }) => step.wait!.since,
        ({ step }) => step.wait!.wakeAt,
        ({ draft, step }) => changesTenant(draft, step),
      ),
    ],
  )
}

async function insertAttempts(tx: Tx, drafts: Drafts): Promise<void> {
  const attempts: AttemptRecord[] = []
  const batchIds: number[] = []
  for (const draft of drafts) {
    for (const attempt of draft.attempts) {
      if (attempt.isFolded) continue
      attempts.push(attempt)
      batchIds.push(draft.batch.id)
    }
  }
  if (attempts.length === 0) return
  const rows = unnestRows({
    batch_id: '$1::bigint[]',
    step_id: '$3::bigint[]',
    job_id: '$4::text[]',
    error: '$5::text[]',
    duration_ms: '$6::int[]',
    result: `string_to_array($7, E'\\n', '')`,
    kind: '$8::int[]',
    effect: `string_to_array($14, E'\\n', '')`,
  })
  await tx.query(
    `insert into attempts (step_id, batch_id, job_id, attempt, poll, worker_id, sent_at, settled_at, outcome, result_json,
                           error_message, duration_ms, effect_json)
     select step_id, batch_id, job_id, ($9::int[])[kind], ($10::int[])[kind], ($11::text[])[kind], ($12::timestamptz[])[kind], $2,
            ($13::text[])[kind], result::jsonb, error, duration_ms, effect::jsonb
       from ${rows} as a`,
    [
      idsParam(batchIds),
      drafts[0].now,
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
      lineParam(attempts, (a) => (a.effect ? JSON.stringify(a.effect) : null)),
    ],
  )
}

/** Nearly always only outputs change: two columns instead of nine. */
async function updateMembers(tx: Tx, drafts: Drafts): Promise<void> {
  const changed = drafts.filter(({ changedMembers }) => changedMembers.size > 0)
  if (changed.length === 0) return
  const whole: Draft[] = []
  const outputs: Member[] = []
  for (const draft of changed) {
    if (draft.events.some(({ entity }) => entity === 'member')) whole.push(draft)
    else outputs.push(...draft.changedMembers)
  }
  await Promise.all([
    outputs.length > 0 && updateOutputs(tx, outputs),
    ...whole.map((draft) => updateWholeMembers(tx, draft)),
    addAddresses(
      tx,
      changed.flatMap((draft) =>
        [...draft.changedMembers].map((member) => ({
          memberId: member.id,
          key: member.key,
          texts: draft.newOutputs(member),
        })),
      ),
    ),
  ])
}

function updateOutputs(tx: Tx, members: readonly Member[]): Promise<void> {
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

const CHANGED_MEMBER_COLUMNS = changedColumns<Member>({
  status: ['status', 'text'],
  outputs: ['worker_data_json', 'jsonb'],
  failedAt: ['failed_at', 'timestamptz'],
  removedAt: ['removed_at', 'timestamptz'],
  removedBy: ['removed_by', 'text'],
  removalNumber: ['removal_number', 'int'],
  movedToBatchId: ['moved_to_batch_id', 'bigint'],
})
const UPDATE_MEMBERS = updateOf('batch_members', CHANGED_MEMBER_COLUMNS)

function updateWholeMembers(tx: Tx, draft: Draft): Promise<void> {
  const members = [...draft.changedMembers]
  return updateGuarded(tx, 'members', members.length, UPDATE_MEMBERS, [
    idsParam(members.map(({ id }) => id)),
    ...arrayParams(members, (member) => draft.memberStatusLoaded(member)),
    ...arrayParams(members, ...CHANGED_MEMBER_COLUMNS.map(({ pick }) => pick)),
  ])
}

const UPDATE_PHASES = updateOf('phase_executions', CHANGED_PHASE_COLUMNS)

async function updatePhases(tx: Tx, drafts: Drafts): Promise<void> {
  const phases: Phase[] = []
  const loaded: string[] = []
  for (const draft of drafts) {
    for (const phase of draft.changedPhases) {
      phases.push(phase)
      loaded.push(draft.phaseStatusLoaded(phase))
    }
  }
  if (phases.length === 0) return
  const [statusesLoaded] = arrayParams(loaded, (status) => status)
  await updateGuarded(tx, 'phases', phases.length, UPDATE_PHASES, [
    idsParam(phases.map(({ id }) => id)),
    statusesLoaded,
    ...arrayParams(phases, ...CHANGED_PHASE_COLUMNS.map(({ pick }) => pick)),
  ])
}

const UPDATE_BATCHES = updateOf(
  'batches',
  CHANGED_BATCH_COLUMNS,
  `, runbook_id = case when t.runbook_version = c.runbook_version then t.runbook_id else
       (select r.id from runbooks r where lower(r.name) = t.runbook_name and r.version = c.runbook_version) end`,
)

async function updateBatches(tx: Tx, drafts: Drafts): Promise<void> {
  const changed = drafts.filter(({ isBatchChanged }) => isBatchChanged)
  if (changed.length === 0) return
  await updateGuarded(tx, 'batches', changed.length, UPDATE_BATCHES, [
    idsParam(changed.map(({ batch }) => batch.id)),
    ...arrayParams(changed, ({ batchStatusLoaded }) => batchStatusLoaded),
    ...arrayParams(
      changed.map(({ batch }) => batch),
      ...CHANGED_BATCH_COLUMNS.map(({ pick }) => pick),
    ),
  ])
}

async function raiseFailureRevisions(tx: Tx, drafts: Drafts): Promise<void> {
  const failing = drafts.filter(({ failureChanges }) => failureChanges > 0)
  if (failing.length === 0) return
  await tx.query(
    `update batches b set failure_revision = b.failure_revision + c.by
       from unnest($1::bigint[], $2::int[]) as c (id, by) where b.id = c.id`,
    arrayParams(
      failing,
      ({ batch }) => batch.id,
      ({ failureChanges }) => failureChanges,
    ),
  )
}

function insertAllEvents(tx: Tx, drafts: Drafts, real: RealId): Promise<SeenEvent | null> {
  const [{ now, actor }] = drafts
  const rows = drafts.flatMap((draft) =>
    draft.events.map((event) => ({
      event,
      batchId: draft.batch.id,
      stepId: event.stepId === null ? null : real(draft, event.stepId),
    })),
  )
  return insertEventRows(tx, now, actor, rows)
}

export async function insertEvents(
  tx: Tx,
  batchId: number | null,
  now: Date,
  actor: string,
  events: readonly EventRecord[],
): Promise<void> {
  const rows = events.map((event) => ({ event, batchId, stepId: event.stepId }))
  await insertEventRows(tx, now, actor, rows)
}

interface EventRow {
  readonly event: EventRecord
  readonly batchId: number | null
  readonly stepId: number | null
}

async function insertEventRows(
  tx: Tx,
  now: Date,
  actor: string,
  events: readonly EventRow[],
): Promise<SeenEvent | null> {
  if (events.length === 0) return null
  const rows = unnestRows({
    batch: '$2::bigint[]',
    member: '$4::bigint[]',
    step: '$5::bigint[]',
    job_id: '$6::text[]',
    because: '$7::text[]',
    details: `string_to_array($8, E'\\n', '')`,
    kind: '$9::int[]',
  })
  const [row] = await tx.query<{ id: number }>(
    `with written as (
     insert into events (at, batch_id, actor, entity, event, from_status, to_status, batch_member_id, phase_id, step_id, attempt,
                         job_id, because, details)
     select $1, batch, $3, ($10::text[])[kind], ($11::text[])[kind], ($12::text[])[kind], ($13::text[])[kind], member,
            ($14::bigint[])[kind], step, ($15::int[])[kind], job_id, because, details::jsonb
       from ${rows} as e returning id)
     select max(id) as id from written`,
    [
      now,
      ...arrayParams(events, (row) => row.batchId),
      actor,
      ...arrayParams(
        events,
        ({ event }) => event.memberId,
        ({ stepId }) => stepId,
        ({ event }) => event.jobId,
        ({ event }) => event.because,
      ),
      lineParam(events, ({ event }) =>
        event.details === null ? null : JSON.stringify(event.details),
      ),
      ...kindParams(
        events,
        ({ event }) => event.entity,
        ({ event }) => event.event,
        ({ event }) => event.from,
        ({ event }) => event.to,
        ({ event }) => event.phaseId,
        ({ event }) => event.attempt,
      ),
    ],
  )
  return { id: row!.id, at: now }
}
