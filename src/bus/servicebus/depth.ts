// How many messages wait: those in the outbox, and those at the broker, counted by looking at them. Counting needs no more than the right
// to receive, and ends at a limit.
import { inLanes } from '../../base/run/soon.ts'
import type { Db } from '../../db/connection/db.ts'
import type { BusDepth, Subscription, Topic, TopicDepth } from '../bus.ts'
import { countDeadLetters } from '../dead-letters.ts'
import { longOf, type ServiceBusConnection } from './connection.ts'

const PEEKED_AT_ONCE = 250
/** Subscriptions that are asked at the same time; one after another, 500 workers take half a minute. */
export const ASKED_AT_ONCE = 50
/** Of a subscription. More than that is a backlog in any case. */
const COUNTED_MAX = 2_000

export async function countMessages(
  connection: ServiceBusConnection,
  db: Db,
  subscriptions: readonly Subscription[],
  now: Date,
): Promise<BusDepth> {
  const outbox = await countOutbox(db, now)
  const found = [...outbox]
  await inLanes(subscriptions, ASKED_AT_ONCE, async (subscription) => {
    found.push(await countIn(connection, subscription))
  })
  const deadLetters = await countDeadLetters(db)
  const messages = [...Map.groupBy(found, ({ topic }) => topic)].map(sumUp)
  return { messages: messages.filter(({ count }) => count > 0), deadLetters, outbox }
}

export const countOutbox = (db: Db, now: Date): Promise<TopicDepth[]> =>
  db.query<TopicDepth>(
    `select topic, sum(size)::int as count, min(visible_at) filter (where visible_at <= $1) as oldest_at
       from bundles group by topic order by topic`,
    [now],
  )

const sumUp = ([topic, parts]: [Topic, readonly TopicDepth[]]): TopicDepth => ({
  topic,
  count: parts.reduce((sum, { count }) => sum + count, 0),
  oldestAt: earliest(parts.flatMap(({ oldestAt }) => oldestAt ?? [])),
})

const earliest = (times: readonly Date[]): Date | null =>
  times.length === 0 ? null : new Date(Math.min(...times.map(Number)))

async function countIn(
  connection: ServiceBusConnection,
  subscription: Subscription,
): Promise<TopicDepth> {
  const receiver = connection.receiver(subscription, 'calls')
  let count = 0
  let from = 0
  const dueAt: Date[] = []
  while (count < COUNTED_MAX) {
    const found = await connection
      .call(`counting ${subscription.name}`, () =>
        receiver.peekMessages(PEEKED_AT_ONCE, { fromSequenceNumber: longOf(from) }),
      )
      .catch((error: unknown) => {
        if ((error as { code?: string }).code === 'BUS_ENTITY_MISSING') return []
        throw error
      })
    count += found.length
    for (const { state, enqueuedTimeUtc } of found)
      if (state !== 'scheduled' && enqueuedTimeUtc) dueAt.push(enqueuedTimeUtc)
    if (found.length < PEEKED_AT_ONCE) break
    from = Number(found.at(-1)!.sequenceNumber) + 1
  }
  return { topic: subscription.topic, count, oldestAt: earliest(dueAt) }
}
