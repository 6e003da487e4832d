// Forwards the outbox to the broker: leases bundles, sends their messages, deletes them. Several relays work side by side. One that dies
// between sending and deleting leaves its bundles to the next, which sends them again under the same message ids.
import { idsParam } from '../../db/connection/arrays.ts'
import type { Db } from '../../db/connection/db.ts'
import { BUNDLE_MAX, splitLines } from '../bundles.ts'
import { LEASE_MS, type TimeSource, type Topic } from '../bus.ts'
import type { OutboxRow } from '../outbox.ts'

export interface RelayOptions {
  readonly db: Db
  readonly clock: TimeSource
  readonly newToken: () => string
  /** Resolves when the broker has the messages. */
  send(rows: readonly OutboxRow[], now: Date): Promise<void>
}

const ROUND_MAX_MESSAGES = 2 * BUNDLE_MAX
const ROUND_MAX_BYTES = 2 ** 22

interface LeasedBundle extends Omit<OutboxRow, 'messageId' | 'body'> {
  readonly id: number
  readonly messageIds: string
  readonly bodies: string
  readonly size: number
}

/** Walks the index from queue to queue, however many messages each has. */
const QUEUES = `
  with recursive queue (topic, subscription) as (
    (select topic, subscription from bundles order by topic, subscription limit 1)
    union all
    select n.topic, n.subscription from queue q cross join lateral (
      select b.topic, b.subscription from bundles b where (b.topic, b.subscription) > (q.topic, q.subscription)
       order by b.topic, b.subscription limit 1) n)
  select topic, subscription from queue`

const CLAIM = `
  select id, topic, subscription, message_ids, bodies, size, message_type, worker_id, visible_at, expires_at
    from claim_bundles($1, $2, '-infinity', $3::timestamptz, ${ROUND_MAX_MESSAGES}, ${ROUND_MAX_BYTES}, $4::timestamptz, $5::uuid)`

/** Forwards what is due, and returns how many messages. Scheduled ones stay until their time. */
export async function forward(options: RelayOptions): Promise<number> {
  let total = 0
  for (;;) {
    const count = await forwardRound(options)
    if (count === 0) return total
    total += count
  }
}

async function forwardRound({ db, clock, newToken, send }: RelayOptions): Promise<number> {
  const token = newToken()
  const bundles = await claimAll(db, token, clock.now())
  if (bundles.length === 0) return 0
  const ids = idsParam(bundles.map(({ id }) => id))
  try {
    await send(bundles.flatMap(messagesOf), clock.now())
  } catch (error) {
    // Free at once for the next try; otherwise its lease ends by itself.
    await db
      .query(
        'update bundles set leased_until = null, lease_token = null where id = any ($1::bigint[]) and lease_token = $2',
        [ids, token],
      )
      .catch(() => {})
    throw error
  }
  await db.query('delete from bundles where id = any ($1::bigint[]) and lease_token = $2', [
    ids,
    token,
  ])
  return bundles.reduce((sum, { size }) => sum + size, 0)
}

async function claimAll(db: Db, token: string, now: Date): Promise<LeasedBundle[]> {
  const until = new Date(+now + LEASE_MS)
  const bundles: LeasedBundle[] = []
  const queues = await db.query<{ topic: Topic; subscription: string }>(QUEUES)
  for (const { topic, subscription } of queues)
    bundles.push(...(await db.query<LeasedBundle>(CLAIM, [topic, subscription, now, until, token])))
  return bundles
}

function messagesOf({ messageIds, bodies, size, ...envelope }: LeasedBundle): OutboxRow[] {
  const texts = splitLines(bodies, size)
  return splitLines(messageIds, size).map((messageId, index) => ({
    ...envelope,
    messageId,
    body: texts[index]!,
  }))
}
