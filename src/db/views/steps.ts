// Steps of a batch for lists, with their phase, member and wait. A batch of 100,000 members has a million steps, so filters use an
// index where one exists: sent steps by waits, failed steps by their error, a member's steps by the member.

import type { Json } from '../../base/text/json.ts'
import type { StepKind } from '../../domain/state/facts.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import {
  FAILED_STEP_STATUSES,
  SENT_STEP_STATUSES,
  type StepStatus,
} from '../../domain/state/transitions.ts'
import { idsParam } from '../connection/arrays.ts'
import { Conditions, contains, LOWER_ERROR } from '../connection/conditions.ts'
import type { Queryable } from '../connection/db.ts'
import { COMPENSATION } from '../connection/status-lists.ts'
import { WAITS_FOR, WAITS_UNTIL } from '../orders/change-windows.ts'

export interface StepLine {
  readonly id: number
  readonly kind: StepKind
  readonly phaseExecutionId: number | null
  readonly phaseName: string | null
  readonly batchMemberId: number | null
  readonly memberKey: string | null
  readonly originStepId: number | null
  readonly runbookVersion: number
  readonly stepName: string
  readonly stepIndex: number
  readonly workerId: string
  readonly functionName: string | null
  readonly status: StepStatus
  readonly attempt: number
  readonly retryCount: number
  readonly maxRetries: number
  readonly retryAfter: Date | null
  readonly jobId: string | null
  readonly isPollStep: boolean
  readonly pollCount: number
  readonly lastPolledAt: Date | null
  /** What the last poll said: its reason, or the fields of its answer. */
  readonly pollSaid: string | null
  readonly dispatchedAt: Date | null
  readonly deadlineAt: Date | null
  readonly completedAt: Date | null
  readonly errorMessage: string | null
  readonly hasLateResult: boolean
  readonly waitsFor: 'slot' | 'window' | 'job' | 'retry' | 'poll' | null
  readonly wakeAt: Date | null
}

export interface StepFilter {
  readonly kind?: readonly string[] | undefined
  readonly status?: readonly string[] | undefined
  readonly phase?: string | undefined
  readonly step?: string | undefined
  readonly worker?: string | undefined
  readonly memberId?: number | undefined
  readonly memberKey?: string | undefined
  readonly error?: string | undefined
  readonly endedFrom?: Date | undefined
  readonly endedBefore?: Date | undefined
}

const SENT: readonly string[] = SENT_STEP_STATUSES
const FAILED: readonly string[] = FAILED_STEP_STATUSES

function conditionsOf(batchId: number, filter: StepFilter): Conditions {
  const where = new Conditions(batchId).and('s.batch_id = $1')
  const { kind, status, phase, step, worker, error, endedFrom, endedBefore } = filter
  if (kind !== undefined) where.and('s.kind = any(?::text[])', [...kind])
  if (status !== undefined) where.and('s.status = any(?::text[])', [...status])
  if (status?.every((one) => SENT.includes(one)))
    where.and(`s.id in (select step_id from waits where batch_id = $1 and kind in ('job', 'poll'))`)
  if (status?.every((one) => FAILED.includes(one))) where.and('s.error_message is not null')
  if (phase !== undefined) {
    const own =
      'select id from phase_executions where batch_id = $1 and lower(phase_name) = lower(?)'
    where.and(`s.phase_execution_id in (${own})`, phase)
  }
  if (step !== undefined) where.and('lower(s.step_name) = lower(?)', step)
  if (worker !== undefined) where.and('s.worker_id = ?', worker)
  if (error !== undefined) where.and(`${LOWER_ERROR} like ?`, contains(error.toLowerCase()))
  if (endedFrom !== undefined) where.and('s.completed_at >= ?', endedFrom)
  if (endedBefore !== undefined) where.and('s.completed_at < ?', endedBefore)
  addMember(where, filter)
  return where
}

/** Written to match the partial indexes of a member's steps, one per kind. */
function addMember(where: Conditions, { memberId, memberKey }: StepFilter): void {
  if (memberId === undefined && memberKey === undefined) return
  const own = 'select id from batch_members where batch_id = $1'
  const isTheirs = (member: string) =>
    `(s.kind = 'phase' and s.batch_member_id = (${member})) or (s.kind in ${COMPENSATION} and s.batch_member_id = (${member}))`
  if (memberId !== undefined) where.and(isTheirs(`${own} and id = ?`), memberId, memberId)
  if (memberKey !== undefined) {
    const folded = foldKey(memberKey)
    where.and(isTheirs(`${own} and key_folded = ?`), folded, folded)
  }
}

const LINE = `s.id, s.kind, s.phase_execution_id, p.phase_name,
  s.batch_member_id, m.member_key, s.origin_step_id,
  s.runbook_version, s.step_name, s.step_index, s.worker_id,
  s.function_name, s.status, s.attempt, s.retry_count, s.max_retries,
  s.retry_after, s.job_id, s.is_poll_step, s.poll_count,
  s.last_polled_at, s.poll_said,
  s.dispatched_at, s.deadline_at, s.completed_at,
  s.error_message, s.late_result_json is not null as has_late_result,
  ${WAITS_FOR} as waits_for, ${WAITS_UNTIL} as wake_at`

export const STEP_SORTS = ['id', 'id_latest'] as const
export type StepSort = (typeof STEP_SORTS)[number]

export function listSteps(
  db: Queryable,
  batchId: number,
  filter: StepFilter,
  sort: StepSort,
  after: number | null,
  limit: number,
): Promise<StepLine[]> {
  const where = conditionsOf(batchId, filter)
  if (after !== null) where.and(sort === 'id' ? 's.id > ?' : 's.id < ?', after)
  const order = sort === 'id' ? 's.id' : 's.id desc'
  return db.query<StepLine>(
    `select ${LINE}
       from (select * from step_executions s where ${where.text} order by ${order} limit ${where.add(limit)}) as s
       left join phase_executions p on p.id = s.phase_execution_id
       left join batch_members m on m.id = s.batch_member_id
       left join waits w on w.step_id = s.id left join batches b on b.id = w.batch_id
      order by ${order}`,
    where.values,
  )
}

export async function countSteps(
  db: Queryable,
  batchId: number,
  filter: StepFilter,
  most: number,
): Promise<number> {
  const where = conditionsOf(batchId, filter)
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from step_executions s where ${where.text} limit ${where.add(most)}) as counted`,
    where.values,
  )
  return row!.count
}

/** Init steps of the batch, newest version last. */
export function listInitSteps(db: Queryable, batchId: number, most: number): Promise<StepLine[]> {
  return db.query<StepLine>(
    `select ${LINE}
       from step_executions s
       left join phase_executions p on p.id = s.phase_execution_id
       left join batch_members m on m.id = s.batch_member_id
       left join waits w on w.step_id = s.id left join batches b on b.id = w.batch_id
      where s.batch_id = $1 and s.kind = 'init' order by s.runbook_version, s.step_index, s.id limit $2`,
    [batchId, most],
  )
}

export interface StepDetail extends StepLine {
  readonly batchId: number
  readonly params: Json
  readonly result: Json
  readonly lateResult: Json
  readonly pollTimeoutAt: Date | null
}

export async function findStep(db: Queryable, stepId: number): Promise<StepDetail | null> {
  const rows = await db.query<StepDetail>(
    `select ${LINE}, s.batch_id, s.params_json as params, s.result_json as result,
            s.late_result_json as late_result, s.poll_timeout_at
       from step_executions s
       left join phase_executions p on p.id = s.phase_execution_id
       left join batch_members m on m.id = s.batch_member_id
       left join waits w on w.step_id = s.id left join batches b on b.id = w.batch_id
      where s.id = $1`,
    [stepId],
  )
  return rows[0] ?? null
}

export interface AttemptLine {
  readonly stepId: number
  readonly jobId: string
  readonly attempt: number
  readonly poll: number
  readonly workerId: string
  readonly sentAt: Date
  readonly settledAt: Date
  readonly outcome: string
  readonly result: Json
  readonly error: string | null
  readonly durationMs: number | null
}

/** Settled jobs of these steps, newest first. */
export function listAttempts(
  db: Queryable,
  stepIds: readonly number[],
  most: number,
): Promise<AttemptLine[]> {
  return db.query<AttemptLine>(
    `select step_id, job_id, attempt, poll, worker_id, sent_at,
            settled_at, outcome, result_json as result, error_message as error, duration_ms
       from attempts where step_id = any($1::bigint[]) order by id desc limit $2`,
    [idsParam(stepIds), most],
  )
}

/** All steps of a member, of every kind, in id order. */
export function listStepsOfMember(
  db: Queryable,
  batchId: number,
  memberId: number,
  most: number,
): Promise<StepLine[]> {
  return listSteps(db, batchId, { memberId }, 'id', null, most)
}
