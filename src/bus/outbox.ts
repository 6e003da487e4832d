// Sending as part of a transaction: the message exists when the transaction commits and never existed when it rolls back.
// The outbox table is the queue of the postgres transport (sql/002_bus.sql), so nothing has to carry messages anywhere.
// One statement per thousand messages: ids are remembered, repeated ones drop out, the rest is stored and consumers are told.
import type { Tx } from '../db/db.ts'
import { writeMessage } from '../domain/messages.ts'
import { MatoolkitError } from '../errors.ts'
import {
  DUPLICATE_WINDOW_MS,
  MESSAGE_MAX_BYTES,
  type Send,
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

export async function enqueueRows(tx: Tx, rows: readonly OutboxRow[], now: Date): Promise<number> {
  // Sorted, so that two transactions which send the same ids wait for each other in one order and cannot deadlock.
  const distinct = [...new Map(rows.map((row) => [keyOf(row), row])).entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row)
  const forgotten = new Date(now.getTime() - DUPLICATE_WINDOW_MS)
  let stored = 0
  for (let start = 0; start < distinct.length; start += STATEMENT_MAX_ROWS) {
    const part = distinct.slice(start, start + STATEMENT_MAX_ROWS)
    const [counted] = await tx.query<{ stored: number }>(ENQUEUE, [
      JSON.stringify(part),
      now,
      forgotten,
      HINT_CHANNEL,
    ])
    stored += counted!.stored
  }
  return stored
}

const keyOf = ({ topic, message_id }: OutboxRow): string => `${topic}/${message_id}`

// A remembered id that is older than the window counts as new again, whether or not the sweep has come by.
// Messages for later give no hint: nobody could take them yet.
const ENQUEUE = `
  with given as materialized (
    select * from json_to_recordset($1::json) as row (topic text, subscription text,
      message_id text, message_type text, worker_id text, body text,
      visible_at timestamptz, expires_at timestamptz)),
  fresh as (
    insert into message_ids (topic, message_id, seen_at)
    select topic, message_id, $2::timestamptz from given
    on conflict (topic, message_id) do update set seen_at = excluded.seen_at
      where message_ids.seen_at <= $3::timestamptz
    returning topic, message_id),
  stored as (
    insert into messages (topic, subscription, message_id, message_type, worker_id, body,
      enqueued_at, visible_at, expires_at)
    select topic, subscription, message_id, message_type, worker_id, body,
      $2, greatest(visible_at, $2), expires_at
    from given join fresh using (topic, message_id)
    returning topic, subscription, visible_at),
  hinted as (
    select distinct topic || '/' || subscription as address from stored where visible_at <= $2)
  select (select count(*) from stored) as stored,
         (select count(pg_notify($4, address)) from hinted) as hints`

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
  topic: Topic,
  messageIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.query<{ message_id: string }>(
    // "topic || ''" keeps the queue's index out: on a table that vacuum last saw empty the planner would walk all of the topic.
    `delete from messages
     where message_id = any ($2) and topic || '' = $1 and lease_token is null
     returning message_id`,
    [topic, messageIds],
  )
  return rows.map((row) => row.message_id)
}
