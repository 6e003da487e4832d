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

const MISS = `m.phase_id, m.batch_id, b.runbook_name, p.phase_name,
  m.deadline, m.deadline_of, m.by_sec, m.because, m.since`
const MISSES =
  'forecast_misses m join batches b on b.id = m.batch_id join phase_executions p on p.id = m.phase_id'

/** Oldest first. */
export const listMisses = (
  db: Queryable,
  limit: number,
  batchId: number | null = null,
): Promise<StoredMiss[]> =>
  db.query<StoredMiss>(
    `select ${MISS} from ${MISSES} where $2::bigint is null or m.batch_id = $2 order by m.since, m.phase_id limit $1`,
    [limit, batchId],
  )

/** By phase. */
export async function loadMisses(
  db: Queryable,
  batchIds: readonly number[],
): Promise<ReadonlyMap<number, StoredMiss>> {
  const rows = await db.query<StoredMiss>(
    `select ${MISS} from ${MISSES} where m.batch_id = any($1::bigint[])`,
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
      where b.id in (select batch_id from forecast_misses)
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
  batchId: number,
  miss: Pick<StoredMiss, 'phaseId' | 'deadline' | 'deadlineOf' | 'bySec' | 'because'>,
  now: Date,
): Promise<boolean> {
  const added = await tx.change(
    `insert into forecast_misses (phase_id, batch_id, deadline, deadline_of, by_sec, because, since)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    [miss.phaseId, batchId, miss.deadline, miss.deadlineOf, miss.bySec, miss.because, now],
  )
  return added > 0
}

/** The batch is locked exclusively. False when it is gone, or another deadline is told. */
export async function deleteMiss(tx: Tx, { phaseId, deadline }: KnownMiss): Promise<boolean> {
  const gone = await tx.change(
    'delete from forecast_misses where phase_id = $1 and deadline = $2',
    [phaseId, deadline],
  )
  return gone > 0
}
