// The statements on leased messages: claim, settle, give back, renew, put aside. Each takes a whole chunk. A lease holds
// while its token is the row's and its minute has not passed, as on Service Bus: a consumer that was too slow is told so even
// when nobody else has taken the message yet, and no test on one transport passes by luck.
import type { Queryable } from '../db/db.ts'
import {
  DELIVERED_TOO_OFTEN,
  EXPIRED,
  LEASE_MS,
  MAX_DELIVERIES,
  type Received,
  type Subscription,
} from './bus.ts'

interface ClaimedRow {
  readonly id: number
  readonly message_id: string
  readonly message_type: string
  readonly worker_id: string | null
  readonly body: string
  readonly delivery_count: number
  readonly enqueued_at: Date
  readonly expires_at: Date
}

export interface Claim {
  readonly messages: Received[]
  /** These two may not be delivered any more, and are in the dead letters now. */
  readonly expired: Received[]
  readonly exhausted: Received[]
}

// `skip locked`: two consumers at once walk past each other's rows instead of waiting. The inner select alone decides; the
// update only follows it.
const CLAIM = `
  with taken as materialized (
    select id from messages
    where topic = $1 and subscription = $2 and visible_at <= $3
    order by visible_at, id limit $4
    for update skip locked)
  update messages m
  set visible_at = $5, lease_token = $6, delivery_count = delivery_count + 1
  from taken where m.id = taken.id
  returning m.id, m.message_id, m.message_type, m.worker_id, m.body, m.delivery_count,
            m.enqueued_at, m.expires_at`

export async function claim(
  db: Queryable,
  { topic, name }: Subscription,
  limit: number,
  token: string,
  now: Date,
): Promise<Claim> {
  const rows = await db.query<ClaimedRow>(CLAIM, [topic, name, now, limit, leaseEnd(now), token])
  rows.sort((a, b) => a.id - b.id)
  const claimed: Claim = { messages: [], expired: [], exhausted: [] }
  for (const row of rows) listFor(claimed, row, now).push(received(topic, row, token))
  const { expired, exhausted } = claimed
  await putAside(db, expired, EXPIRED, EXPIRED_DESCRIPTION, now, NOT_DELIVERED)
  await putAside(db, exhausted, DELIVERED_TOO_OFTEN, EXHAUSTED_DESCRIPTION, now, NOT_DELIVERED)
  return claimed
}

function listFor(claimed: Claim, row: ClaimedRow, now: Date): Received[] {
  if (row.expires_at <= now) return claimed.expired
  return row.delivery_count > MAX_DELIVERIES ? claimed.exhausted : claimed.messages
}

export const EXPIRED_DESCRIPTION = 'Nobody took the message before its time to live ended.'
const EXHAUSTED_DESCRIPTION = `The message was taken ${MAX_DELIVERIES} times and never settled.`

const leaseEnd = (now: Date) => new Date(now.getTime() + LEASE_MS)

function received(topic: Received['topic'], row: ClaimedRow, token: string): Received {
  return {
    topic,
    messageId: row.message_id,
    type: row.message_type,
    properties: propertiesOf(row),
    body: row.body,
    deliveryCount: row.delivery_count,
    enqueuedAt: row.enqueued_at,
    lease: { sequence: String(row.id), token },
  }
}

export function propertiesOf(row: {
  readonly message_type: string
  readonly worker_id: string | null
}): Record<string, string> {
  const MessageType = row.message_type
  return row.worker_id === null ? { MessageType } : { MessageType, WorkerId: row.worker_id }
}

/** The lease of message m is in the list given as $2 and $3, and still runs at $1. */
const HELD = `m.id = lease.id and m.lease_token = lease.token and m.visible_at > $1`
const LEASES = `unnest($2::bigint[], $3::uuid[]) as lease (id, token)`

type Leases = [now: Date, ids: string[], tokens: string[]]
const leasesOf = (messages: readonly Received[], now: Date): Leases => [
  now,
  messages.map(({ lease }) => lease.sequence),
  messages.map(({ lease }) => lease.token),
]

/** Those of `messages` that are not in `rows`. */
function lost(messages: readonly Received[], rows: readonly { id: number }[]): Received[] {
  if (rows.length === messages.length) return []
  const held = new Set(rows.map((row) => String(row.id)))
  return messages.filter(({ lease }) => !held.has(lease.sequence))
}

export async function settle(
  db: Queryable,
  messages: readonly Received[],
  now: Date,
): Promise<Received[]> {
  if (messages.length === 0) return []
  const rows = await db.query<{ id: number }>(
    `delete from messages m using ${LEASES} where ${HELD} returning m.id`,
    leasesOf(messages, now),
  )
  return lost(messages, rows)
}

export async function renew(
  db: Queryable,
  messages: readonly Received[],
  now: Date,
): Promise<Received[]> {
  if (messages.length === 0) return []
  const rows = await db.query<{ id: number }>(
    `update messages m set visible_at = $4 from ${LEASES} where ${HELD} returning m.id`,
    [...leasesOf(messages, now), leaseEnd(now)],
  )
  return lost(messages, rows)
}

export async function abandon(
  db: Queryable,
  messages: readonly Received[],
  visibleAt: Date,
  now: Date,
): Promise<void> {
  if (messages.length === 0) return
  await db.query(
    `update messages m set visible_at = $4, lease_token = null from ${LEASES} where ${HELD}`,
    [...leasesOf(messages, now), visibleAt],
  )
}

/** Moves the rows that the statement `gone` deletes into the dead letters. $1 is now; `why` gives reason and description. */
export const movingToDeadLetters = (gone: string, why: string, deliveries: string): string => `
  with gone as (${gone} returning m.*)
  insert into dead_letters (topic, subscription, message_id, original_message_id, message_type,
    worker_id, body, enqueued_at, expires_at, delivery_count, reason, description,
    dead_lettered_at)
  select topic, subscription, message_id, regexp_replace(message_id, '-replay-[0-9]+$', ''),
    message_type, worker_id, body, enqueued_at, expires_at, ${deliveries}, ${why}, $1
  from gone`

const PUT_ASIDE = movingToDeadLetters(
  `delete from messages m using ${LEASES} where ${HELD}`,
  '$4, $5',
  'delivery_count - $6::int',
)
/** A claim counts a delivery before it sees that there must be none. */
const NOT_DELIVERED = 1

export async function putAside(
  db: Queryable,
  messages: readonly Received[],
  reason: string,
  description: string,
  now: Date,
  undelivered = 0,
): Promise<void> {
  if (messages.length === 0) return
  await db.query(PUT_ASIDE, [...leasesOf(messages, now), reason, description, undelivered])
}
