// Loading: the rows a decision needs, in a handful of statements whatever their number. The batch is locked first, always: alone,
// or shared by those who change nothing but members of their own (engine/beside.ts). Statements after a lock see what its former
// holder committed (READ COMMITTED).
import type { Batch, Member, Phase, Step, StepPlan, Wait } from '../domain/facts.ts'
import type { Json } from '../domain/json.ts'
import { idArray } from './columns.ts'
import type { Queryable, Tx } from './db.ts'

const BATCH = `
  id, runbook_name as "runbookName",
  greatest((select version from runbooks r where lower(r.name) = runbook_name and r.is_active), runbook_version) as "activeVersion",
  runbook_version as "runbookVersion", is_manual as "isManual",
  batch_start_time as "startTime", status, failed_in_init as "failedInInit", current_phase as "currentPhase",
  init_dispatched_at as "initDispatchedAt", activated_at as "activatedAt", ended_at as "endedAt",
  held_at as "heldAt", held_by as "heldBy", held_reason as "heldReason", outputs_json as "outputs",
  members_active as "membersActive", members_failed as "membersFailed", members_removed as "membersRemoved",
  init_open as "initOpen", rollback_open as "rollbackOpen", removal_open as "removalOpen"`

/**
 * Locks the batch for this transaction and reads it; null when there is none. The row is as its last holder left it, but the
 * active version is of the moment when the waiting for the lock began: it may be older than the one that the holder has put the
 * batch on, never newer than what was published. So the greater of the two counts, and a batch never goes back.
 */
export async function lockBatch(tx: Tx, batchId: number): Promise<Batch | null> {
  await tx.query('select pg_advisory_xact_lock($1)', [lockKey(batchId)])
  const rows = await tx.query<Batch>(`select ${BATCH} from batches where id = $1 for update`, [
    batchId,
  ])
  return rows[0] ?? null
}

/**
 * Reads the batch and keeps everybody away who would lock it, until this transaction ends; others who share it may be there too.
 * Locks of rows would do, but for one thing: sharers that come and go would keep a hold or a cancel waiting for ever, where the
 * queue of an advisory lock is fair.
 */
export async function shareBatch(tx: Tx, batchId: number): Promise<Batch | null> {
  await tx.query('select pg_advisory_xact_lock_shared($1)', [lockKey(batchId)])
  const rows = await tx.query<Batch>(`select ${BATCH} from batches where id = $1 for key share`, [
    batchId,
  ])
  return rows[0] ?? null
}

/** Batches have the small negative numbers. Others are positive (migrate.ts) or hashed names of 64 bits, which never come so near. */
const lockKey = (batchId: number): number => -batchId

interface PhaseRow extends Omit<Phase, 'steps' | 'members'> {
  pending: number
  dispatched: number
  polling: number
  succeeded: number
  failed: number
  poll_timeout: number
  rolled_back: number
  cancelled: number
  skipped: number
  total: number
  passed: number
  failedHere: number
  stopped: number
  removed: number
}

export async function loadPhases(db: Queryable, batchId: number): Promise<Phase[]> {
  const rows = await db.query<PhaseRow>(
    `select id, phase_name as name, phase_index as index, offset_minutes as "offsetMinutes",
            runbook_version as "runbookVersion", due_at as "dueAt", status, skipped_because as "skippedBecause",
            dispatched_at as "dispatchedAt", expanded_through as "expandedThrough", expanded_at as "expandedAt",
            completed_at as "completedAt", fuse_acknowledged as "fuseAcknowledged",
            steps_pending as pending, steps_dispatched as dispatched, steps_polling as polling,
            steps_succeeded as succeeded, steps_failed as failed, steps_poll_timeout as poll_timeout,
            steps_rolled_back as rolled_back, steps_cancelled as cancelled, steps_skipped as skipped,
            members_total as total, members_passed as passed, members_failed as "failedHere",
            members_stopped as stopped, members_removed as removed
       from phase_executions where batch_id = $1 order by id`,
    [batchId],
  )
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    index: row.index,
    offsetMinutes: row.offsetMinutes,
    runbookVersion: row.runbookVersion,
    dueAt: row.dueAt,
    status: row.status,
    skippedBecause: row.skippedBecause,
    dispatchedAt: row.dispatchedAt,
    expandedThrough: row.expandedThrough,
    expandedAt: row.expandedAt,
    completedAt: row.completedAt,
    fuseAcknowledged: row.fuseAcknowledged,
    steps: {
      pending: row.pending,
      dispatched: row.dispatched,
      polling: row.polling,
      succeeded: row.succeeded,
      failed: row.failed,
      poll_timeout: row.poll_timeout,
      rolled_back: row.rolled_back,
      cancelled: row.cancelled,
      skipped: row.skipped,
    },
    members: {
      total: row.total,
      passed: row.passed,
      failed: row.failedHere,
      stopped: row.stopped,
      removed: row.removed,
    },
  }))
}

/**
 * `wait` and `skip` lock the rows as well, in the order of their ids so that two who do so never wait for each other in a circle.
 * `skip` leaves out those that somebody else has locked.
 */
export function loadMembers(
  db: Queryable,
  memberIds: readonly number[],
  lock: 'none' | 'wait' | 'skip' = 'none',
): Promise<Member[]> {
  return db.query<Member>(
    `select id, member_key as key, status, data_json as data, worker_data_json as outputs, failed_at as "failedAt",
            removed_at as "removedAt", removed_by as "removedBy", removal_number as "removalNumber",
            moved_to_batch_id as "movedToBatchId"
       from batch_members where id = any($1::bigint[]) ${MEMBER_LOCKS[lock]}`,
    [idArray(memberIds)],
  )
}

/** Locks the members as `loadMembers` would, and reads nothing. */
export async function lockMembers(tx: Tx, memberIds: readonly number[]): Promise<void> {
  await tx.query(
    `select count(*) from (select from batch_members where id = any($1::bigint[]) ${MEMBER_LOCKS.wait}) as locked`,
    [idArray(memberIds)],
  )
}

const MEMBER_LOCKS = {
  none: '',
  wait: 'order by id for no key update',
  skip: 'order by id for no key update skip locked',
} as const

// Parameters and results can be large; only a re-poll needs what was sent, and only an operator the late result.
// What a phase step was told to be (its plan) is not read back: a version of a runbook never changes, so the plan is looked up
// there, by the names. That left 26 of 41 columns, and reading rows was a third of the time a result took. The few others have
// theirs read from the row: a rollback's words hang on its origin, which may be passed and not loaded, or of a newer version.
const STATE = `
  s.id, s.step_name as "stepName", s.runbook_version as "runbookVersion", s.status, s.attempt, s.retry_count as "retryCount",
  s.retry_after as "retryAfter", case when s.status = 'polling' then s.function_name end as "functionName",
  case when s.status = 'polling' then s.params_json end as params, s.job_id as "jobId", s.was_taken as "wasTaken", s.deadline_at as "deadlineAt",
  s.completed_at as "completedAt", s.error_message as error, s.poll_started_at as "pollStartedAt",
  s.last_polled_at as "lastPolledAt", s.poll_count as "pollCount", s.poll_timeout_at as "pollTimeoutAt",
  s.late_result_json is not null as "hasLate", s.late_result_json as late, w.what, w.since, w.wake_at as "wakeAt"`
const OWNERS = `
  s.kind, s.phase_execution_id as "phaseId", s.batch_member_id as "memberId", s.origin_step_id as "originStepId",
  s.origin_attempt as "originAttempt", s.removal_number as "removalNumber"`
const PLAN = `
  s.step_index as "stepIndex", s.worker_id as "workerId", s.on_failure as "onFailure",
  s.poll_interval_sec as "pollIntervalSec", s.poll_timeout_sec as "pollTimeoutSec", s.max_retries as "maxRetries",
  s.retry_interval_sec as "retryIntervalSec", s.retry_backoff as "retryBackoff",
  s.retry_max_interval_sec as "retryMaxIntervalSec", s.timeout_sec as "timeoutSec"`

/** A step as the database has it: phase steps without their plan, the others with all its columns. */
export type StepRow = Omit<Step, 'plan' | 'wait' | 'result' | 'lateResult' | 'dispatchedAt'> &
  Pick<StepPlan, 'stepName' | 'runbookVersion'> &
  Partial<StepPlan> & {
    readonly hasLate: boolean
    readonly late: Json
    readonly what: Wait['what'] | null
    readonly since: Date
    readonly wakeAt: Date | null
  }

export function stepOf(row: StepRow, plan: StepPlan): Step {
  return {
    id: row.id,
    kind: row.kind ?? 'phase',
    phaseId: row.phaseId,
    memberId: row.memberId,
    originStepId: row.originStepId ?? null,
    originAttempt: row.originAttempt ?? null,
    removalNumber: row.removalNumber ?? null,
    plan,
    status: row.status,
    attempt: row.attempt,
    retryCount: row.retryCount,
    retryAfter: row.retryAfter,
    functionName: row.functionName,
    params: row.params,
    jobId: row.jobId,
    wasTaken: row.wasTaken,
    dispatchedAt: null,
    deadlineAt: row.deadlineAt,
    completedAt: row.completedAt,
    result: undefined,
    error: row.error,
    pollStartedAt: row.pollStartedAt,
    lastPolledAt: row.lastPolledAt,
    pollCount: row.pollCount,
    pollTimeoutAt: row.pollTimeoutAt,
    lateResult: row.hasLate ? row.late : undefined,
    wait: row.what === null ? null : waitOf(row),
  }
}

/** The plan in the row itself; null for a phase step. */
export function planIn(row: StepRow): StepPlan | null {
  if (row.stepIndex === undefined) return null
  const { stepName, runbookVersion, stepIndex, workerId, onFailure, timeoutSec } = row as StepPlan
  const { pollIntervalSec, pollTimeoutSec, maxRetries, retryIntervalSec } = row as StepPlan
  const { retryBackoff, retryMaxIntervalSec } = row as StepPlan
  return {
    stepName,
    stepIndex,
    runbookVersion,
    workerId,
    onFailure,
    pollIntervalSec,
    pollTimeoutSec,
    maxRetries,
    retryIntervalSec,
    retryBackoff,
    retryMaxIntervalSec,
    timeoutSec,
  }
}

function waitOf({
  what,
  since,
  wakeAt,
  jobId,
}: Pick<StepRow, 'what' | 'since' | 'wakeAt' | 'jobId'>): Wait {
  if (what === 'slot') return { what, since, wakeAt }
  if (what === 'job') return { what, since, wakeAt: wakeAt!, jobId: jobId! }
  return { what: what!, since, wakeAt: wakeAt! }
}

/** A phase step that nothing has happened to yet: its plan and its wait, if it has one, say all there is. */
export interface FreshStep {
  readonly id: number
  readonly memberId: number
  readonly phaseId: number
  readonly runbookVersion: number
  /** Its place in the list of the phase's steps. */
  readonly place: number
  readonly wait: Wait | null
}

export interface LoadedSteps {
  readonly rows: readonly StepRow[]
  readonly fresh: readonly FreshStep[]
}

const IS_FRESH = `
  s.status = 'pending' and s.attempt = 0 and s.retry_count = 0 and s.poll_count = 0 and not s.was_taken and s.job_id is null
  and s.retry_after is null and s.deadline_at is null and s.error_message is null and s.poll_started_at is null
  and s.last_polled_at is null and s.late_result_json is null`

interface StepColumns {
  readonly ids: number[]
  readonly memberIds: number[]
  readonly phaseIds: number[]
  readonly versions: number[]
  readonly places: number[]
  readonly areFresh: number[]
}

/**
 * The steps of these members that can still matter: phase steps that are not passed, and every undo step. `stepIds` are loaded
 * whatever their status. `all` loads the passed ones too, for decisions that take steps up again.
 *
 * Most steps of a member are still to come, and of those five numbers are enough; all of a chunk's come as five arrays. As rows of
 * 22 columns they were a quarter of the time that a result took.
 */
export async function loadStepsOfMembers(
  db: Queryable,
  batchId: number,
  memberIds: readonly number[],
  { stepIds = [], all = false }: { stepIds?: readonly number[]; all?: boolean } = {},
): Promise<LoadedSteps> {
  const [columns, named, undoing, waits] = await Promise.all([
    loadStepColumns(db, memberIds, all),
    stepIds.length > 0 ? loadPhaseSteps(db, memberIds, stepIds) : [],
    db.query<StepRow>(
      `select ${OWNERS}, ${STATE}, ${PLAN} from step_executions s left join waits w on w.step_id = s.id
        where s.kind in ('rollback', 'removal') and s.batch_member_id = any($1::bigint[])`,
      [idArray(memberIds)],
    ),
    loadWaits(db, batchId, memberIds, stepIds),
  ])
  const loaded = new Set(stepIds)
  const fresh: FreshStep[] = []
  const touched: number[] = []
  for (const [i, id] of columns.ids.entries()) {
    if (loaded.has(id)) continue
    if (columns.areFresh[i] === 1) fresh.push(freshStep(columns, i, waits))
    else touched.push(id)
  }
  const others = touched.length > 0 ? await loadPhaseSteps(db, memberIds, touched) : []
  return { rows: [...named, ...others, ...undoing], fresh }
}

async function loadStepColumns(
  db: Queryable,
  memberIds: readonly number[],
  all: boolean,
): Promise<StepColumns> {
  const agg = (column: string) => `coalesce(array_agg(${column}::bigint), '{}')`
  const [columns] = await db.query<StepColumns>(
    `select ${agg('s.id')} as ids, ${agg('s.batch_member_id')} as "memberIds", ${agg('s.phase_execution_id')} as "phaseIds",
            ${agg('s.runbook_version')} as versions, ${agg('s.step_index')} as places,
            ${agg(`case when ${IS_FRESH} then 1 else 0 end`)} as "areFresh"
       from step_executions s
      where s.kind = 'phase' and s.batch_member_id = any($1::bigint[])
        and ($2 or s.status not in ('succeeded', 'skipped'))`,
    [idArray(memberIds), all],
  )
  return columns!
}

/** Those of these steps that are phase steps of these members. */
function loadPhaseSteps(
  db: Queryable,
  memberIds: readonly number[],
  stepIds: readonly number[],
): Promise<StepRow[]> {
  return db.query<StepRow>(
    `select s.phase_execution_id as "phaseId", s.batch_member_id as "memberId", ${STATE}
       from step_executions s left join waits w on w.step_id = s.id
      where s.id = any($2::bigint[]) and s.kind = 'phase' and s.batch_member_id = any($1::bigint[])`,
    [idArray(memberIds), idArray(stepIds)],
  )
}

type WaitRow = Pick<StepRow, 'what' | 'since' | 'wakeAt' | 'jobId'> & { readonly stepId: number }

/** What the members' steps wait for, but for those steps whose rows are loaded with their waits. */
async function loadWaits(
  db: Queryable,
  batchId: number,
  memberIds: readonly number[],
  stepIds: readonly number[],
): Promise<ReadonlyMap<number, Wait>> {
  const rows = await db.query<WaitRow>(
    `select step_id as "stepId", what, since, wake_at as "wakeAt", job_id as "jobId" from waits
      where batch_id = $1 and batch_member_id = any($2::bigint[]) and step_id <> all($3::bigint[])`,
    [batchId, idArray(memberIds), idArray(stepIds)],
  )
  return new Map(rows.map((row) => [row.stepId, waitOf(row)]))
}

const freshStep = (
  { ids, memberIds, phaseIds, versions, places }: StepColumns,
  i: number,
  waits: ReadonlyMap<number, Wait>,
): FreshStep => ({
  id: ids[i]!,
  memberId: memberIds[i]!,
  phaseId: phaseIds[i]!,
  runbookVersion: versions[i]!,
  place: places[i]!,
  wait: waits.get(ids[i]!) ?? null,
})

/** Steps of the batch itself: init and the rollback of init. */
export async function loadStepsOfBatch(db: Queryable, batchId: number): Promise<StepRow[]> {
  return db.query<StepRow>(
    `select ${OWNERS}, ${STATE}, ${PLAN} from step_executions s left join waits w on w.step_id = s.id
      where s.kind = 'init' and s.batch_id = $1
     union all
     select ${OWNERS}, ${STATE}, ${PLAN} from step_executions o
       join step_executions s on s.kind = 'rollback' and s.origin_step_id = o.id
       left join waits w on w.step_id = s.id
      where o.kind = 'init' and o.batch_id = $1
      order by id`,
    [batchId],
  )
}

export interface StepOwner {
  readonly id: number
  readonly batchId: number
  readonly memberId: number | null
}

/** Which batch and member each step belongs to; a step never changes either. */
export function loadOwners(db: Queryable, stepIds: readonly number[]): Promise<StepOwner[]> {
  return db.query<StepOwner>(
    `select id, batch_id as "batchId", batch_member_id as "memberId" from step_executions where id = any($1::bigint[])`,
    [idArray(stepIds)],
  )
}
