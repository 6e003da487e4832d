// Change windows of batches: which batches may have to wait, and what people were told. The windows themselves are in runbooks and settings.
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'

const WAITS_FOR_WINDOW = `w.kind = 'slot' and w.changes_tenant and b.window_closed_at is not null`
/** What the wait `w` of batch `b` waits for, as people see it, and until when. */
export const WAITS_FOR = `case when ${WAITS_FOR_WINDOW} then 'window' else w.kind end`
export const WAITS_UNTIL = `case when ${WAITS_FOR_WINDOW} then b.window_opens_at else w.wake_at end`

export interface VersionInUse {
  readonly runbookId: number
  readonly runbookName: string
  readonly runbookVersion: number
}

/** Versions that batches are on, ended ones too. The index gives one after the other: reading 10,000 batches every second took 50 ms. */
export function listVersionsInUse(db: Queryable): Promise<VersionInUse[]> {
  return db.query<VersionInUse>(
    `with recursive used as (
       select (select min(runbook_id) from batches) as id
       union all
       select (select min(runbook_id) from batches where runbook_id > used.id) from used where used.id is not null)
     select r.id as runbook_id, r.name as runbook_name, r.version as runbook_version from used join runbooks r on r.id = used.id`,
  )
}

/** Batches that are noted to be outside their window, together where they wait for the same. */
export interface NotedWindow {
  readonly runbookId: number
  readonly windowOpensAt: Date | null
  readonly windowOverrideUntil: Date | null
}

export function listNotedWindows(db: Queryable): Promise<NotedWindow[]> {
  return db.query<NotedWindow>(
    `select distinct runbook_id, window_opens_at, window_override_until
       from batches where window_closed_at is not null`,
  )
}

/** The batches of one of these, in the order of their ids. */
export async function listNotedBatches(
  db: Queryable,
  { runbookId, windowOpensAt, windowOverrideUntil }: NotedWindow,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `select id from batches
      where window_closed_at is not null and runbook_id = $1 and window_opens_at is not distinct from $2
        and window_override_until is not distinct from $3
      order by id`,
    [runbookId, windowOpensAt, windowOverrideUntil],
  )
  return rows.map(({ id }) => id)
}

/** Batches of these versions with steps that wait, or jobs that are out, and change a tenant; without those that are noted, or overridden. */
export async function listUnnotedBatches(
  db: Queryable,
  runbookIds: readonly number[],
  now: Date,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `select b.id from (select distinct batch_id from waits where kind in ('slot', 'job') and changes_tenant) as w
       join batches b on b.id = w.batch_id
      where b.runbook_id = any($1::bigint[]) and b.window_closed_at is null
        and (b.window_override_until is null or b.window_override_until <= $2)
      order by b.id`,
    [idsParam(runbookIds), now],
  )
  return rows.map(({ id }) => id)
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
