// What retention reads and writes: ended batches, and the records of erasing and purging. Rows go
// only through functions of the tables' owner (sql/004_history.sql), which refuse everything that is not recorded.
import { idsParam } from '../connection/arrays.ts'
import type { Db, Queryable, Tx } from '../connection/db.ts'
import { CHAIN_LOCK, sealRows } from './audit-sealing.ts'

export interface EndedBatch {
  readonly batchId: number
  readonly runbookName: string
  readonly status: string
  readonly endedAt: Date
  readonly members: number
  readonly steps: number
  /** A job of a cancelled step is still out, or something waits. */
  readonly isWaiting: boolean
  readonly erasedAt: Date | null
  /** The evidence pack that was written before its purge. */
  readonly packFile: string | null
  readonly isPurgeBegun: boolean
}

export interface EndedFilter {
  readonly endedBefore: Date
  /** All when null. */
  readonly batchIds: readonly number[] | null
  readonly afterId: number
  readonly limit: number
}

/** Batches that ended before the time and are not purged in full, by id. */
export function listEndedBatches(db: Queryable, filter: EndedFilter): Promise<EndedBatch[]> {
  return db.query<EndedBatch>(
    `select b.id as batch_id, b.runbook_name, b.status, b.ended_at,
            b.members_active + b.members_failed + b.members_removed as members,
            (select coalesce(sum(steps_pending + steps_dispatched + steps_polling + steps_succeeded + steps_failed + steps_poll_timeout
                                 + steps_rolled_back + steps_undone + steps_cancelled + steps_skipped), 0)::int
               from phase_executions p where p.batch_id = b.id) as steps,
            exists (select from waits w where w.batch_id = b.id) as is_waiting, b.erased_at,
            b.pack_file, b.purged_at is not null as is_purge_begun
       from batches b
      where b.ended_at < $1 and b.rows_purged_at is null and ($2::bigint[] is null or b.id = any($2::bigint[])) and b.id > $3
      order by b.id limit $4`,
    [
      filter.endedBefore,
      filter.batchIds && idsParam(filter.batchIds),
      filter.afterId,
      filter.limit,
    ],
  )
}

export interface RetainedState {
  readonly fingerprint: string
  readonly lastEventId: number
  readonly endedAt: Date | null
  readonly isWaiting: boolean
}

/** Changes whenever the batch does: every decision writes an event. What retention itself writes does not count. */
export async function readFingerprint(db: Queryable, batchId: number): Promise<RetainedState> {
  const [row] = await db.query<RetainedState>(
    `select concat_ws(' ', b.status, extract(epoch from b.ended_at), extract(epoch from b.erased_at), coalesce(e.id, 0),
                      (select count(*) from step_executions where batch_id = b.id),
                      (select count(*) from batch_members where batch_id = b.id)) as fingerprint,
            coalesce(e.id, 0)::bigint as last_event_id, b.ended_at,
            exists (select from waits w where w.batch_id = b.id) as is_waiting
       from batches b
       left join lateral (select id from events where batch_id = b.id and event not in ('erased', 'purged')
                           order by id desc limit 1) as e on true
      where b.id = $1`,
    [batchId],
  )
  return row!
}

/** From now on nothing can be done with the batch. */
export async function markErased(tx: Tx, batchId: number, now: Date): Promise<void> {
  await tx.query('update batches set erased_at = coalesce(erased_at, $2) where id = $1', [
    batchId,
    now,
  ])
}

export interface WrittenPack {
  readonly packFile: string
  readonly lastEventId: number
}

/** The caller has written the audit row `batch.purge`; it is sealed here, because only a sealed one allows to delete. */
export async function beginPurge(
  tx: Tx,
  batchId: number,
  { packFile, lastEventId }: WrittenPack,
  now: Date,
): Promise<void> {
  await markErased(tx, batchId, now)
  await tx.query(
    'update batches set purged_at = $2, pack_file = $3, pack_event_id = $4 where id = $1',
    [batchId, now, packFile, lastEventId],
  )
  await tx.query('select pg_advisory_xact_lock($1)', [CHAIN_LOCK])
  while ((await sealRows(tx)).count > 0);
}

const MEMBERS_PER_ERASURE = 500
const ROWS_PER_PURGE = 2_000

/** Erases the members of a batch that is marked, in transactions of some hundred; returns how many there were. */
export async function eraseMarked(db: Db, batchId: number): Promise<number> {
  let members = 0
  for (;;) {
    const [row] = await db.query<{ count: number }>('select erase_members($1, $2) as count', [
      batchId,
      MEMBERS_PER_ERASURE,
    ])
    members += row!.count
    if (row!.count < MEMBERS_PER_ERASURE) break
  }
  await db.query('select erase_batch($1)', [batchId])
  return members
}

const DAY_MS = 86_400_000

/** Deletes the rows of a batch whose purge has begun, in transactions of some thousand; returns how many. */
export async function purgeBegun(db: Db, batchId: number, now: Date): Promise<number> {
  const dayAgo = new Date(+now - DAY_MS)
  for (let rows = 0; ; ) {
    const [gone] = await db.query<{ count: number }>('select purge_rows($1, $2, $3) as count', [
      batchId,
      ROWS_PER_PURGE,
      dayAgo,
    ])
    rows += gone!.count
    if (gone!.count > 0) continue
    await db.query('update batches set rows_purged_at = $2 where id = $1', [batchId, now])
    return rows
  }
}

/** Takes or renews a lease by its name; false when another process has it. */
export async function takeNamedLease(
  db: Queryable,
  name: string,
  token: string,
  until: Date,
  now: Date,
): Promise<boolean> {
  const rows = await db.query(
    `insert into settings as s (key, value, updated_at, updated_by) values ($1, jsonb_build_object('token', $2::text, 'until', $3::timestamptz), $4, 'system')
     on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at
      where (s.value ->> 'until')::timestamptz <= $4 or s.value ->> 'token' = $2
     returning key`,
    [name, token, until, now],
  )
  return rows.length > 0
}
