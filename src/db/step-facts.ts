// Loading steps: those of some members that can still matter, or those of the batch itself. Few come as rows; most are still to
// come, or were sent and no more, and a handful of numbers says all about them.
import type { Step, StepPlan, Wait } from '../domain/facts.ts'
import type { Json } from '../domain/json.ts'
import { idArray, milliseconds, numbers } from './columns.ts'
import type { Queryable } from './db.ts'

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

/** A phase step to which little has happened: its plan, its job and its wait say all there is. */
export interface ShortStep {
  readonly id: number
  readonly memberId: number
  readonly phaseId: number
  readonly runbookVersion: number
  /** Its place in the list of the phase's steps. */
  readonly place: number
  readonly wait: Wait | null
  /** The job that is out and was never asked about; null for a step that nothing has happened to yet. */
  readonly job: SentJob | null
}

interface SentJob extends Pick<Step, 'attempt' | 'retryCount' | 'wasTaken'> {
  readonly jobId: string
  readonly deadlineAt: Date
}

export interface LoadedSteps {
  readonly rows: readonly StepRow[]
  readonly short: readonly ShortStep[]
}

const NEVER_ASKED = `
  s.retry_after is null and s.error_message is null and s.poll_count = 0 and s.poll_started_at is null
  and s.last_polled_at is null and s.poll_timeout_at is null and s.late_result_json is null`
const IS_FRESH = `
  s.status = 'pending' and s.attempt = 0 and s.retry_count = 0 and not s.was_taken and s.job_id is null
  and s.deadline_at is null and ${NEVER_ASKED}`
const IS_OUT = `
  s.status = 'dispatched' and w.what = 'job' and s.job_id is not null and s.deadline_at is not null
  and s.completed_at is null and ${NEVER_ASKED}`

const PLACES = [
  numbers('s.id', 'ids'),
  numbers('coalesce(s.batch_member_id, 0)', 'memberIds'),
  numbers('coalesce(s.phase_execution_id, 0)', 'phaseIds'),
  numbers('s.runbook_version', 'versions'),
  numbers('s.step_index', 'places'),
].join(', ')

interface PlaceColumns {
  readonly ids: number[]
  readonly memberIds: number[]
  readonly phaseIds: number[]
  readonly versions: number[]
  readonly places: number[]
}

interface StepColumns extends PlaceColumns {
  readonly areFresh: number[]
}

interface JobColumns extends PlaceColumns {
  readonly jobIds: string | null
  readonly attempts: number[]
  readonly retryCounts: number[]
  readonly areTaken: number[]
  readonly deadlines: number[]
  readonly sinces: number[]
  readonly wakes: number[]
}

/**
 * The steps of these members that can still matter: phase steps that are not passed, and every undo step. `stepIds` are loaded
 * whatever their status. `all` loads the passed ones too, for decisions that take steps up again.
 *
 * Most steps of a member are still to come, and of those five numbers are enough; those whose result has come were sent and no
 * more. All of a chunk's come as one array a column. As rows of 22 columns they were a quarter of the time that a result took.
 */
export async function loadStepsOfMembers(
  db: Queryable,
  batchId: number,
  memberIds: readonly number[],
  { stepIds = [], all = false }: { stepIds?: readonly number[]; all?: boolean } = {},
): Promise<LoadedSteps> {
  const members = idArray(memberIds)
  const named = idArray(stepIds)
  const [columns, out, undoing, waits] = await Promise.all([
    loadStepColumns(db, members, all),
    stepIds.length > 0 ? loadStepsOut(db, named) : [],
    db.query<StepRow>(
      `select ${OWNERS}, ${STATE}, ${PLAN} from step_executions s left join waits w on w.step_id = s.id
        where s.kind in ('rollback', 'removal') and s.batch_member_id = any($1::bigint[])`,
      [members],
    ),
    loadWaits(db, batchId, members, named),
  ])
  const ours = new Set(memberIds)
  const short = out.filter(({ memberId, phaseId }) => phaseId > 0 && ours.has(memberId))
  const areOut = new Set(short.map(({ id }) => id))
  const touched = new Set(stepIds.filter((id) => !areOut.has(id)))
  for (let i = 0; i < columns.ids.length; i += 1) {
    const id = columns.ids[i]!
    if (areOut.has(id) || touched.has(id)) continue
    if (columns.areFresh[i] === 1) short.push(placed(columns, i, waits.get(id) ?? null, null))
    else touched.add(id)
  }
  const others = touched.size > 0 ? await loadPhaseSteps(db, members, idArray([...touched])) : []
  return { rows: [...others, ...undoing], short }
}

async function loadStepColumns(db: Queryable, members: string, all: boolean): Promise<StepColumns> {
  const [columns] = await db.query<StepColumns>(
    `select ${PLACES}, ${numbers(`case when ${IS_FRESH} then 1 else 0 end`, 'areFresh')}
       from step_executions s
      where s.kind = 'phase' and s.batch_member_id = any($1::bigint[])
        and ($2 or s.status not in ('succeeded', 'skipped'))`,
    [members, all],
  )
  return columns!
}

/**
 * Those of these steps whose job is out and was never asked about, whatever their kind and member: asked for phase steps alone, the
 * planner reads all there are of a table that is new to it, by the index that has only those, and takes five times as long.
 */
async function loadStepsOut(db: Queryable, stepIds: string): Promise<ShortStep[]> {
  const [columns] = await db.query<JobColumns>(
    `select ${PLACES}, string_agg(s.job_id, ',') as "jobIds", ${numbers('s.attempt', 'attempts')},
            ${numbers('s.retry_count', 'retryCounts')}, ${numbers('s.was_taken::int', 'areTaken')},
            ${numbers(milliseconds('s.deadline_at'), 'deadlines')}, ${numbers(milliseconds('w.since'), 'sinces')},
            ${numbers(milliseconds('w.wake_at'), 'wakes')}
       from step_executions s join waits w on w.step_id = s.id
      where s.id = any($1::bigint[]) and ${IS_OUT}`,
    [stepIds],
  )
  const jobIds = columns!.jobIds?.split(',') ?? []
  return jobIds.map((jobId, i) =>
    placed(columns!, i, waitForJob(columns!, i, jobId), {
      jobId,
      attempt: columns!.attempts[i]!,
      retryCount: columns!.retryCounts[i]!,
      wasTaken: columns!.areTaken[i] === 1,
      deadlineAt: new Date(columns!.deadlines[i]!),
    }),
  )
}

const waitForJob = ({ sinces, wakes }: JobColumns, i: number, jobId: string): Wait => ({
  what: 'job',
  since: new Date(sinces[i]!),
  wakeAt: new Date(wakes[i]!),
  jobId,
})

const placed = (
  { ids, memberIds, phaseIds, versions, places }: PlaceColumns,
  i: number,
  wait: Wait | null,
  job: SentJob | null,
): ShortStep => ({
  id: ids[i]!,
  memberId: memberIds[i]!,
  phaseId: phaseIds[i]!,
  runbookVersion: versions[i]!,
  place: places[i]!,
  wait,
  job,
})

/** Those of these steps that are phase steps of these members. */
function loadPhaseSteps(db: Queryable, members: string, stepIds: string): Promise<StepRow[]> {
  return db.query<StepRow>(
    `select s.phase_execution_id as "phaseId", s.batch_member_id as "memberId", ${STATE}
       from step_executions s left join waits w on w.step_id = s.id
      where s.id = any($2::bigint[]) and s.kind = 'phase' and s.batch_member_id = any($1::bigint[])`,
    [members, stepIds],
  )
}

type WaitRow = Pick<StepRow, 'what' | 'since' | 'wakeAt' | 'jobId'> & { readonly stepId: number }

/** What the members' steps wait for, but for those steps whose rows are loaded with their waits. */
async function loadWaits(
  db: Queryable,
  batchId: number,
  members: string,
  stepIds: string,
): Promise<ReadonlyMap<number, Wait>> {
  const rows = await db.query<WaitRow>(
    `select step_id as "stepId", what, since, wake_at as "wakeAt", job_id as "jobId" from waits
      where batch_id = $1 and batch_member_id = any($2::bigint[]) and step_id <> all($3::bigint[])`,
    [batchId, members, stepIds],
  )
  return new Map(rows.map((row) => [row.stepId, waitOf(row)]))
}

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
