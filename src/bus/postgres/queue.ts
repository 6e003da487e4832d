// The statements on leased messages: claim, settle, give back, renew, put aside. Each takes a whole chunk. A lease holds
// while its token is the row's and its minute has not passed, as on Service Bus: a consumer that was too slow is told so even
// when nobody else has taken the message yet, and no test on one transport passes by luck.
import { idsParam } from '../../db/columns.ts'
import type { Queryable } from '../../db/db.ts'
import {
  DELIVERED_TOO_OFTEN,
  EXPIRED,
  MAX_DELIVERIES,
  type ReceivedMessage,
  type Subscription,
} from '../bus.ts'
import { hint } from '../outbox.ts'
import {
  BUNDLE_MAX,
  isInBundle,
  openBundles,
  rowHolding,
  rowOnceOpened,
  sequenceOf,
  splitLines,
} from './bundles.ts'
import type { LowWaterMark } from './low-water-mark.ts'

interface ClaimedParcel {
  readonly id: number
  /** Null: the first that waits has more messages than are wanted. */
  readonly message_ids: string | null
  readonly bodies: string
  readonly size: number
  readonly message_type: string
  readonly worker_id: string | null
  readonly delivery_count: number
  readonly enqueued_at: Date
  readonly visible_at: Date
  readonly expires_at: Date
}

export interface Claim {
  readonly messages: ReceivedMessage[]
  /** These two may not be delivered any more, and are in the dead letters now. */
  readonly expired: ReceivedMessage[]
  readonly exhausted: ReceivedMessage[]
}

// Every statement here names its rows as `= any (array)`, never by a join. Vacuum finds this table empty again and again and
// writes that down; the planner then joins as if for one row, comparing every row with each of 500 leases: on PGlite a claim
// of 500 from an otherwise empty table took 56 ms so, and 8 ms by array. An array leaves it the index, or the row's place.
//
// Two consumers at once walk past each other's rows instead of waiting. A claim changes no column that an index knows:
// sql/002_bus.sql says why.
const CLAIM = `
  select id, message_ids, bodies, size, message_type, worker_id, delivery_count, enqueued_at, visible_at, expires_at
    from claim_bundles($1, $2, $3::timestamptz, $4::timestamptz, $5::int, $6::timestamptz, $7::uuid)`

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
  floor: LowWaterMark,
  now: Date,
): Promise<Claim> {
  const start = floor.start(now)
  const values = [topic, name, start ?? '-infinity', now, limit, until, token]
  const bundles = await db.query<ClaimedParcel>(CLAIM, values)
  if (bundles[0]?.message_ids === null) {
    await openForAll(db, { topic, name }, bundles[0].id, now)
    return claim(db, { topic, name }, limit, { token, until }, floor, now)
  }
  const taken = bundles.reduce((sum, { size }) => sum + size, 0)
  // The next parcel may have been too large for what was left.
  const mayBeMore = taken > limit - BUNDLE_MAX
  floor.found(start, latestOf(bundles), taken > 0 && mayBeMore, now)
  bundles.sort((a, b) => a.id - b.id)
  const claimed: Claim = { messages: [], expired: [], exhausted: [] }
  for (const bundle of bundles) putInto(listFor(claimed, bundle, now), topic, bundle, token)
  const { expired, exhausted } = claimed
  await deadLetter(db, expired, EXPIRED, EXPIRED_DESCRIPTION, now, NOT_DELIVERED)
  await deadLetter(db, exhausted, DELIVERED_TOO_OFTEN, EXHAUSTED_DESCRIPTION, now, NOT_DELIVERED)
  return claimed
}

/** A parcel that nobody holds and that is larger than a consumer wants. The others, who may want some of it too, are told. */
async function openForAll(
  db: Queryable,
  { topic, name }: Subscription,
  id: number,
  now: Date,
): Promise<void> {
  const free = '(leased_until is null or leased_until <= $2)'
  await openBundles(db, [id], free, now)
  await hint(db, { topic, name })
}

function latestOf(bundles: readonly ClaimedParcel[]): Date | null {
  return bundles.reduce<Date | null>(
    (latest, { visible_at }) => (latest && latest > visible_at ? latest : visible_at),
    null,
  )
}

function listFor(claimed: Claim, bundle: ClaimedParcel, now: Date): ReceivedMessage[] {
  if (bundle.expires_at <= now) return claimed.expired
  return bundle.delivery_count > MAX_DELIVERIES ? claimed.exhausted : claimed.messages
}

function putInto(
  list: ReceivedMessage[],
  topic: ReceivedMessage['topic'],
  bundle: ClaimedParcel,
  token: string,
): void {
  const { id, size } = bundle
  const bodies = splitLines(bundle.bodies, size)
  const properties = propertiesOf(bundle)
  splitLines(bundle.message_ids!, size).forEach((messageId, index) => {
    list.push({
      topic,
      messageId,
      type: bundle.message_type,
      properties,
      body: bodies[index]!,
      deliveryCount: bundle.delivery_count,
      enqueuedAt: bundle.enqueued_at,
      lease: { sequence: sequenceOf(id, size, index), token },
    })
  })
}

export const EXPIRED_DESCRIPTION = 'Nobody took the message before its time to live ended.'
const EXHAUSTED_DESCRIPTION = `The message was taken ${MAX_DELIVERIES} times and never settled.`

export function propertiesOf(row: {
  readonly message_type: string
  readonly worker_id: string | null
}): Record<string, string> {
  const MessageType = row.message_type
  return row.worker_id === null ? { MessageType } : { MessageType, WorkerId: row.worker_id }
}

/** Row p is leased under the token $3, its lease still runs at $1, and all of its messages are meant: $4 says how many are. */
const HELD = `p.id = any ($2::bigint[]) and p.lease_token = $3 and p.leased_until > $1
  and p.size = ($4::int[])[array_position($2::bigint[], p.id)]`

type ByRow = ReadonlyMap<string, readonly ReceivedMessage[]>

/** One entry for each receive that the messages came from; nearly always one. */
const byToken = (messages: readonly ReceivedMessage[]) =>
  Map.groupBy(messages, (one) => one.lease.token)

const leasesOf = (rows: ByRow, token: string, now: Date): unknown[] => [
  now,
  `{${[...rows.keys()].join(',')}}`,
  token,
  idsParam([...rows.values()].map(countDistinct)),
]

/** One that is named twice does not stand for another. */
const countDistinct = (messages: readonly ReceivedMessage[]): number =>
  new Set(messages.map(({ lease }) => lease.sequence)).size

/** Runs the statement on the messages that are still held, and returns the others. */
async function lostBy(
  db: Queryable,
  sql: string,
  messages: readonly ReceivedMessage[],
  now: Date,
  ...values: readonly unknown[]
): Promise<ReceivedMessage[]> {
  const lost: ReceivedMessage[] = []
  for (const [token, same] of byToken(messages)) {
    const notDone = (rows: ByRow) =>
      runOnRows(db, sql, rows, [...leasesOf(rows, token, now), ...values])
    const rest = await notDone(Map.groupBy(same, ({ lease }) => rowHolding(lease)))
    const inParcels = rest.filter(({ lease }) => isInBundle(lease))
    lost.push(...rest.filter(({ lease }) => !isInBundle(lease)))
    // A part of a parcel was meant, or it has been opened since it was taken, or it is lost as well.
    if (inParcels.length > 0) lost.push(...(await notDone(await inOwnRows(db, inParcels, token))))
  }
  return lost
}

/** The messages of the rows that the statement did not find. */
async function runOnRows(
  db: Queryable,
  sql: string,
  rows: ByRow,
  values: readonly unknown[],
): Promise<ReceivedMessage[]> {
  // The ids come back only when some are missing, and nearly always none is: settling takes half the time so.
  const [found] = await db.query<{ ids: number[] | null }>(
    `with held as (${sql} returning p.id)
     select case when count(*) < cardinality($2::bigint[]) then coalesce(array_agg(id), '{}') end as ids from held`,
    values,
  )
  if (found!.ids === null) return []
  const done = new Set(found!.ids.map(String))
  return [...rows].flatMap(([row, messages]) => (done.has(row) ? [] : messages))
}

/** Opens the parcels that the messages came in, where they are still held under the token. */
async function inOwnRows(
  db: Queryable,
  messages: readonly ReceivedMessage[],
  token: string,
): Promise<ByRow> {
  const bundles = new Set(
    messages.filter(({ lease }) => isInBundle(lease)).map(({ lease }) => rowHolding(lease)),
  )
  if (bundles.size > 0) await openBundles(db, [...bundles], 'lease_token = $2', token)
  return Map.groupBy(messages, ({ lease }) => rowOnceOpened(lease))
}

export const ack = (
  db: Queryable,
  messages: readonly ReceivedMessage[],
  now: Date,
): Promise<ReceivedMessage[]> => lostBy(db, `delete from bundles p where ${HELD}`, messages, now)

export const renewLeases = (
  db: Queryable,
  messages: readonly ReceivedMessage[],
  until: Date,
  now: Date,
): Promise<ReceivedMessage[]> => {
  const sql = `update bundles p set leased_until = $5 where ${HELD}`
  return lostBy(db, sql, messages, now, until)
}

/** Back to the queue's end as of `visibleAt`: a message that nobody can handle does not stand in the others' way. */
export async function abandon(
  db: Queryable,
  messages: readonly ReceivedMessage[],
  visibleAt: Date,
  now: Date,
): Promise<void> {
  const sql = `update bundles p set visible_at = $5, leased_until = null, lease_token = null where ${HELD}`
  await lostBy(db, sql, messages, now, visibleAt)
}

/** Moves the messages in the rows that the statement `gone` deletes into the dead letters. $1 is now; `why` gives reason and description. */
export const movingToDeadLetters = (gone: string, why: string, deliveries: string): string => `
  with gone as (${gone} returning p.*)
  insert into dead_letters (topic, subscription, message_id, original_message_id, message_type,
    worker_id, body, enqueued_at, expires_at, delivery_count, reason, description,
    dead_lettered_at)
  select topic, subscription, c.message_id, regexp_replace(c.message_id, '-replay-[0-9]+$', ''),
    message_type, worker_id, c.body, enqueued_at, expires_at, ${deliveries}, ${why}, $1
  from gone g cross join lateral messages_in_bundle(g.message_ids, g.bodies, g.size) c`

const PUT_ASIDE = movingToDeadLetters(
  `delete from bundles p where ${HELD}`,
  '$5, $6',
  'delivery_count - $7::int',
)
/** A claim counts a delivery before it sees that there must be none. */
const NOT_DELIVERED = 1

export async function deadLetter(
  db: Queryable,
  messages: readonly ReceivedMessage[],
  reason: string,
  description: string,
  now: Date,
  undelivered = 0,
): Promise<void> {
  for (const [token, same] of byToken(messages)) {
    const rows = await inOwnRows(db, same, token)
    await db.query(PUT_ASIDE, [...leasesOf(rows, token, now), reason, description, undelivered])
  }
}
