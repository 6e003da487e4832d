// Sending as part of a transaction: a message exists when the transaction commits and never existed when it rolls back. Every
// transport takes its messages from this table. Two statements per thousand messages: the first drops repeated ids, the second
// stores the rest and hints the consumers.

import { MatoolkitError } from '../base/errors/errors.ts'
import type { JobKeys } from '../base/keys/job-keys.ts'
import { WORKER_ID } from '../base/text/worker-id.ts'
import { arrayParams, timeParam } from '../db/connection/arrays.ts'
import type { Tx } from '../db/connection/db.ts'
import { writeMessage } from '../domain/messages/messages.ts'
import { type Bundle, joinLines, packBundles } from './bundles.ts'
import {
  addressOf,
  DUPLICATE_WINDOW_MS,
  MESSAGE_MAX_BYTES,
  type OutgoingMessage,
  TIME_TO_LIVE_MAX_MS,
  type Topic,
  workerJobs,
} from './bus.ts'

export const HINT_CHANNEL = 'matoolkit_messages'
const STATEMENT_MAX_ROWS = 1_000
const MESSAGE_ID = /^[\x21-\x7e]{1,128}$/

/** A message to store; the names are those of the view `messages`. */
export interface OutboxRow {
  readonly topic: Topic
  readonly subscription: string
  readonly messageId: string
  readonly messageType: string
  readonly workerId: string | null
  readonly body: string
  readonly visibleAt: Date
  readonly expiresAt: Date
}

/** The properties of a message; one of a foreign sender may have no type. */
export function propertiesOf(row: {
  readonly messageType: string
  readonly workerId: string | null
}): Record<string, string> {
  return {
    ...(row.messageType !== '' && { MessageType: row.messageType }),
    ...(row.workerId !== null && { WorkerId: row.workerId }),
  }
}

/** Stores the messages as part of `tx` and returns how many were new. */
export async function enqueue(
  tx: Tx,
  messages: readonly OutgoingMessage[],
  now: Date,
): Promise<number> {
  return enqueueRows(
    tx,
    messages.map((message) => rowOf(message, now)),
    now,
  )
}

/**
 * For messages whose ids only this transaction can create, such as a job's: the guarded transition of its step succeeds once. So
 * duplicate detection is left out; it was more than half the cost of sending a job. Signed if there are keys.
 */
export async function enqueueNew(
  tx: Tx,
  messages: readonly OutgoingMessage[],
  now: Date,
  keys: JobKeys | null = null,
): Promise<void> {
  const rows = messages.map((message) => rowOf(message, now, keys))
  for (const chunk of chunksOf(rows)) await store(tx, chunk, now)
}

export async function enqueueRows(tx: Tx, rows: readonly OutboxRow[], now: Date): Promise<number> {
  // Sorted, so that two transactions that send the same ids lock them in the same order and cannot deadlock.
  const sorted = rows.toSorted(byTopicAndId)
  const distinct = sorted.filter((row, i) => i === 0 || byTopicAndId(sorted[i - 1]!, row) !== 0)
  let stored = 0
  for (const chunk of chunksOf(distinct)) {
    const fresh = await remember(tx, chunk, now)
    if (fresh.length > 0) await store(tx, fresh, now)
    stored += fresh.length
  }
  return stored
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byTopicAndId = (a: OutboxRow, b: OutboxRow): number =>
  compare(a.topic, b.topic) || compare(a.messageId, b.messageId)

function* chunksOf(rows: readonly OutboxRow[]): Iterable<readonly OutboxRow[]> {
  for (let start = 0; start < rows.length; start += STATEMENT_MAX_ROWS)
    yield rows.slice(start, start + STATEMENT_MAX_ROWS)
}

// An id older than the window counts as new, swept or not. The statement returns ids only when some were known, which is rare.
const REMEMBER =
  'select remember_message_ids($1::text[], $2::text[], $3::timestamptz, $4::timestamptz) as keys'

/** Records the ids and returns the rows whose id is new. */
async function remember(
  tx: Tx,
  rows: readonly OutboxRow[],
  now: Date,
): Promise<readonly OutboxRow[]> {
  const ids = arrayParams(rows, seenOn, (row) => row.messageId)
  const forgotten = new Date(now.getTime() - DUPLICATE_WINDOW_MS)
  const [fresh] = await tx.query<{ keys: string[] | null }>(REMEMBER, [...ids, now, forgotten])
  if (fresh!.keys === null) return rows
  const keys = new Set(fresh!.keys)
  return rows.filter((row) => keys.has(`${seenOn(row)}/${row.messageId}`))
}

/** A worker's ids are its own: another could otherwise send them first, and the real message would be dropped. */
const seenOn = ({ topic, workerId }: OutboxRow): string =>
  workerId === null ? topic : `${topic}/${workerId}`

const STORE = `
  with stored as (
    insert into bundles (topic, subscription, message_ids, message_type, worker_id, bodies, size, enqueued_at, visible_at, expires_at)
    select topic, subscription, message_ids, message_type, worker_id, coalesce(bodies, ''), size, $1, greatest(visible_at, $1), expires_at
      from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], string_to_array($7, $8), $9::int[],
                  $10::timestamptz[], $11::timestamptz[])
        as p (topic, subscription, message_ids, message_type, worker_id, bodies, size, visible_at, expires_at))
  select count(pg_notify($12, address)) as hints from unnest($13::text[]) as address`

async function store(tx: Tx, rows: readonly OutboxRow[], now: Date): Promise<void> {
  const bundles = packBundles(rows)
  const bodies = bundles.map((bundle) => joinLines(bundle.bodies))
  const separator = separatorOf(bodies)
  const [topics, subscriptions, ids, types, workers, sizes, visible, expires] = arrayParams(
    bundles,
    ({ envelope }) => envelope.topic,
    ({ envelope }) => envelope.subscription,
    (bundle) => joinLines(bundle.ids),
    ({ envelope }) => envelope.messageType,
    ({ envelope }) => envelope.workerId,
    (bundle) => bundle.ids.length,
    ({ envelope }) => timeParam(envelope.visibleAt),
    ({ envelope }) => timeParam(envelope.expiresAt),
  )
  await tx.query(STORE, [
    now,
    topics,
    subscriptions,
    ids,
    types,
    workers,
    bodies.join(separator),
    separator,
    sizes,
    visible,
    expires,
    HINT_CHANNEL,
    addressesToHint(bundles, now),
  ])
}

/** Scheduled messages give no hint: nobody can take them yet. */
function addressesToHint(bundles: readonly Bundle[], now: Date): string[] {
  const visible = bundles.filter(({ envelope }) => envelope.visibleAt <= now)
  const addresses = visible.map(({ envelope: { topic, subscription } }) =>
    addressOf({ topic, name: subscription }),
  )
  return [...new Set(addresses)]
}

/** A text that none of the bundles contains. Ours are lines of JSON; a replayed dead letter may hold anything. */
function separatorOf(bodies: readonly string[]): string {
  // The usual case: PostgreSQL then takes the text whole instead of searching it.
  if (bodies.length === 1) return ''
  let separator = '\u001e'
  while (bodies.some((body) => body.includes(separator))) separator += '\u001f'
  return separator
}

/** Refuses what no transport could deliver. */
export function rowOf(message: OutgoingMessage, now: Date, keys: JobKeys | null = null): OutboxRow {
  const { topic, messageId, type, workerId = null } = message
  requireId(messageId)
  if (workerId === null ? topic === 'worker-jobs' : !WORKER_ID.test(workerId)) {
    throw new MatoolkitError('MESSAGE_UNROUTABLE', { messageId, workerId: workerId ?? '' })
  }
  const written = writeMessage(type, message.body)
  if (!written.ok) {
    throw new MatoolkitError('MESSAGE_BODY_INVALID', { messageId, reason: written.reason })
  }
  const body = keys === null ? written.text : keys.sign(written.text)
  requireSize(messageId, body, type, workerId)
  const visibleAt = message.visibleAt ?? now
  const latest = new Date(visibleAt.getTime() + TIME_TO_LIVE_MAX_MS)
  const { expiresAt = latest } = message
  return {
    topic,
    subscription: topic === 'worker-jobs' && workerId ? workerJobs(workerId).name : 'orchestrator',
    messageId,
    messageType: type,
    workerId,
    body,
    visibleAt,
    expiresAt: expiresAt < latest ? expiresAt : latest,
  }
}

function requireId(messageId: string): void {
  if (!MESSAGE_ID.test(messageId)) throw new MatoolkitError('MESSAGE_ID_INVALID', { messageId })
}

function requireSize(messageId: string, text: string, type: string, workerId: string | null): void {
  const properties = messageId.length + 'MessageType'.length + type.length
  const routing = workerId === null ? 0 : 'WorkerId'.length + workerId.length
  const bytes = Buffer.byteLength(text) + properties + routing
  if (bytes > MESSAGE_MAX_BYTES) {
    throw new MatoolkitError('MESSAGE_TOO_LARGE', { messageId, bytes, limit: MESSAGE_MAX_BYTES })
  }
}
