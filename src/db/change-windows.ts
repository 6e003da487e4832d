// Change windows of batches: which batches may have to wait, and what people were told. The windows themselves are in runbooks and settings.
import { idsParam } from './arrays.ts'
import type { Queryable, Tx } from './db.ts'
import { UNFINISHED_BATCHES } from './status-lists.ts'

const WAITS_FOR_WINDOW = `w.kind = 'slot' and w.changes_tenant and b.window_closed_at is not null`
/** What the wait `w` of batch `b` waits for, as people see it, and until when. */
export const WAITS_FOR = `case when ${WAITS_FOR_WINDOW} then 'window' else w.kind end`
export const WAITS_UNTIL = `case when ${WAITS_FOR_WINDOW} then b.window_opens_at else w.wake_at end`

export interface BatchWindow {
  readonly id: number
  readonly runbookName: string
  readonly runbookVersion: number
  readonly windowClosedAt: Date | null
  readonly windowOpensAt: Date | null
  readonly windowOverrideUntil: Date | null
}

/** Unfinished batches, and ended ones with compensation to run. */
export function listBatchWindows(db: Queryable): Promise<BatchWindow[]> {
  return db.query<BatchWindow>(
    `select id, runbook_name as "runbookName", runbook_version as "runbookVersion", window_closed_at as "windowClosedAt",
            window_opens_at as "windowOpensAt", window_override_until as "windowOverrideUntil"
       from batches
      where status in ${UNFINISHED_BATCHES} or rollback_open > 0 or removal_open > 0 or window_closed_at is not null
      order by id`,
  )
}

/** Steps that wait for a slot, or whose jobs are out, and may change a tenant; by batch, without those that have none. */
export async function countChangesWaiting(
  db: Queryable,
  batchIds: readonly number[],
): Promise<ReadonlyMap<number, { readonly steps: number; readonly jobs: number }>> {
  const rows = await db.query<{ id: number; steps: number; jobs: number }>(
    `select batch_id as id, count(*) filter (where kind = 'slot')::int as steps, count(*) filter (where kind = 'job')::int as jobs
       from waits where batch_id = any($1::bigint[]) and kind in ('slot', 'job') and changes_tenant group by 1`,
    [idsParam(batchIds)],
  )
  return new Map(rows.map(({ id, ...counts }) => [id, counts]))
}

/** The batch is locked exclusively. Null ends what was noted. */
export async function writeWindowClosed(
  tx: Tx,
  batchId: number,
  closed: { readonly at: Date; readonly opensAt: Date | null } | null,
): Promise<void> {
  await tx.query('update batches set window_closed_at = $2, window_opens_at = $3 where id = $1', [
    batchId,
    closed?.at ?? null,
    closed?.opensAt ?? null,
  ])
}

interface WindowOverride {
  readonly until: Date
  readonly by: string
  readonly reason: string
}

/** The batch is locked exclusively. */
export async function writeWindowOverride(
  tx: Tx,
  batchId: number,
  override: WindowOverride | null,
): Promise<void> {
  await tx.query(
    `update batches set window_override_until = $2, window_override_by = $3, window_override_reason = $4,
            window_closed_at = null, window_opens_at = null
      where id = $1`,
    [batchId, override?.until ?? null, override?.by ?? null, override?.reason ?? null],
  )
}
