// Loads the steps of some members that can still matter, or those of the batch itself. Few come as rows: most are untouched or just
// sent, and a handful of numbers describes them.

import type { Json } from '../../base/text/json.ts'
import type { LedgerStep } from '../../domain/decide/undo-ledger.ts'
import type { Step, StepDefinition, Wait } from '../../domain/state/facts.ts'
import { epochMs, idsParam, integerArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { COMPENSATION, PASSED_STEPS } from '../connection/status-lists.ts'

// Parameters and results can be large; only a re-poll needs the parameters, and only an operator the late result.
// A phase step's definition is not read: it is looked up in its runbook version, which never changes. That left 26 of 41 columns,
// where reading rows was a third of a result's time. Other kinds read theirs: a rollback's depends on its origin, which may not be loaded.
const STATE = `
  s.id, s.step_name, s.runbook_version, s.status, s.attempt, s.retry_count,
  s.retry_after, case when s.status = 'polling' or s.kind = 'undo' then s.function_name end as function_name,
  case when s.status = 'polling' or s.kind = 'undo' then s.params_json end as params, s.job_id, s.may_have_effect, s.deadline_at,
  s.completed_at, s.error_message as error, s.poll_started_at,
  s.last_polled_at, s.poll_count, s.poll_timeout_at,
  s.poll_said, s.poll_changes,
  s.late_result_json is not null as has_late, s.late_result_json as late, s.corrects_time, s.corrects_sent_at, w.kind as wait_kind, w.since, w.wake_at`
const OWNERS = `
  s.kind, s.phase_execution_id as phase_id, s.batch_member_id as member_id, s.origin_step_id,
  s.origin_attempt, s.removal_number`
const DEFINITION = `
  s.step_index, s.worker_id, s.on_failure,
  s.poll_interval_sec, s.poll_timeout_sec, s.max_retries,
  s.retry_interval_sec, s.retry_backoff,
  s.retry_max_interval_sec, s.timeout_sec`

/** What only steps of other kinds have in their rows. */
type Owned = Pick<Step, 'kind' | 'originStepId' | 'originAttempt' | 'removalNumber'>

/** A step's row: phase steps without their definition, other kinds with it. */
export type StepRow = Omit<
  Step,
  'definition' | 'wait' | 'result' | 'lateResult' | 'dispatchedAt' | keyof Owned
> &
  Partial<Owned> &
  Pick<StepDefinition, 'stepName' | 'runbookVersion'> &
  Partial<StepDefinition> & {
    readonly hasLate: boolean
    readonly late: Json
    readonly waitKind: Wait['kind'] | null
    readonly since: Date
    readonly wakeAt: Date | null
  }

export function stepOf(row: StepRow, definition: StepDefinition): Step {
  return {
    id: row.id,
    kind: row.kind ?? 'phase',
    phaseId: row.phaseId,
    memberId: row.memberId,
    originStepId: row.originStepId ?? null,
    originAttempt: row.originAttempt ?? null,
    removalNumber: row.removalNumber ?? null,
    definition,
    status: row.status,
    attempt: row.attempt,
    retryCount: row.retryCount,
    retryAfter: row.retryAfter,
    functionName: row.functionName,
    params: row.params,
    jobId: row.jobId,
    mayHaveEffect: row.mayHaveEffect,
    dispatchedAt: null,
    deadlineAt: row.deadlineAt,
    completedAt: row.completedAt,
    result: undefined,
    error: row.error,
    pollStartedAt: row.pollStartedAt,
    lastPolledAt: row.lastPolledAt,
    pollCount: row.pollCount,
    pollTimeoutAt: row.pollTimeoutAt,
    pollSaid: row.pollSaid,
    pollChanges: row.pollChanges,
    lateResult: row.hasLate ? row.late : undefined,
    correctsTime: row.correctsTime,
    correctsSentAt: row.correctsSentAt,
    wait: row.waitKind === null ? null : waitOf(row),
  }
}

/** The definition in the row; null for a phase step. */
export function definitionIn(row: StepRow): StepDefinition | null {
  if (row.stepIndex === undefined) return null
  const { stepName, runbookVersion, stepIndex, workerId, onFailure, timeoutSec } =
    row as StepDefinition
  const { pollIntervalSec, pollTimeoutSec, maxRetries, retryIntervalSec } = row as StepDefinition
  const { retryBackoff, retryMaxIntervalSec } = row as StepDefinition
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
  waitKind: kind,
  since,
  wakeAt,
  jobId,
}: Pick<StepRow, 'waitKind' | 'since' | 'wakeAt' | 'jobId'>): Wait {
  if (kind === 'slot') return { kind, since, wakeAt }
  if (kind === 'job') return { kind, since, wakeAt: wakeAt!, jobId: jobId! }
  return { kind: kind!, since, wakeAt: wakeAt! }
}

/** A phase step fully described by its definition, job and wait. */
export interface ShortStep {
  readonly id: number
  readonly memberId: number
  readonly phaseId: number
  readonly runbookVersion: number
  /** Its position in the phase's list of steps. */
  readonly place: number
  readonly wait: Wait | null
  /** The unsettled job, never polled; null for an untouched step. */
  readonly job: SentJob | null
}

interface SentJob extends Pick<Step, 'attempt' | 'retryCount' | 'mayHaveEffect'> {
  readonly jobId: string
  readonly deadlineAt: Date
}

export interface LoadedSteps {
  readonly rows: readonly StepRow[]
  readonly short: readonly ShortStep[]
}

const NEVER_POLLED = `
  s.retry_after is null and s.error_message is null and s.poll_count = 0 and s.poll_started_at is null
  and s.last_polled_at is null and s.poll_timeout_at is null and s.late_result_json is null
  and s.corrects_time is null`
const IS_SENT = "s.status = 'dispatched'"

// States of steps, as numbers.
const OTHER = 0
const FRESH = 1
const SENT = 2
/** Sent, and retried or polled before. */
const SENT_AND_MORE = 3
const STATE_OF = `
  case when s.status = 'pending' and s.attempt = 0 and s.retry_count = 0 and not s.may_have_effect and s.job_id is null
            and s.deadline_at is null and ${NEVER_POLLED} then ${FRESH}
       when ${IS_SENT} then case when ${NEVER_POLLED} then ${SENT} else ${SENT_AND_MORE} end
       else ${OTHER} end`

interface StepColumns {
  readonly ids: number[]
  readonly memberIds: number[]
  readonly phaseIds: number[]
  readonly versions: number[]
  readonly places: number[]
  readonly states: number[]
  // Only of dispatched steps, in the same order. A CHECK gives these a job id and a deadline.
  readonly jobIds: string | null
  readonly attempts: number[]
  readonly retryCounts: number[]
  readonly areTaken: number[]
  readonly deadlines: number[]
}

interface WaitColumns {
  readonly stepIds: number[]
  /** Positions in `WAIT_KINDS`, from 1. */
  readonly waitKinds: number[]
  readonly sinces: number[]
  /** Milliseconds; 0 for none. */
  readonly wakes: number[]
  readonly hasCompensation: boolean
}

export interface StepsToLoad {
  /** Steps to load whatever their status. */
  readonly stepIds?: readonly number[]
  /** Also passed steps, for decisions that repeat steps. */
  readonly all?: boolean
  /** Only each phase's first untouched step, for decisions that advance members and stop nobody. */
  readonly onlyNext?: boolean
}

/**
 * The steps of these batches' members that can still matter: phase steps that have not passed, and all rollback and removal steps.
 *
 * Most steps are untouched, and five numbers describe them; those with a result were just sent. A chunk's steps come as one array per
 * column. As rows of 22 columns they took a quarter of a result's time.
 */
export async function loadStepsOfMembers(
  db: Queryable,
  batchIds: readonly number[],
  memberIds: readonly number[],
  selection: StepsToLoad = {},
): Promise<LoadedSteps> {
  const members = idsParam(memberIds)
  const [columns, waits] = await Promise.all([
    loadStepColumns(db, members, selection.all ?? false),
    loadWaits(db, idsParam(batchIds), members),
  ])
  const { short, others } = splitShort(columns, waits, selection)
  const [rows, compensation] = await Promise.all([
    others.length > 0 ? loadPhaseSteps(db, members, idsParam(others)) : [],
    waits.hasCompensation ? loadCompensation(db, members) : [],
  ])
  return { rows: [...rows, ...compensation], short }
}

async function loadStepColumns(db: Queryable, members: string, all: boolean): Promise<StepColumns> {
  const [columns] = await db.query<StepColumns>(
    `select ${integerArray('s.id', 'ids')}, ${integerArray('s.batch_member_id', 'memberIds')},
            ${integerArray('s.phase_execution_id', 'phaseIds')}, ${integerArray('s.runbook_version', 'versions')},
            ${integerArray('s.step_index', 'places')},
            ${integerArray(STATE_OF, 'states')},
            string_agg(s.job_id, ',') filter (where ${IS_SENT}) as job_ids,
            ${integerArray('s.attempt', 'attempts', IS_SENT)}, ${integerArray('s.retry_count', 'retryCounts', IS_SENT)},
            ${integerArray('s.may_have_effect::int', 'areTaken', IS_SENT)},
            ${integerArray(epochMs('s.deadline_at'), 'deadlines', IS_SENT)}
       from step_executions s
      where s.kind = 'phase' and s.batch_member_id = any($1::bigint[])
        and ($2 or s.status not in ${PASSED_STEPS})`,
    [members, all],
  )
  return columns!
}

const WAIT_KINDS = ['slot', 'job', 'retry', 'poll'] as const

/** The members' waits, and whether they have any compensation (nearly always none). */
async function loadWaits(db: Queryable, batches: string, members: string): Promise<WaitColumns> {
  const [columns] = await db.query<WaitColumns>(
    `select ${integerArray('step_id', 'stepIds')}, ${integerArray(`array_position('{${WAIT_KINDS}}'::text[], kind)`, 'waitKinds')},
            ${integerArray(epochMs('since'), 'sinces')}, ${integerArray(`coalesce(${epochMs('wake_at')}, 0)`, 'wakes')},
            exists (select from step_executions
                     where kind in ${COMPENSATION} and batch_member_id = any($2::bigint[])) as has_compensation
       from waits where batch_id = any($1::bigint[]) and batch_member_id = any($2::bigint[])`,
    [batches, members],
  )
  return columns!
}

/** Steps that numbers describe, and the ids of the others, whose rows are loaded. */
function splitShort(
  columns: StepColumns,
  waits: WaitColumns,
  { stepIds = [], onlyNext = false }: StepsToLoad,
): { short: ShortStep[]; others: number[] } {
  const { ids, states } = columns
  const short: ShortStep[] = []
  const others = new Set(stepIds)
  const waitFor = waitsBy(waits)
  const isLater = onlyNext ? latersIn(columns) : () => false
  const jobAt = sentJobs(columns)
  let sent = 0
  for (let i = 0; i < ids.length; i += 1) {
    const id = ids[i]!
    const job = states[i] === SENT ? jobAt(sent) : null
    if (states[i] === SENT || states[i] === SENT_AND_MORE) sent += 1
    const wait = waitFor(id, job?.jobId)
    const isPlain = job
      ? wait?.kind === 'job'
      : states[i] === FRESH && (wait === null || wait.kind === 'slot')
    if (!isPlain) others.add(id)
    else if (wait !== null || others.has(id) || !isLater(i)) {
      short.push(placed(columns, i, wait, job))
      others.delete(id)
    }
  }
  return { short, others: [...others] }
}

/** Whether the i-th step is fresh and follows another fresh one of its member and phase. */
function latersIn({ memberIds, phaseIds, places, states }: StepColumns): (i: number) => boolean {
  const firsts = new Map<number, Map<number, number>>()
  for (let i = 0; i < states.length; i += 1) {
    if (states[i] !== FRESH) continue
    const phase = firsts.get(phaseIds[i]!) ?? new Map<number, number>()
    firsts.set(phaseIds[i]!, phase)
    const first = phase.get(memberIds[i]!) ?? Number.POSITIVE_INFINITY
    if (places[i]! < first) phase.set(memberIds[i]!, places[i]!)
  }
  return (i) => states[i] === FRESH && places[i]! > firsts.get(phaseIds[i]!)!.get(memberIds[i]!)!
}

function sentJobs(columns: StepColumns): (i: number) => SentJob {
  const { attempts, retryCounts, areTaken } = columns
  const jobIds = columns.jobIds?.split(',') ?? []
  const deadlineAt = timesIn(columns.deadlines)
  return (i) => ({
    jobId: jobIds[i]!,
    attempt: attempts[i]!,
    retryCount: retryCounts[i]!,
    mayHaveEffect: areTaken[i] === 1,
    deadlineAt: deadlineAt(i),
  })
}

function waitsBy(columns: WaitColumns): (stepId: number, jobId: string | undefined) => Wait | null {
  const { stepIds, waitKinds } = columns
  const places = new Map<number, number>()
  for (let i = 0; i < stepIds.length; i += 1) places.set(stepIds[i]!, i)
  const since = timesIn(columns.sinces)
  const wakeAt = timesIn(columns.wakes)
  return (stepId, jobId = '') => {
    const i = places.get(stepId)
    if (i === undefined) return null
    const wake = columns.wakes[i] === 0 ? null : wakeAt(i)
    return waitOf({
      waitKind: WAIT_KINDS[waitKinds[i]! - 1]!,
      since: since(i),
      wakeAt: wake,
      jobId,
    })
  }
}

/** Most times of a chunk come from one transaction and are equal: the last Date is reused. */
function timesIn(column: readonly number[]): (i: number) => Date {
  let last = new Date(Number.NaN)
  return (i) => {
    if (column[i] !== last.getTime()) last = new Date(column[i]!)
    return last
  }
}

const placed = (
  { ids, memberIds, phaseIds, versions, places }: StepColumns,
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

function loadPhaseSteps(db: Queryable, members: string, stepIds: string): Promise<StepRow[]> {
  return db.query<StepRow>(
    `select s.phase_execution_id as phase_id, s.batch_member_id as member_id, ${STATE}
       from step_executions s left join waits w on w.step_id = s.id
      where s.id = any($2::bigint[]) and s.kind = 'phase' and s.batch_member_id = any($1::bigint[])`,
    [members, stepIds],
  )
}

function loadCompensation(db: Queryable, members: string): Promise<StepRow[]> {
  return db.query<StepRow>(
    `select ${OWNERS}, ${STATE}, ${DEFINITION} from step_executions s left join waits w on w.step_id = s.id
      where s.kind in ${COMPENSATION} and s.batch_member_id = any($1::bigint[])`,
    [members],
  )
}

/** The begun steps of members in other batches, with the definitions in their rows. */
export async function loadStepsElsewhere(
  db: Queryable,
  memberIds: readonly number[],
): Promise<LedgerStep[]> {
  const rows = await db.query<
    StepRow & { readonly batchId: number; readonly phaseName: string | null }
  >(
    `select s.batch_id, p.phase_name, ${OWNERS}, ${STATE}, ${DEFINITION}
       from step_executions s left join waits w on w.step_id = s.id
       left join phase_executions p on p.id = s.phase_execution_id
      where ((s.kind = 'phase' and s.batch_member_id = any($1::bigint[]))
          or (s.kind in ${COMPENSATION} and s.batch_member_id = any($1::bigint[])))
      order by s.id`,
    [idsParam(memberIds)],
  )
  return rows.map((row) => ({
    step: stepOf(row, definitionIn(row)!),
    phaseName: row.phaseName,
    batchId: row.batchId,
  }))
}

/** Steps of the batch itself: init, the rollback and the undo of init. */
export async function loadStepsOfBatch(db: Queryable, batchId: number): Promise<StepRow[]> {
  return db.query<StepRow>(
    `select ${OWNERS}, ${STATE}, ${DEFINITION} from step_executions s left join waits w on w.step_id = s.id
      where s.kind = 'init' and s.batch_id = $1
     union all
     select ${OWNERS}, ${STATE}, ${DEFINITION} from step_executions o
       join step_executions s on s.kind in ('rollback', 'undo') and s.origin_step_id = o.id
       left join waits w on w.step_id = s.id
      where o.kind = 'init' and o.batch_id = $1
      order by id`,
    [batchId],
  )
}
