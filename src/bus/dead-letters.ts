// Dead letters in the database: the postgres transport moves them there, the servicebus transport reads them in. A decided one keeps its row as a record of who decided and when; a second decision
// is refused, also when two people decide at the same moment.

import { MatoolkitError } from '../base/errors/errors.ts'
import { idsParam } from '../db/connection/arrays.ts'
import type { Db, Queryable, Tx } from '../db/connection/db.ts'
import {
  DELIVERED_TOO_OFTEN,
  type DeadJob,
  type DeadLetter,
  type DeadLetterPage,
  type DeadLetterSummary,
  type DeadLetters,
  type Subscription,
  TIME_TO_LIVE_MAX_MS,
  type TimeSource,
  type Topic,
  type TopicCount,
} from './bus.ts'
import { enqueueRows, type OutboxRow, propertiesOf } from './outbox.ts'

const PAGE_MAX = 500

interface SummaryRow {
  readonly id: number
  readonly topic: Topic
  readonly subscription: string
  readonly messageId: string
  readonly messageType: string
  readonly deliveryCount: number
  readonly enqueuedAt: Date
  readonly reason: string
  readonly description: string
  readonly deadLetteredAt: Date
}

interface WholeRow extends SummaryRow {
  readonly workerId: string | null
  readonly body: string
  readonly originalMessageId: string
  readonly replayedBy: string | null
  readonly discardedBy: string | null
}

export function storedDeadLetters(db: Db, clock: TimeSource): DeadLetters {
  return {
    list: (subscription, limit, after) => list(db, subscription, Math.min(limit, PAGE_MAX), after),
    show: async (id) => wholeOf(await find(db, id)),
    replay: (id, by) => db.transaction((tx) => replay(tx, id, by, clock.now())),
    discard: (id, by) => db.transaction((tx) => discard(tx, id, by, clock.now())),
    replayExhausted: (by, limit) =>
      db.transaction((tx) => replayExhausted(tx, by, limit, clock.now())),
    listWorkers: () => listWorkers(db),
    listUnnoticedJobs: (limit) => listUnnoticedJobs(db, limit),
    markNoticed: (ids, decidedBy, tx) => markNoticed(tx ?? db, ids, decidedBy, clock.now()),
  }
}

async function list(
  db: Db,
  { topic, name }: Subscription,
  limit: number,
  after = '0',
): Promise<DeadLetterPage> {
  // Without bodies: 500 large ones would be a hundred megabytes.
  const rows = await db.query<SummaryRow>(
    `select id, topic, subscription, message_id, message_type, delivery_count, enqueued_at,
            reason, description, dead_lettered_at
     from dead_letters
     where topic = $1 and subscription = $2 and id > $3
       and replayed_at is null and discarded_at is null
     order by id limit $4`,
    [topic, name, rowId(after), limit + 1],
  )
  const items = rows.slice(0, limit).map(summaryOf)
  return { items, next: rows.length > limit ? items.at(-1)!.id : null }
}

const WHOLE = `id, topic, subscription, message_id, message_type, delivery_count, enqueued_at, reason, description,
  dead_lettered_at, worker_id, body, original_message_id, replayed_by, discarded_by`

async function find(db: Db | Tx, id: string, lock: '' | 'for update' = ''): Promise<WholeRow> {
  const [row] = await db.query<WholeRow>(
    `select ${WHOLE} from dead_letters where id = $1 ${lock}`,
    [rowId(id)],
  )
  if (!row) throw new MatoolkitError('DEAD_LETTER_NOT_FOUND', { id })
  return row
}

async function findUndecided(tx: Tx, id: string): Promise<WholeRow> {
  const row = await find(tx, id, 'for update')
  const by = row.replayedBy ?? row.discardedBy
  if (by === null) return row
  const decision = row.replayedBy === null ? 'discarded' : 'replayed'
  throw new MatoolkitError('DEAD_LETTER_DECIDED', { id, decision, by })
}

async function replay(tx: Tx, id: string, by: string, now: Date): Promise<string> {
  const letter = await findUndecided(tx, id)
  const { topic, subscription, messageType, workerId, body, originalMessageId } = letter
  // One message can have several dead letters: its replay failed too, or it was sent again after ten minutes. Locking all of
  // them gives each replay its own number; a number used twice would be dropped as a duplicate.
  const same = await tx.query<{ replayedAs: string | null }>(
    `select replayed_as from dead_letters where topic = $1 and original_message_id = $2
     order by id for update`,
    [topic, originalMessageId],
  )
  const number = same.filter((row) => row.replayedAs !== null).length + 1
  const messageId = `${originalMessageId}-replay-${number}`
  await tx.query(
    `update dead_letters set replayed_at = $2, replayed_by = $3, replayed_as = $4 where id = $1`,
    [letter.id, now, by, messageId],
  )
  const expiresAt = new Date(now.getTime() + TIME_TO_LIVE_MAX_MS)
  const row = { topic, subscription, messageType, workerId, body, visibleAt: now, expiresAt }
  const stored = await enqueueRows(tx, [{ ...row, messageId }], now)
  if (stored !== 1)
    throw new MatoolkitError('DEAD_LETTER_DECIDED', { id, decision: 'replayed', by })
  return messageId
}

/** By the number of replays so far: a message that ends the process it comes to must not do so forever. */
const REPLAYED_AFTER_SEC = [60, 600, 3_600]

// Skips what a person decides on at this moment.
const EXHAUSTED = `
  select d.id, d.topic, d.subscription, d.message_type, d.worker_id, d.body, d.original_message_id as original, r.replays
    from dead_letters d
    cross join lateral (select count(*)::int as replays from dead_letters s
      where s.topic = d.topic and s.original_message_id = d.original_message_id and s.replayed_at is not null) r
   where d.topic in ('worker-results', 'orchestrator-events') and d.replayed_at is null and d.discarded_at is null and d.reason = $1
     and d.dead_lettered_at <= $2::timestamptz - make_interval(secs => ($3::int[])[r.replays + 1])
   order by d.id limit $4 for update of d skip locked`

interface ExhaustedRow extends Omit<OutboxRow, 'messageId' | 'visibleAt' | 'expiresAt'> {
  readonly id: number
  readonly original: string
  readonly replays: number
}

async function replayExhausted(
  tx: Tx,
  by: string,
  limit: number,
  now: Date,
): Promise<TopicCount[]> {
  const delays = idsParam(REPLAYED_AFTER_SEC)
  const found = await tx.query<ExhaustedRow>(EXHAUSTED, [DELIVERED_TOO_OFTEN, now, delays, limit])
  // One message can have several dead letters; their replays need numbers of their own, so the others wait for the next run.
  const letters = [...new Map(found.map((row) => [`${row.topic}/${row.original}`, row])).values()]
  if (letters.length === 0) return []
  const expiresAt = new Date(now.getTime() + TIME_TO_LIVE_MAX_MS)
  const rows = letters.map(({ id, original, replays, ...row }) => {
    return { ...row, messageId: `${original}-replay-${replays + 1}`, visibleAt: now, expiresAt }
  })
  await tx.query(
    `update dead_letters set replayed_at = $1, replayed_by = $2, replayed_as = ($4::text[])[array_position($3::bigint[], id)]
      where id = any ($3::bigint[])`,
    [now, by, idsParam(letters.map(({ id }) => id)), rows.map(({ messageId }) => messageId)],
  )
  await enqueueRows(tx, rows, now)
  const byTopic = Map.groupBy(rows, ({ topic }) => topic)
  return [...byTopic].map(([topic, { length: count }]) => ({ topic, count }))
}

async function discard(tx: Tx, id: string, by: string, now: Date): Promise<void> {
  const { id: row } = await findUndecided(tx, id)
  await tx.query('update dead_letters set discarded_at = $2, discarded_by = $3 where id = $1', [
    row,
    now,
    by,
  ])
}

/** Walks the index from worker to worker, so it costs the same however many letters each has. */
async function listWorkers(db: Queryable): Promise<string[]> {
  const isOpen = `topic = 'worker-jobs' and replayed_at is null and discarded_at is null`
  const rows = await db.query<{ id: string }>(
    `with recursive found (name) as (
       (select subscription from dead_letters where ${isOpen} order by subscription limit 1)
       union all
       select (select d.subscription from dead_letters d where ${isOpen} and d.subscription > f.name order by d.subscription limit 1)
         from found f where f.name is not null)
     select substr(name, length('worker-') + 1) as id from found where name is not null order by id`,
  )
  return rows.map(({ id }) => id)
}

async function listUnnoticedJobs(db: Queryable, limit: number): Promise<DeadJob[]> {
  const rows = await db.query<Omit<DeadJob, 'id'> & { id: number }>(
    `select id, original_message_id as job_id, worker_id, reason, description, delivery_count from dead_letters
      where topic = 'worker-jobs' and noticed_at is null order by id limit $1`,
    [limit],
  )
  return rows.map((row) => ({ ...row, id: String(row.id) }))
}

async function markNoticed(
  db: Queryable,
  ids: readonly string[],
  decidedBy: string | null,
  now: Date,
): Promise<void> {
  if (ids.length === 0) return
  await db.query(
    `update dead_letters set noticed_at = $2,
            discarded_at = case when $3::text is null or replayed_at is not null then discarded_at else coalesce(discarded_at, $2) end,
            discarded_by = case when $3::text is null or replayed_at is not null then discarded_by else coalesce(discarded_by, $3) end
      where id = any($1::bigint[]) and noticed_at is null`,
    [idsParam(ids.map(Number)), now, decidedBy],
  )
}

/** Ids come from people: a text that is no row number finds no row. */
const rowId = (id: string): string => (/^\d{1,18}$/.test(id) ? id : '0')

function summaryOf(row: SummaryRow): DeadLetterSummary {
  return {
    id: String(row.id),
    subscription: { topic: row.topic, name: row.subscription },
    messageId: row.messageId,
    type: row.messageType,
    deliveryCount: row.deliveryCount,
    enqueuedAt: row.enqueuedAt,
    reason: row.reason,
    description: row.description,
    deadLetteredAt: row.deadLetteredAt,
  }
}

function wholeOf(row: WholeRow): DeadLetter {
  return { ...summaryOf(row), properties: propertiesOf(row), body: row.body }
}

/** Dead letters that nobody has decided, by topic. A job's counts once the engine has seen it: it decides on most of them itself. */
export const countDeadLetters = (db: Queryable): Promise<TopicCount[]> =>
  db.query<TopicCount>(
    `select topic, count(*)::int as count from dead_letters
      where replayed_at is null and discarded_at is null and (topic <> 'worker-jobs' or noticed_at is not null)
      group by topic order by topic`,
  )
