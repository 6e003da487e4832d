// The lease on messages: claiming takes it, ack, abandon and dead-lettering end it, renewing extends it; each statement takes a whole
// chunk. `claim_bundles` (sql/002_bus.sql) writes it on the rows. A lease is valid while its token is the row's and its time has not passed. As on Service Bus, a consumer that was too slow loses the message even when nobody
// else has taken it.
import { idsParam } from '../../db/connection/arrays.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { type LastSeen, seenParams } from '../../db/state/epochs.ts'
import { BUNDLE_MAX, splitLines } from '../bundles.ts'
import {
  DELIVERED_TOO_OFTEN,
  EXPIRED,
  MAX_DELIVERIES,
  type ReceivedMessage,
  type Subscription,
} from '../bus.ts'
import { hint } from '../hints.ts'
import { propertiesOf } from '../outbox.ts'
import { isInBundle, rowHolding, rowOnceSplit, sequenceOf, splitBundles } from './bundle-rows.ts'
import type { LowWaterMark } from './low-water-mark.ts'

interface ClaimedBundle {
  readonly id: number
  /** Null when the first waiting bundle is larger than the limit. */
  readonly messageIds: string | null
  readonly bodies: string
  readonly size: number
  readonly messageType: string
  readonly workerId: string | null
  readonly deliveryCount: number
  readonly enqueuedAt: Date
  readonly visibleAt: Date
  readonly expiresAt: Date
}

export interface Claim {
  readonly messages: ReceivedMessage[]
  /** No longer deliverable; already moved to the dead letters. */
  readonly expired: ReceivedMessage[]
  readonly exhausted: ReceivedMessage[]
}

/** A claim ends once it has so much text, whatever its limit of messages: memory must not grow with the size of results. */
const CLAIM_MAX_BYTES = 2 ** 22

// Every statement selects rows by `= any (array)`, never by a join. Vacuum often finds this table empty and records that; the
// planner then expects one row and compares every row with each of 500 leases. On PGlite a claim of 500 took 56 ms by join and
// 8 ms by array.
//
// Concurrent consumers skip each other's rows instead of waiting. A claim changes no indexed column: sql/002_bus.sql says why.
const CLAIM = `
  select id, message_ids, bodies, size, message_type, worker_id, delivery_count, enqueued_at, visible_at, expires_at
    from claim_bundles($1, $2, $3::timestamptz, $4::timestamptz, $5::int, ${CLAIM_MAX_BYTES}, $6::timestamptz, $7::uuid,
      $8::bigint, $9::timestamptz)`

/** The lease that a claim writes on its rows. */
export interface NewLease {
  readonly token: string
  readonly until: Date
}

/** How far this process has read the queue, and what it has seen: an older database gives it no jobs (`newest_event` in sql/002_bus.sql). */
export interface QueueReader {
  readonly floor: LowWaterMark
  readonly seen: LastSeen
}

export async function claim(
  db: Queryable,
  { topic, name }: Subscription,
  limit: number,
  { token, until }: NewLease,
  { floor, seen }: QueueReader,
  now: Date,
): Promise<Claim> {
  const start = floor.start(now)
  const values = [topic, name, start ?? '-infinity', now, limit, until, token, ...seenParams(seen)]
  const bundles = await db.query<ClaimedBundle>(CLAIM, values)
  if (bundles[0]?.messageIds === null) {
    await splitForAll(db, { topic, name }, bundles[0].id, now)
    return claim(db, { topic, name }, limit, { token, until }, { floor, seen }, now)
  }
  const taken = bundles.reduce((sum, { size }) => sum + size, 0)
  // The next bundle may have been too large for the rest of the limit. A character has at most three bytes.
  const mayBeMore = taken > limit - BUNDLE_MAX || 3 * charsOf(bundles) >= CLAIM_MAX_BYTES
  floor.found(start, latestOf(bundles), taken > 0 && mayBeMore, now)
  bundles.sort((a, b) => a.id - b.id)
  const claimed: Claim = { messages: [], expired: [], exhausted: [] }
  for (const bundle of bundles) unpackInto(listFor(claimed, bundle, now), topic, bundle, token)
  const { expired, exhausted } = claimed
  await deadLetter(db, expired, EXPIRED, EXPIRED_DESCRIPTION, now, NOT_DELIVERED)
  await deadLetter(db, exhausted, DELIVERED_TOO_OFTEN, EXHAUSTED_DESCRIPTION, now, NOT_DELIVERED)
  return claimed
}

/** Splits an unleased bundle that exceeds a consumer's limit, and hints the other consumers, which may take the rest. */
async function splitForAll(
  db: Queryable,
  { topic, name }: Subscription,
  id: number,
  now: Date,
): Promise<void> {
  await splitBundles(db, [id], { free: now })
  await hint(db, { topic, name })
}

const charsOf = (bundles: readonly ClaimedBundle[]): number =>
  bundles.reduce((sum, { bodies }) => sum + (bodies?.length ?? 0), 0)

function latestOf(bundles: readonly ClaimedBundle[]): Date | null {
  return bundles.reduce<Date | null>(
    (latest, { visibleAt }) => (latest && latest > visibleAt ? latest : visibleAt),
    null,
  )
}

function listFor(claimed: Claim, bundle: ClaimedBundle, now: Date): ReceivedMessage[] {
  if (bundle.expiresAt <= now) return claimed.expired
  return bundle.deliveryCount > MAX_DELIVERIES ? claimed.exhausted : claimed.messages
}

function unpackInto(
  list: ReceivedMessage[],
  topic: ReceivedMessage['topic'],
  bundle: ClaimedBundle,
  token: string,
): void {
  const { id, size } = bundle
  const bodies = splitLines(bundle.bodies, size)
  const properties = propertiesOf(bundle)
  splitLines(bundle.messageIds!, size).forEach((messageId, index) => {
    list.push({
      topic,
      messageId,
      type: bundle.messageType,
      properties,
      body: bodies[index]!,
      deliveryCount: bundle.deliveryCount,
      enqueuedAt: bundle.enqueuedAt,
      lease: { sequence: sequenceOf(id, size, index), token },
    })
  })
}

export const EXPIRED_DESCRIPTION = 'No consumer took the message before its time to live ended.'
const EXHAUSTED_DESCRIPTION = `The message was delivered ${MAX_DELIVERIES} times and never acknowledged.`

/** Row p was last leased under the token $3, and the call names all of its messages: $4 counts them. */
const IS_OWN = `p.id = any ($2::bigint[]) and p.lease_token = $3
  and p.size = ($4::int[])[array_position($2::bigint[], p.id)]`
/** The lease lasts at the time $1. */
const IS_LEASED = `${IS_OWN} and p.leased_until > $1`

/** All that these statements need of a message. */
type Held = Pick<ReceivedMessage, 'lease'>
type ByRow<M extends Held> = ReadonlyMap<string, readonly M[]>

/** One entry per receive; nearly always one. */
const byToken = <M extends Held>(messages: readonly M[]) =>
  Map.groupBy(messages, ({ lease }) => lease.token)

const leasesOf = (rows: ByRow<Held>, token: string, now: Date): unknown[] => [
  now,
  `{${[...rows.keys()].join(',')}}`,
  token,
  idsParam([...rows.values()].map(countDistinct)),
]

/** A message named twice counts once. */
const countDistinct = (messages: readonly Held[]): number =>
  new Set(messages.map(({ lease }) => lease.sequence)).size

/** Runs the statement on the messages that are still leased, and returns the lost ones. */
async function changeLeased<M extends Held>(
  db: Queryable,
  sql: string,
  messages: readonly M[],
  now: Date,
  ...values: readonly unknown[]
): Promise<M[]> {
  const lost: M[] = []
  for (const [token, same] of byToken(messages)) {
    const changeRows = (rows: ByRow<M>) =>
      runOnRows(db, sql, rows, [...leasesOf(rows, token, now), ...values])
    const rest = await changeRows(Map.groupBy(same, ({ lease }) => rowHolding(lease)))
    const inBundles = rest.filter(({ lease }) => isInBundle(lease))
    lost.push(...rest.filter(({ lease }) => !isInBundle(lease)))
    // The call names a part of the bundle, or the bundle was split since the claim, or its lease is lost.
    if (inBundles.length > 0)
      lost.push(...(await changeRows(await inOwnRows(db, inBundles, token))))
  }
  return lost
}

/** Returns the messages of the rows that the statement did not match. */
async function runOnRows<M extends Held>(
  db: Queryable,
  sql: string,
  rows: ByRow<M>,
  values: readonly unknown[],
): Promise<M[]> {
  // Returns ids only when some rows are missing, which is rare: an ack takes half the time.
  const [found] = await db.query<{ ids: number[] | null }>(
    `with changed as (${sql} returning p.id)
     select case when count(*) < cardinality($2::bigint[]) then coalesce(array_agg(id), '{}') end as ids from changed`,
    values,
  )
  if (found!.ids === null) return []
  const done = new Set(found!.ids.map(String))
  return [...rows].flatMap(([row, messages]) => (done.has(row) ? [] : messages))
}

/** Splits the bundles that hold the messages, where they are still leased under the token. */
async function inOwnRows<M extends Held>(
  db: Queryable,
  messages: readonly M[],
  token: string,
): Promise<ByRow<M>> {
  const bundles = new Set(
    messages.filter(({ lease }) => isInBundle(lease)).map(({ lease }) => rowHolding(lease)),
  )
  if (bundles.size > 0) await splitBundles(db, [...bundles], { leased: token })
  return Map.groupBy(messages, ({ lease }) => rowOnceSplit(lease))
}

export const ack = <M extends Held>(
  db: Queryable,
  messages: readonly M[],
  now: Date,
): Promise<M[]> => changeLeased(db, `delete from bundles p where ${IS_LEASED}`, messages, now)

export const renewLeases = <M extends Held>(
  db: Queryable,
  messages: readonly M[],
  until: Date,
  now: Date,
): Promise<M[]> => {
  const sql = `update bundles p set leased_until = $5 where ${IS_LEASED}`
  return changeLeased(db, sql, messages, now, until)
}

/** Every lease that lasts at `now`, whose consumer it may be, lasts until then. A worker's role sees its own. */
export const keepLeases = async (db: Queryable, until: Date, now: Date): Promise<void> =>
  void (await db.query(
    'update bundles set leased_until = $1 where leased_until > $2 and leased_until < $1',
    [until, now],
  ))

/** Back to the end of the queue, at `visibleAt`: a message that fails does not block the others. */
export async function abandon(
  db: Queryable,
  messages: readonly Held[],
  visibleAt: Date,
  now: Date,
): Promise<void> {
  const sql = `update bundles p set visible_at = $5, leased_until = null, lease_token = null where ${IS_LEASED}`
  await changeLeased(db, sql, messages, now, visibleAt)
}

const UNCOUNT = `update bundles p set delivery_count = delivery_count - 1, visible_at = greatest($5, $1::timestamptz),
  leased_until = null, lease_token = null where ${IS_OWN}`
/** Rows that another consumer has taken since keep its lease. */
const UNCOUNT_TAKEN = `update bundles p set delivery_count = delivery_count - 1
  where p.id = any ($1::bigint[]) and p.size = ($2::int[])[array_position($1::bigint[], p.id)] and p.delivery_count > 1`

/** Takes the delivery back. Without it the messages of a consumer that could not write used up their deliveries. */
export async function release(
  db: Queryable,
  messages: readonly Held[],
  visibleAt: Date,
  now: Date,
): Promise<void> {
  const lost = await changeLeased(db, UNCOUNT, messages, now, visibleAt)
  if (lost.length === 0) return
  const inBundles = lost.filter(({ lease }) => isInBundle(lease))
  const sizes = new Map(lost.map(({ lease }) => [rowOnceSplit(lease), 1]))
  for (const [row, same] of Map.groupBy(inBundles, ({ lease }) => rowHolding(lease)))
    sizes.set(row, countDistinct(same))
  await db.query(UNCOUNT_TAKEN, [`{${[...sizes.keys()].join(',')}}`, idsParam([...sizes.values()])])
}

/** Moves the messages of the rows that `deletion` deletes to the dead letters. $1 is now; `why` gives reason and description. */
export const movingToDeadLetters = (deletion: string, why: string, deliveries: string): string => `
  with gone as (${deletion} returning p.*)
  insert into dead_letters (topic, subscription, message_id, original_message_id, message_type,
    worker_id, body, enqueued_at, expires_at, delivery_count, reason, description,
    dead_lettered_at)
  select topic, subscription, c.message_id, regexp_replace(c.message_id, '-replay-[0-9]+$', ''),
    message_type, worker_id, c.body, enqueued_at, expires_at, ${deliveries}, ${why}, $1
  from gone g cross join lateral messages_in_bundle(g.message_ids, g.bodies, g.size) c`

const DEAD_LETTER = movingToDeadLetters(
  `delete from bundles p where ${IS_LEASED}`,
  '$5, $6',
  'delivery_count - $7::int',
)
/** The claim has already counted a delivery that does not take place. */
const NOT_DELIVERED = 1

export async function deadLetter(
  db: Queryable,
  messages: readonly Held[],
  reason: string,
  description: string,
  now: Date,
  undelivered = 0,
): Promise<void> {
  for (const [token, same] of byToken(messages)) {
    const rows = await inOwnRows(db, same, token)
    await db.query(DEAD_LETTER, [...leasesOf(rows, token, now), reason, description, undelivered])
  }
}
