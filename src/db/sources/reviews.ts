// Source changes that wait for a person, as the last good tick left them.
import { chunksOf } from '../../base/run/chunks.ts'
import type { Json } from '../../base/text/json.ts'
import type { FoundRow, RowTexts } from '../../domain/sources/compare.ts'
import type {
  NewReview,
  Review,
  ReviewCause,
  ReviewChanges,
  ReviewKind,
} from '../../domain/sources/reviews.ts'
import { arrayParams, idsParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'

const ROWS_PER_STATEMENT = 5_000

interface StoredReview extends Omit<Review, 'toMs'> {
  readonly toTime: Date | null
}

/** All reviews of a runbook, including dismissed ones, for the next tick to compare. */
export async function loadReviews(db: Queryable, runbookName: string): Promise<Review[]> {
  const rows = await db.query<StoredReview>(
    `select h.id, h.kind, h.cause, h.batch_id, h.batch_member_id as member_id, h.member_key as key,
            h.key_folded as folded, h.to_time, h.reason, h.dismissed_at is not null as is_dismissed,
            coalesce(m.status = 'removed' or b.ended_at is not null, false) as is_over, h.data_hash as hash
       from reviews h left join batch_members m on m.id = h.batch_member_id left join batches b on b.id = m.batch_id
      where h.runbook_name = lower($1) order by h.id`,
    [runbookName],
  )
  return rows.map(({ toTime, ...row }) => ({ ...row, toMs: toTime === null ? null : +toTime }))
}

/** Writes the differences. Members removed meanwhile get no review. */
export async function writeReviews<Row extends FoundRow>(
  tx: Tx,
  runbookName: string,
  changes: ReviewChanges<Row>,
  { dataOf, bytesOf }: RowTexts<Row>,
  now: Date,
): Promise<void> {
  if (changes.drop.length + changes.change.length > 0)
    await lockInOrder(tx, [...changes.drop, ...changes.change.map(({ id }) => id)])
  if (changes.drop.length > 0) await deleteReviews(tx, changes.drop)
  const bytes = ({ row }: NewReview<Row>) => (row === null ? 0 : bytesOf(row))
  for (const some of chunksOf(changes.add, ROWS_PER_STATEMENT, bytes))
    await insertReviews(tx, runbookName, some, dataOf, now)
  for (const some of chunksOf(changes.change, ROWS_PER_STATEMENT, ({ to }) => bytes(to)))
    await updateReviews(tx, some, dataOf)
}

const dataText =
  <Row extends FoundRow>(dataOf: (row: Row) => string) =>
  ({ row }: NewReview<Row>): string | null =>
    row === null ? null : dataOf(row)

async function insertReviews<Row extends FoundRow>(
  tx: Tx,
  runbookName: string,
  reviews: readonly NewReview<Row>[],
  dataOf: (row: Row) => string,
  now: Date,
): Promise<void> {
  await tx.query(
    `insert into reviews (runbook_name, kind, cause, batch_id, batch_member_id, member_key, key_folded, to_time, data_json,
                               data_hash, reason, since)
     select lower($1), h.kind, cause, batch, member, key, folded, to_time, data::jsonb, hash, reason, $2
       from unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::timestamptz[], $10::text[],
                   $11::text[], $12::text[]) with ordinality
            as h (kind, cause, batch, member, key, folded, to_time, data, hash, reason, n)
      where member is null or exists (select from batch_members m where m.id = member and m.status <> 'removed')
      order by n
     on conflict do nothing`,
    [
      runbookName,
      now,
      ...arrayParams(
        reviews,
        (one) => one.kind,
        (one) => one.cause,
        (one) => one.batchId,
        (one) => one.memberId,
        (one) => one.key,
        (one) => one.folded,
        (one) => (one.toMs === null ? null : new Date(one.toMs).toISOString()),
        dataText(dataOf),
        (one) => one.row?.hash ?? null,
        (one) => one.reason,
      ),
    ],
  )
}

async function updateReviews<Row extends FoundRow>(
  tx: Tx,
  changes: ReviewChanges<Row>['change'],
  dataOf: (row: Row) => string,
): Promise<void> {
  await tx.query(
    `update reviews h set cause = c.cause, batch_id = c.batch, reason = c.reason, data_json = c.data::jsonb, data_hash = c.hash
       from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
            as c (id, cause, batch, reason, data, hash)
      where h.id = c.id and h.dismissed_at is null`,
    arrayParams(
      changes,
      (one) => one.id,
      (one) => one.to.cause,
      (one) => one.to.batchId,
      (one) => one.to.reason,
      (one) => dataText(dataOf)(one.to),
      (one) => one.to.row?.hash ?? null,
    ),
  )
}

export interface ReviewRow {
  readonly id: number
  readonly runbookName: string
  readonly kind: ReviewKind
  readonly cause: ReviewCause
  readonly batchId: number | null
  readonly memberId: number | null
  readonly key: string
  /** When its batch starts. */
  readonly fromTime: Date | null
  readonly toTime: Date | null
  readonly reason: string
  /** The joiner's data; null for other kinds. */
  readonly data: Readonly<Record<string, Json>> | null
  readonly since: Date
  readonly dismissedAt: Date | null
  readonly dismissedBy: string | null
}

const ITEM = `
  id, runbook_name, kind, cause, batch_id, batch_member_id as member_id, member_key as key,
  (select batch_start_time from batches b where b.id = batch_id) as from_time, to_time, reason,
  data_json as data, since, dismissed_at, dismissed_by`

export interface ReviewFilter {
  readonly runbookName?: string
  readonly batchId?: number
  readonly kind?: ReviewKind
  /** Moves and latecomers to this time. */
  readonly toTime?: Date
  /** Includes dismissed ones. */
  readonly withDismissed?: boolean
  readonly after?: number
  readonly limit: number
}

export function listReviews(db: Queryable, filter: ReviewFilter): Promise<ReviewRow[]> {
  return db.query<ReviewRow>(
    `select ${ITEM} from reviews
      where ($1::text is null or runbook_name = lower($1)) and ($2::bigint is null or batch_id = $2)
        and ($3::text is null or kind = $3) and ($4 or dismissed_at is null) and id > $5
        and ($6::timestamptz is null or to_time = $6)
      order by id limit $7`,
    [
      filter.runbookName ?? null,
      filter.batchId ?? null,
      filter.kind ?? null,
      filter.withDismissed ?? false,
      filter.after ?? 0,
      filter.toTime ?? null,
      filter.limit,
    ],
  )
}

/** Open reviews by kind, of a runbook or a batch. */
export async function countReviews(
  db: Queryable,
  filter: Pick<ReviewFilter, 'runbookName' | 'batchId'>,
): Promise<Record<ReviewKind, number>> {
  const rows = await db.query<{ kind: ReviewKind; count: number }>(
    `select kind, count(*)::int as count from reviews
      where ($1::text is null or runbook_name = lower($1)) and ($2::bigint is null or batch_id = $2) and dismissed_at is null
      group by kind`,
    [filter.runbookName ?? null, filter.batchId ?? null],
  )
  return { removal: 0, move: 0, join: 0, ...Object.fromEntries(rows.map((r) => [r.kind, r.count])) }
}

/** Those that are still open. */
export function findReviews(db: Queryable, ids: readonly number[]): Promise<ReviewRow[]> {
  return db.query<ReviewRow>(
    `select ${ITEM} from reviews where id = any($1::bigint[]) and dismissed_at is null order by id`,
    [idsParam(ids)],
  )
}

/** In the order in which decisions lock them, so that a tick and a person who decides wait for each other instead of deadlocking. */
async function lockInOrder(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query(
    'select count(*) from (select from reviews where id = any($1::bigint[]) order by id for update) as r',
    [idsParam(ids)],
  )
}

/** Locks those that are still open until the transaction ends. */
export async function lockReviews(tx: Tx, ids: readonly number[]): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select id from reviews where id = any($1::bigint[]) and dismissed_at is null order by id for update`,
    [idsParam(ids)],
  )
  return rows.map(({ id }) => id)
}

/** Including dismissed ones. */
export async function deleteMoveReviewsTo(tx: Tx, batchId: number, time: Date): Promise<void> {
  await tx.query(`delete from reviews where kind = 'move' and batch_id = $1 and to_time = $2`, [
    batchId,
    time,
  ])
}

export async function deleteReviews(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query('delete from reviews where id = any($1::bigint[])', [idsParam(ids)])
}

export async function markDismissed(
  tx: Tx,
  ids: readonly number[],
  by: string,
  now: Date,
): Promise<void> {
  await tx.query(
    'update reviews set dismissed_at = $2, dismissed_by = $3 where id = any($1::bigint[])',
    [idsParam(ids), now, by],
  )
}

/** Whether an open review moves a member out of the batch or into it. */
export async function hasUndecidedMoves(tx: Tx, batchId: number): Promise<boolean> {
  const rows = await tx.query(
    `select from reviews h join batches b on b.id = $1 and h.runbook_name = b.runbook_name
      where h.kind = 'move' and h.dismissed_at is null
        and (h.batch_id = b.id or h.to_time = b.source_time
             or exists (select from batch_source_times a where a.batch_id = b.id and a.source_time = h.to_time))
      limit 1`,
    [batchId],
  )
  return rows.length > 0
}

/** A person wants these members in their batch: they do not count as leavers before the source has had their keys again. */
export async function keepInBatch(
  tx: Tx,
  batchId: number,
  memberIds: readonly number[],
  by: string,
  now: Date,
): Promise<void> {
  await tx.query(
    `insert into reviews (runbook_name, kind, cause, batch_id, batch_member_id, member_key, key_folded, reason, since,
                          dismissed_at, dismissed_by)
     select b.runbook_name, 'removal', 'removed', b.id, m.id, m.member_key, m.key_folded, $4 || ' added it again', $3, $3, $4
       from batch_members m join batches b on b.id = m.batch_id
      where m.id = any($1::bigint[]) and b.id = $2 and b.source_time is not null
     on conflict (batch_member_id, kind) where batch_member_id is not null
     do update set cause = excluded.cause, reason = excluded.reason, since = excluded.since,
                   dismissed_at = excluded.dismissed_at, dismissed_by = excluded.dismissed_by`,
    [idsParam(memberIds), batchId, now, by],
  )
}
