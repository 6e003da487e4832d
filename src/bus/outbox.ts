// Sending as part of a transaction: the message exists when the transaction commits and never existed when it rolls back.
// The outbox table is the queue of the postgres transport (sql/002_bus.sql), so nothing has to carry messages anywhere.
// Two statements per thousand messages: ids are remembered and repeated ones drop out; the rest is stored and consumers are told.
import { columns, idArray, time } from '../db/columns.ts'
import type { Tx } from '../db/db.ts'
import { writeMessage } from '../domain/messages.ts'
import { MatoolkitError } from '../errors.ts'
import {
  DUPLICATE_WINDOW_MS,
  MESSAGE_MAX_BYTES,
  type Send,
  type Subscription,
  TIME_TO_LIVE_MAX_MS,
  type Topic,
  workerJobs,
} from './bus.ts'

export const HINT_CHANNEL = 'matoolkit_messages'
const STATEMENT_MAX_ROWS = 1_000
const MESSAGE_ID = /^[\x21-\x7e]{1,128}$/
const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/

/** A row of `messages` about to be written; the names are the columns. */
export interface OutboxRow {
  readonly topic: Topic
  readonly subscription: string
  readonly message_id: string
  readonly message_type: string
  readonly worker_id: string | null
  readonly body: string
  readonly visible_at: Date
  readonly expires_at: Date
}

/** Stores the messages in the caller's transaction and returns how many were new. */
export async function enqueue(tx: Tx, messages: readonly Send[], now: Date): Promise<number> {
  return enqueueRows(
    tx,
    messages.map((message) => rowOf(message, now)),
    now,
  )
}

/**
 * For messages whose ids this very transaction makes new, as a job's is by the guarded move of its step: nobody can have sent them
 * before, so nothing is compared and nothing remembered. That was more than half of what sending a job cost.
 */
export async function enqueueNew(tx: Tx, messages: readonly Send[], now: Date): Promise<void> {
  const rows = messages.map((message) => rowOf(message, now))
  for (const part of partsOf(rows)) await store(tx, part, now)
}

export async function enqueueRows(tx: Tx, rows: readonly OutboxRow[], now: Date): Promise<number> {
  // Sorted, so that two transactions which send the same ids wait for each other in one order and cannot deadlock.
  const sorted = rows.toSorted(byTopicAndId)
  const distinct = sorted.filter((row, i) => i === 0 || byTopicAndId(sorted[i - 1]!, row) !== 0)
  let stored = 0
  for (const part of partsOf(distinct)) {
    const fresh = await remember(tx, part, now)
    if (fresh.length > 0) await store(tx, fresh, now)
    stored += fresh.length
  }
  return stored
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byTopicAndId = (a: OutboxRow, b: OutboxRow): number =>
  compare(a.topic, b.topic) || compare(a.message_id, b.message_id)

function* partsOf(rows: readonly OutboxRow[]): Iterable<readonly OutboxRow[]> {
  for (let start = 0; start < rows.length; start += STATEMENT_MAX_ROWS)
    yield rows.slice(start, start + STATEMENT_MAX_ROWS)
}

// A remembered id that is older than the window counts as new again, whether or not the sweep has come by (sql/012). The ids come
// back only when some were known: nearly always none is.
const REMEMBER =
  'select remember_message_ids($1::text[], $2::text[], $3::timestamptz, $4::timestamptz) as keys'

/** Notes the ids and returns the rows whose id is new. */
async function remember(
  tx: Tx,
  rows: readonly OutboxRow[],
  now: Date,
): Promise<readonly OutboxRow[]> {
  const ids = columns(
    rows,
    (row) => row.topic,
    (row) => row.message_id,
  )
  const forgotten = new Date(now.getTime() - DUPLICATE_WINDOW_MS)
  const [fresh] = await tx.query<{ keys: string[] | null }>(REMEMBER, [...ids, now, forgotten])
  if (fresh!.keys === null) return rows
  const keys = new Set(fresh!.keys)
  return rows.filter(({ topic, message_id }) => keys.has(`${topic}/${message_id}`))
}

// Messages of one chunk differ in id and body and share the rest, so the rest travels once, as a few envelopes.
const STORE = `
  with stored as (
    insert into messages (topic, subscription, message_id, message_type, worker_id, body, enqueued_at, visible_at, expires_at)
    select ($6::text[])[e], ($7::text[])[e], message_id, ($8::text[])[e], ($9::text[])[e], coalesce(body, ''), $1,
           greatest(($10::timestamptz[])[e], $1), ($11::timestamptz[])[e]
      from unnest($2::text[], string_to_array($3, $4), $5::int[]) as m (message_id, body, e))
  select count(pg_notify($12, address)) as hints from unnest($13::text[]) as address`

async function store(tx: Tx, rows: readonly OutboxRow[], now: Date): Promise<void> {
  const { distinct, numbers } = envelopesOf(rows)
  // Messages for later give no hint: nobody could take them yet.
  const visible = distinct.filter(({ visible_at }) => visible_at <= now)
  const bodies = rows.map(({ body }) => body)
  const separator = separatorOf(bodies)
  await tx.query(STORE, [
    now,
    columns(rows, (row) => row.message_id)[0],
    bodies.join(separator),
    separator,
    idArray(numbers),
    ...columns(
      distinct,
      (row) => row.topic,
      (row) => row.subscription,
      (row) => row.message_type,
      (row) => row.worker_id,
      (row) => time(row.visible_at),
      (row) => time(row.expires_at),
    ),
    HINT_CHANNEL,
    [...new Set(visible.map(({ topic, subscription }) => `${topic}/${subscription}`))],
  ])
}

/** A row of each kind, and which of them each row is like, counted from 1. There are hardly ever more than a few. */
function envelopesOf(rows: readonly OutboxRow[]): { distinct: OutboxRow[]; numbers: number[] } {
  const distinct: OutboxRow[] = []
  const numbers = rows.map((row) => {
    const known = distinct.findIndex((other) => hasSameEnvelope(row, other))
    return known >= 0 ? known + 1 : distinct.push(row)
  })
  return { distinct, numbers }
}

const hasSameEnvelope = (a: OutboxRow, b: OutboxRow): boolean =>
  a.topic === b.topic &&
  a.subscription === b.subscription &&
  a.message_type === b.message_type &&
  a.worker_id === b.worker_id &&
  +a.visible_at === +b.visible_at &&
  +a.expires_at === +b.expires_at

/** Makes who listens to the subscription look, once the transaction commits, though no message comes. Hints may be lost. */
export async function hint(tx: Tx, { topic, name }: Subscription): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [HINT_CHANNEL, `${topic}/${name}`])
}

/** Something that is in none of the bodies. Ours are JSON on one line; one that is sent anew from the dead letters may be anything. */
function separatorOf(bodies: readonly string[]): string {
  let separator = '\n'
  while (bodies.some((body) => body.includes(separator))) separator += '\u001f'
  return separator
}

function rowOf(message: Send, now: Date): OutboxRow {
  const { topic, messageId, type, workerId = null } = message
  if (!MESSAGE_ID.test(messageId)) throw new MatoolkitError('MESSAGE_ID_INVALID', { messageId })
  if (workerId === null ? topic === 'worker-jobs' : !WORKER_ID.test(workerId)) {
    throw new MatoolkitError('MESSAGE_UNROUTABLE', { messageId, workerId: workerId ?? '' })
  }
  const written = writeMessage(type, message.body)
  if (!written.ok) {
    throw new MatoolkitError('MESSAGE_BODY_INVALID', { messageId, reason: written.reason })
  }
  requireSize(messageId, written.text, type, workerId)
  const visibleAt = message.visibleAt ?? now
  const latest = new Date(visibleAt.getTime() + TIME_TO_LIVE_MAX_MS)
  const { expiresAt = latest } = message
  return {
    topic,
    subscription: topic === 'worker-jobs' && workerId ? workerJobs(workerId).name : 'orchestrator',
    message_id: messageId,
    message_type: type,
    worker_id: workerId,
    body: written.text,
    visible_at: visibleAt,
    expires_at: expiresAt < latest ? expiresAt : latest,
  }
}

function requireSize(messageId: string, text: string, type: string, workerId: string | null): void {
  const properties = messageId.length + 'MessageType'.length + type.length
  const routing = workerId === null ? 0 : 'WorkerId'.length + workerId.length
  const bytes = Buffer.byteLength(text) + properties + routing
  if (bytes > MESSAGE_MAX_BYTES) {
    throw new MatoolkitError('MESSAGE_TOO_LARGE', { messageId, bytes, limit: MESSAGE_MAX_BYTES })
  }
}

/**
 * Takes back the messages that no consumer holds and returns their ids: gone when the transaction commits. One whose lease
 * has lapsed is not among them: its consumer may be slow and not dead, and would then work on what was taken back.
 */
export async function withdraw(
  tx: Tx,
  topic: 'worker-jobs',
  messageIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.query<{ message_id: string }>(
    // "topic || ''" keeps the queue's index out: on a table that vacuum last saw empty the planner would walk all of the topic.
    // Jobs are the messages that have a worker, and the index on message ids knows them only.
    `delete from messages
     where message_id = any ($2) and worker_id is not null and topic || '' = $1 and lease_token is null
     returning message_id`,
    [topic, messageIds],
  )
  return rows.map((row) => row.message_id)
}
