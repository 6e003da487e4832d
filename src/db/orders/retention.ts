// What retention reads and writes: ended batches, their rows for the archive, and the records of erasing, archiving and purging. Rows go
// only through functions of the tables' owner (sql/004_history.sql), which refuse everything that is not recorded.
import type { Json } from '../../base/text/json.ts'
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
  readonly archivedAt: Date | null
  readonly fileName: string | null
  readonly digest: string | null
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
            a.archived_at, a.file_name, a.digest, a.purge_began_at is not null as is_purge_begun
       from batches b left join archives a on a.batch_id = b.id
      where b.ended_at < $1 and a.purged_at is null and ($2::bigint[] is null or b.id = any($2::bigint[])) and b.id > $3
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
       left join lateral (select id from events where batch_id = b.id and event not in ('archived', 'erased', 'purged')
                           order by id desc limit 1) as e on true
      where b.id = $1`,
    [batchId],
  )
  return row!
}

export interface ArchivedRow {
  readonly table: string
  readonly row: Json
}

const ROWS_PER_PAGE = 1_000

interface Page {
  readonly id: number
  readonly row: Json
}

const page = (tx: Tx, from: string, batchId: number, after: number): Promise<Page[]> =>
  tx.query<Page>(
    `select t.id, to_jsonb(t) as row from ${from} t where t.batch_id = $1 and t.id > $2 order by t.id limit ${ROWS_PER_PAGE}`,
    [batchId, after],
  )

async function* pagesOf(tx: Tx, table: string, batchId: number): AsyncGenerator<Page[]> {
  for (let after = 0; ; ) {
    const rows = await page(tx, table, batchId, after)
    if (rows.length > 0) yield rows
    if (rows.length < ROWS_PER_PAGE) return
    after = rows.at(-1)!.id
  }
}

/** One picture of the whole batch, however long the reading takes. */
export async function readOneSnapshot(tx: Tx): Promise<void> {
  await tx.query('set transaction isolation level repeatable read read only')
  await tx.query(`select set_config('timezone', 'UTC', true)`)
}

/** Every row of the batch, a page at a time: members with their addresses, steps with their attempts. */
export async function* readBatchRows(tx: Tx, batchId: number): AsyncGenerator<ArchivedRow[]> {
  const of = async (table: string, sql: string, values: readonly unknown[]) =>
    (await tx.query<{ row: Json }>(sql, [...values])).map(({ row }) => ({ table, row }))
  yield await of('batches', 'select to_jsonb(b) as row from batches b where id = $1', [batchId])
  yield await of(
    'runbooks',
    `select to_jsonb(r) as row from runbooks r join batches b on lower(r.name) = b.runbook_name
      where b.id = $1 and (r.version = b.runbook_version
             or exists (select from phase_executions p where p.batch_id = b.id and p.runbook_version = r.version)) order by r.id`,
    [batchId],
  )
  yield await of(
    'batch_source_times',
    'select to_jsonb(t) as row from batch_source_times t where batch_id = $1 order by source_time',
    [batchId],
  )
  for (const table of ['phase_executions', 'reviews', 'sent_messages', 'events'])
    for await (const rows of pagesOf(tx, table, batchId))
      yield rows.map(({ row }) => ({ table, row }))
  for (const [table, inner, sql] of WITH_INNER)
    for await (const rows of pagesOf(tx, table, batchId)) {
      yield rows.map(({ row }) => ({ table, row }))
      yield await of(inner, sql, [idsParam(rows.map(({ id }) => id))])
    }
}

const WITH_INNER = [
  [
    'batch_members',
    'member_addresses',
    'select to_jsonb(a) as row from member_addresses a where member_id = any($1::bigint[]) order by member_id, address',
  ],
  [
    'bulk_actions',
    'bulk_action_members',
    'select to_jsonb(m) as row from bulk_action_members m where action_id = any($1::bigint[]) order by action_id, member_id',
  ],
  [
    'step_executions',
    'attempts',
    'select to_jsonb(a) as row from attempts a where step_id = any($1::bigint[]) order by step_id, attempt, poll',
  ],
] as const

export interface ArchiveRecord {
  readonly batchId: number
  readonly fileName: string
  readonly digest: string
  readonly rowCounts: Readonly<Record<string, number>>
  readonly fingerprint: string
  readonly lastEventId: number
}

/** Replaces an earlier archive of the batch, unless its purge has begun. */
export async function insertArchive(tx: Tx, record: ArchiveRecord, now: Date): Promise<void> {
  await tx.query(
    `insert into archives as a (batch_id, file_name, digest, row_counts, fingerprint, last_event_id, archived_at)
     values ($1, $2, $3, $4::jsonb, $5, $6, $7)
     on conflict (batch_id) do update
       set file_name = excluded.file_name, digest = excluded.digest, row_counts = excluded.row_counts,
           fingerprint = excluded.fingerprint, last_event_id = excluded.last_event_id, archived_at = excluded.archived_at
      where a.purge_began_at is null`,
    [
      record.batchId,
      record.fileName,
      record.digest,
      JSON.stringify(record.rowCounts),
      record.fingerprint,
      record.lastEventId,
      now,
    ],
  )
}

export async function findFingerprintOfArchive(tx: Tx, batchId: number): Promise<string | null> {
  const [row] = await tx.query<{ fingerprint: string }>(
    'select fingerprint from archives where batch_id = $1',
    [batchId],
  )
  return row?.fingerprint ?? null
}

/** From now on nothing can be done with the batch. */
export async function markErased(tx: Tx, batchId: number, now: Date): Promise<void> {
  await tx.query('update batches set erased_at = coalesce(erased_at, $2) where id = $1', [
    batchId,
    now,
  ])
}

/** The caller has written the audit row `batch.purge`; it is sealed here, because only a sealed one allows to delete. */
export async function beginPurge(tx: Tx, batchId: number, now: Date): Promise<void> {
  await markErased(tx, batchId, now)
  await tx.query('update batches set purged_at = coalesce(purged_at, $2) where id = $1', [
    batchId,
    now,
  ])
  await tx.query('update archives set purge_began_at = $2 where batch_id = $1', [batchId, now])
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

/** Deletes the rows of a batch whose purge has begun, in transactions that count what they delete; returns the sum of all runs. */
export async function purgeBegun(db: Db, batchId: number, now: Date): Promise<number> {
  const dayAgo = new Date(+now - DAY_MS)
  for (let isLeft = true; isLeft; )
    isLeft = await db.transaction(async (tx) => {
      const [gone] = await tx.query<{ count: number }>('select purge_rows($1, $2, $3) as count', [
        batchId,
        ROWS_PER_PURGE,
        dayAgo,
      ])
      await tx.query(
        `update archives set purged_rows = purged_rows + $2, purged_at = case when $2 = 0 then $3::timestamptz end
          where batch_id = $1`,
        [batchId, gone!.count, now],
      )
      return gone!.count > 0
    })
  const [row] = await db.query<{ rows: number }>(
    'select purged_rows::int as rows from archives where batch_id = $1',
    [batchId],
  )
  return row!.rows
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
