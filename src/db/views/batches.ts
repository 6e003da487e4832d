// Batches for lists and pages. Member counts come from the stored counters.

import type { Json } from '../../base/text/json.ts'
import type { Batch } from '../../domain/state/facts.ts'
import type { BatchStatus } from '../../domain/state/transitions.ts'
import { idsParam } from '../connection/arrays.ts'
import { Conditions } from '../connection/conditions.ts'
import type { Queryable } from '../connection/db.ts'
import { UNFINISHED_BATCHES } from '../connection/status-lists.ts'

export interface BatchLine
  extends Pick<
    Batch,
    | 'id'
    | 'membersActive'
    | 'membersFailed'
    | 'membersRemoved'
    | 'runbookName'
    | 'runbookVersion'
    | 'isManual'
    | 'currentPhase'
    | 'failedInInit'
    | 'initDispatchedAt'
    | 'activatedAt'
    | 'endedAt'
    | 'heldAt'
    | 'heldBy'
    | 'heldReason'
    | 'windowClosedAt'
    | 'windowOpensAt'
    | 'windowOverrideUntil'
    | 'windowOverrideBy'
    | 'windowOverrideReason'
  > {
  readonly runbookId: number
  readonly sourceTime: Date | null
  readonly batchStartTime: Date | null
  readonly status: BatchStatus
  readonly createdBy: string
  readonly detectedAt: Date
  /** Grows whenever a step enters or leaves a failed status. */
  readonly failureRevision: number
  /** Members with a hold of their own. */
  readonly heldMemberCount: number
}

export interface BatchFilter {
  readonly runbook?: string | undefined
  readonly status?: readonly string[] | undefined
  readonly isManual?: boolean | undefined
  readonly isHeld?: boolean | undefined
  readonly startsFrom?: Date | undefined
  readonly startsBefore?: Date | undefined
}

const LINE = `b.id, b.runbook_id, b.runbook_name, b.runbook_version,
  b.source_time, b.batch_start_time, b.failed_in_init,
  b.is_manual, b.created_by, b.current_phase, b.detected_at,
  b.init_dispatched_at, b.activated_at, b.ended_at,
  b.held_at, b.held_by, b.held_reason,
  b.window_closed_at, b.window_opens_at, b.window_override_until,
  b.window_override_by, b.window_override_reason,
  b.failure_revision,
  (select count(*)::int from holds h where h.scope = 'member' and h.batch_id = b.id) as held_member_count,
  b.status, b.members_active, b.members_failed, b.members_removed`

function conditionsOf(filter: BatchFilter): Conditions {
  const { runbook, status, isManual, isHeld, startsFrom, startsBefore } = filter
  const where = new Conditions()
  if (runbook !== undefined) where.and('b.runbook_name = lower(?)', runbook)
  if (status !== undefined) where.and('b.status = any(?::text[])', [...status])
  if (isManual !== undefined) where.and('b.is_manual = ?', isManual)
  if (isHeld !== undefined) where.and('(b.held_at is not null) = ?', isHeld)
  if (startsFrom !== undefined) where.and('b.batch_start_time >= ?', startsFrom)
  if (startsBefore !== undefined) where.and('b.batch_start_time < ?', startsBefore)
  return where
}

export const BATCH_SORTS = ['newest', 'oldest', 'start', 'start_latest'] as const
export type BatchSort = (typeof BATCH_SORTS)[number]

/** Batches without a start time come last in both directions. */
const ORDER: Readonly<Record<BatchSort, string>> = {
  newest: 'b.id desc',
  oldest: 'b.id',
  start: 'b.batch_start_time nulls last, b.id',
  start_latest: 'b.batch_start_time desc nulls last, b.id desc',
}

export interface After {
  readonly value: string | null
  readonly id: number
}

function addAfter(where: Conditions, sort: BatchSort, { value, id }: After): void {
  const follows = sort === 'newest' || sort === 'start_latest' ? '<' : '>'
  if (sort === 'newest' || sort === 'oldest') where.and(`b.id ${follows} ?`, id)
  else if (value === null) where.and(`b.batch_start_time is null and b.id ${follows} ?`, id)
  else {
    where.and(
      `b.batch_start_time is null or (b.batch_start_time, b.id) ${follows} (?::timestamptz, ?)`,
      value,
      id,
    )
  }
}

export function listBatches(
  db: Queryable,
  filter: BatchFilter,
  sort: BatchSort,
  after: After | null,
  limit: number,
): Promise<BatchLine[]> {
  const where = conditionsOf(filter)
  if (after) addAfter(where, sort, after)
  return db.query<BatchLine>(
    `select ${LINE} from batches b where ${where.text} order by ${ORDER[sort]} limit ${where.add(limit)}`,
    where.values,
  )
}

export async function countBatches(
  db: Queryable,
  filter: BatchFilter,
  most: number,
): Promise<number> {
  const where = conditionsOf(filter)
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from batches b where ${where.text} limit ${where.add(most)}) as counted`,
    where.values,
  )
  return row!.count
}

export async function findBatchLine(db: Queryable, batchId: number): Promise<BatchLine | null> {
  return (await findBatchLines(db, [batchId])).get(batchId) ?? null
}

/** Those that exist, by id. */
export async function findBatchLines(
  db: Queryable,
  batchIds: readonly number[],
): Promise<ReadonlyMap<number, BatchLine>> {
  const rows = await db.query<BatchLine>(
    `select ${LINE} from batches b where b.id = any($1::bigint[])`,
    [idsParam(batchIds)],
  )
  return new Map(rows.map((line) => [line.id, line]))
}

/** Batches that have not ended, those at work first, then by start; and those that ended since then, newest first. */
export async function listCurrentBatches(
  db: Queryable,
  endedSince: Date,
  limit: number,
): Promise<BatchLine[]> {
  return db.query<BatchLine>(
    `select ${LINE} from (
       (select b.* from batches b where b.status in ${UNFINISHED_BATCHES}
         order by (b.status = 'detected'), b.batch_start_time nulls last, b.id limit $2)
       union all
       (select b.* from batches b where b.ended_at >= $1 order by b.ended_at desc limit $2)) as b
      order by (b.ended_at is not null), (b.status = 'detected'), coalesce(b.ended_at, b.batch_start_time) nulls last, b.id limit $2`,
    [endedSince, limit],
  )
}

export async function findBatchOutputs(
  db: Queryable,
  batchId: number,
): Promise<Readonly<Record<string, Json>>> {
  const rows = await db.query<{ outputs: Readonly<Record<string, Json>> }>(
    'select outputs_json as outputs from batches where id = $1',
    [batchId],
  )
  return rows[0]?.outputs ?? {}
}
