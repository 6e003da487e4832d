// Sending as part of a transaction: the message exists when the transaction commits and never existed when it rolls back.
// The outbox table is the queue of the postgres transport (sql/002_bus.sql), so nothing has to carry messages anywhere.
// Two statements per thousand messages: ids are remembered and repeated ones drop out; the rest is stored and consumers are told.
import { columns, idsParam, timeParam } from '../db/columns.ts'
import type { Queryable, Tx } from '../db/db.ts'
import { writeMessage } from '../domain/messages.ts'
import { MatoolkitError } from '../errors.ts'
import {
  DUPLICATE_WINDOW_MS,
  MESSAGE_MAX_BYTES,
  type OutgoingMessage,
  type Subscription,
  TIME_TO_LIVE_MAX_MS,
  type Topic,
  workerJobs,
} from './bus.ts'
import { type Bundle, bundleOf, joinLines, openBundles, packBundles } from './postgres/bundles.ts'

export const HINT_CHANNEL = 'matoolkit_messages'
const STATEMENT_MAX_ROWS = 1_000
const MESSAGE_ID = /^[\x21-\x7e]{1,128}$/
const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/

/** A message about to be written; the names are those of the view `messages`. */
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
 * For messages whose ids this very transaction makes new, as a job's is by the guarded move of its step: nobody can have sent them
 * before, so nothing is compared and nothing remembered. That was more than half of what sending a job cost.
 */
export async function enqueueNew(
  tx: Tx,
  messages: readonly OutgoingMessage[],
  now: Date,
): Promise<void> {
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

// A remembered id that is older than the window counts as new again, whether or not the sweep has come by (sql/002_bus.sql). The ids come
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
  const [topics, subscriptions, ids, types, workers, sizes, visible, expires] = columns(
    bundles,
    ({ envelope }) => envelope.topic,
    ({ envelope }) => envelope.subscription,
    (bundle) => joinLines(bundle.ids),
    ({ envelope }) => envelope.message_type,
    ({ envelope }) => envelope.worker_id,
    (bundle) => bundle.ids.length,
    ({ envelope }) => timeParam(envelope.visible_at),
    ({ envelope }) => timeParam(envelope.expires_at),
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

/** Messages for later give no hint: nobody could take them yet. */
function addressesToHint(bundles: readonly Bundle[], now: Date): string[] {
  const visible = bundles.filter(({ envelope }) => envelope.visible_at <= now)
  return [...new Set(visible.map(({ envelope }) => `${envelope.topic}/${envelope.subscription}`))]
}

/** Makes who listens to the subscription look, once the transaction commits, though no message comes. Hints may be lost. */
export async function hint(tx: Queryable, { topic, name }: Subscription): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [HINT_CHANNEL, `${topic}/${name}`])
}

/** Something that is in none of the parcels. Ours are lines of JSON; a message that is sent anew from the dead letters may be anything. */
function separatorOf(bodies: readonly string[]): string {
  // Nearly always: PostgreSQL then takes the text as it is instead of walking through it.
  if (bodies.length === 1) return ''
  let separator = '\u001e'
  while (bodies.some((body) => body.includes(separator))) separator += '\u001f'
  return separator
}

function rowOf(message: OutgoingMessage, now: Date): OutboxRow {
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

/** A lease that has lapsed is not given back: its consumer may be slow and not dead, and would work on what was taken back. */
const FREE = 'lease_token is null'

/**
 * Takes back the messages that no consumer holds and returns their ids: gone when the transaction commits. They are looked for in
 * all that wait, which the workers' windows keep short.
 */
export async function withdraw(
  tx: Tx,
  topic: 'worker-jobs',
  messageIds: readonly string[],
): Promise<string[]> {
  const back: string[] = []
  for (;;) {
    const found = await tx.query<{ id: number }>(
      `select id from bundles where topic = $1 and ${FREE}
          and exists (select from unnest(string_to_array(message_ids, E'\\n')) as one where one = any ($2::text[]))`,
      [topic, messageIds],
    )
    const rows = found.map(({ id }) => id)
    const opened = await openBundles(tx, rows, FREE)
    const gone = await tx.query<{ id: number; message_id: string }>(
      `delete from bundles where id = any ($1::bigint[]) and message_ids = any ($2::text[]) and size = 1 and ${FREE}
       returning id, message_ids as message_id`,
      [idsParam([...rows, ...opened]), messageIds],
    )
    back.push(...gone.map(({ message_id }) => message_id))
    // Somebody may have opened a parcel in the same moment: what was in it is looked for again.
    const seen = new Set([...gone.map(({ id }) => id), ...opened.map(bundleOf)])
    if (rows.every((id) => seen.has(id))) return back
  }
}
