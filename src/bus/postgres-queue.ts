// The statements on leased messages: claim, settle, give back, renew, put aside. Each takes a whole chunk. A lease holds
// while its token is the row's and its minute has not passed, as on Service Bus: a consumer that was too slow is told so even
// when nobody else has taken the message yet, and no test on one transport passes by luck.
import type { Queryable } from '../db/db.ts'
import {
  DELIVERED_TOO_OFTEN,
  EXPIRED,
  MAX_DELIVERIES,
  type Received,
  type Subscription,
} from './bus.ts'
import type { Floor } from './postgres-floor.ts'

interface ClaimedRow {
  readonly id: number
  readonly message_id: string
  readonly message_type: string
  readonly worker_id: string | null
  readonly body: string
  readonly delivery_count: number
  readonly enqueued_at: Date
  readonly visible_at: Date
  readonly expires_at: Date
}

export interface Claim {
  readonly messages: Received[]
  /** These two may not be delivered any more, and are in the dead letters now. */
  readonly expired: Received[]
  readonly exhausted: Received[]
}

// Every statement here names its rows as `= any (array)`, never by a join. Vacuum finds this table empty again and again and
// writes that down; the planner then joins as if for one row, comparing every row with each of 500 leases: on PGlite a claim
// of 500 from an otherwise empty table took 56 ms so, and 8 ms by array. An array leaves it the index, or the row's place.
//
// `skip locked`: two consumers at once walk past each other's rows instead of waiting. The update changes no column that an
// index knows: sql/002_bus.sql says why.
const CLAIM = `
  update messages m
  set leased_until = $5, lease_token = $6, delivery_count = delivery_count + 1
  where ctid = any (array(
    select ctid from messages
    where topic = $1 and subscription = $2 and visible_at <= $3 and visible_at >= $7
      and (leased_until is null or leased_until <= $3)
    order by visible_at, id limit $4
    for update skip locked))
  returning m.id, m.message_id, m.message_type, m.worker_id, m.body, m.delivery_count,
            m.enqueued_at, m.visible_at, m.expires_at`

/** What a claim writes on the rows it takes. */
export interface NewLease {
  readonly token: string
  readonly until: Date
}

export async function claim(
  db: Queryable,
  { topic, name }: Subscription,
  limit: number,
  { token, until }: NewLease,
  floor: Floor,
  now: Date,
): Promise<Claim> {
  const start = floor.start(now)
  const values = [topic, name, now, limit, until, token, start ?? '-infinity']
  const rows = await db.query<ClaimedRow>(CLAIM, values)
  floor.found(start, latestOf(rows), rows.length === limit, now)
  rows.sort((a, b) => a.id - b.id)
  const claimed: Claim = { messages: [], expired: [], exhausted: [] }
  for (const row of rows) listFor(claimed, row, now).push(received(topic, row, token))
  const { expired, exhausted } = claimed
  await putAside(db, expired, EXPIRED, EXPIRED_DESCRIPTION, now, NOT_DELIVERED)
  await putAside(db, exhausted, DELIVERED_TOO_OFTEN, EXHAUSTED_DESCRIPTION, now, NOT_DELIVERED)
  return claimed
}

function latestOf(rows: readonly ClaimedRow[]): Date | null {
  return rows.reduce<Date | null>(
    (latest, { visible_at }) => (latest && latest > visible_at ? latest : visible_at),
    null,
  )
}

function listFor(claimed: Claim, row: ClaimedRow, now: Date): Received[] {
  if (row.expires_at <= now) return claimed.expired
  return row.delivery_count > MAX_DELIVERIES ? claimed.exhausted : claimed.messages
}

export const EXPIRED_DESCRIPTION = 'Nobody took the message before its time to live ended.'
const EXHAUSTED_DESCRIPTION = `The message was taken ${MAX_DELIVERIES} times and never settled.`

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

/** Message m is leased under the token $3, and its lease still runs at $1. */
const HELD = `m.id = any ($2::bigint[]) and m.lease_token = $3 and m.leased_until > $1`

type Leases = [now: Date, ids: string, token: string]

/** One entry for each receive that the messages came from; nearly always one. */
function leasesOf(messages: readonly Received[], now: Date): [Received[], Leases][] {
  const byToken = Map.groupBy(messages, ({ lease }) => lease.token)
  return [...byToken].map(([token, same]) => {
    const ids = same.map(({ lease }) => lease.sequence)
    return [same, [now, `{${ids.join(',')}}`, token]]
  })
}

/** Runs the statement on the messages that are still held, and returns the others. */
async function lostBy(
  db: Queryable,
  sql: string,
  messages: readonly Received[],
  now: Date,
  ...values: readonly unknown[]
): Promise<Received[]> {
  const lost: Received[] = []
  for (const [same, leases] of leasesOf(messages, now)) {
    // The ids come back only when some are missing, and nearly always none is: settling takes half the time so.
    const [found] = await db.query<{ ids: number[] | null }>(
      `with held as (${sql} returning m.id)
       select case when count(*) < cardinality($2::bigint[]) then coalesce(array_agg(id), '{}') end as ids from held`,
      [...leases, ...values],
    )
    if (found!.ids === null) continue
    const held = new Set(found!.ids.map(String))
    lost.push(...same.filter(({ lease }) => !held.has(lease.sequence)))
  }
  return lost
}

export const settle = (
  db: Queryable,
  messages: readonly Received[],
  now: Date,
): Promise<Received[]> => lostBy(db, `delete from messages m where ${HELD}`, messages, now)

export const renew = (
  db: Queryable,
  messages: readonly Received[],
  until: Date,
  now: Date,
): Promise<Received[]> => {
  const sql = `update messages m set leased_until = $4 where ${HELD}`
  return lostBy(db, sql, messages, now, until)
}

/** Back to the queue's end as of `visibleAt`: a message that nobody can handle does not stand in the others' way. */
export async function abandon(
  db: Queryable,
  messages: readonly Received[],
  visibleAt: Date,
  now: Date,
): Promise<void> {
  const sql = `
    update messages m set visible_at = $4, leased_until = null, lease_token = null where ${HELD}`
  for (const [, leases] of leasesOf(messages, now)) await db.query(sql, [...leases, visibleAt])
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
  `delete from messages m where ${HELD}`,
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
  for (const [, leases] of leasesOf(messages, now)) {
    await db.query(PUT_ASIDE, [...leases, reason, description, undelivered])
  }
}
