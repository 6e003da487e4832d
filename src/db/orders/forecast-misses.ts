// Phases that are forecast to miss their time, as people were told, and the batches to look at for it.
import type { KnownMiss } from '../../domain/forecast/miss.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'

export interface StoredMiss extends KnownMiss {
  readonly batchId: number
  readonly runbookName: string
  readonly phaseName: string
  /** What begins at the deadline. */
  readonly deadlineOf: string
  readonly bySec: number
  readonly because: string
}

const MISS = `p.id as phase_id, p.batch_id, b.runbook_name, p.phase_name, (p.forecast_miss->>'deadline')::timestamptz as deadline,
  p.forecast_miss->>'deadlineOf' as deadline_of, (p.forecast_miss->>'bySec')::int as by_sec, p.forecast_miss->>'because' as because,
  (p.forecast_miss->>'since')::timestamptz as since`
const MISSES = `phase_executions p join batches b on b.id = p.batch_id where p.forecast_miss is not null`

/** Oldest first. */
export const listMisses = (
  db: Queryable,
  limit: number,
  batchId: number | null = null,
): Promise<StoredMiss[]> =>
  db.query<StoredMiss>(
    `select ${MISS} from ${MISSES} and ($2::bigint is null or p.batch_id = $2) order by since, phase_id limit $1`,
    [limit, batchId],
  )

/** By phase. */
export async function loadMisses(
  db: Queryable,
  batchIds: readonly number[],
): Promise<ReadonlyMap<number, StoredMiss>> {
  const rows = await db.query<StoredMiss>(
    `select ${MISS} from ${MISSES} and p.batch_id = any($1::bigint[])`,
    [idsParam(batchIds)],
  )
  return new Map(rows.map((row) => [row.phaseId, row]))
}

/**
 * Batches that may miss a time, in the order of their start: a phase of theirs runs or is due until then, and T-0 or another phase comes
 * after it; and those whose miss is told. Manual batches have no times.
 */
export async function listBatchesToForecast(
  db: Queryable,
  dueUntil: Date,
  limit: number,
): Promise<number[]> {
  const phase = 'exists (select from phase_executions p where p.batch_id = b.id and '
  const rows = await db.query<{ id: number }>(
    `select b.id from batches b
      where b.id in (select batch_id from phase_executions where forecast_miss is not null)
         or (b.status = 'active' and not b.is_manual
             and ${phase} (p.status = 'dispatched' or (p.status = 'pending' and p.due_at <= $1)))
             and ${phase} (p.status = 'pending' or (p.status = 'dispatched' and p.offset_minutes > 0))))
      order by b.batch_start_time, b.id limit $2`,
    [dueUntil, limit],
  )
  return rows.map(({ id }) => id)
}

/** The batch is locked exclusively. False when it is there. */
export async function insertMiss(
  tx: Tx,
  {
    phaseId,
    ...miss
  }: Pick<StoredMiss, 'phaseId' | 'deadline' | 'deadlineOf' | 'bySec' | 'because'>,
  since: Date,
): Promise<boolean> {
  const added = await tx.change(
    'update phase_executions set forecast_miss = $2::jsonb where id = $1 and forecast_miss is null',
    [phaseId, JSON.stringify({ ...miss, since })],
  )
  return added > 0
}

/** The batch is locked exclusively. False when it is gone, or another deadline is told. */
export async function deleteMiss(tx: Tx, { phaseId, deadline }: KnownMiss): Promise<boolean> {
  const gone = await tx.change(
    `update phase_executions set forecast_miss = null
      where id = $1 and (forecast_miss->>'deadline')::timestamptz = $2`,
    [phaseId, deadline],
  )
  return gone > 0
}
