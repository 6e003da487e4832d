// How many messages wait: those in the outbox, and those at the broker, counted by looking at them. Counting needs no more than the right
// to receive, and ends at a limit.
import type { Db } from '../../db/db.ts'
import type { BusDepth, Subscription, Topic, TopicCount } from '../bus.ts'
import { longOf, type ServiceBusConnection } from './connection.ts'

const PEEKED_AT_ONCE = 250
/** Of a subscription. More than that is a backlog in any case. */
const COUNTED_MAX = 2_000

export async function countMessages(
  connection: ServiceBusConnection,
  db: Db,
  subscriptions: readonly Subscription[],
): Promise<BusDepth> {
  const counts = new Map<Topic, number>()
  const add = ({ topic, count }: TopicCount) => counts.set(topic, (counts.get(topic) ?? 0) + count)
  const waiting = await db.query<TopicCount>(
    'select topic, sum(size)::int as count from bundles group by topic order by topic',
  )
  waiting.forEach(add)
  for (const subscription of subscriptions)
    add({ topic: subscription.topic, count: await countIn(connection, subscription) })
  const deadLetters = await db.query<TopicCount>(
    `select topic, count(*)::int as count from dead_letters
      where replayed_at is null and discarded_at is null group by topic order by topic`,
  )
  const messages = [...counts].map(([topic, count]) => ({ topic, count }))
  return { messages: messages.filter(({ count }) => count > 0), deadLetters }
}

async function countIn(
  connection: ServiceBusConnection,
  subscription: Subscription,
): Promise<number> {
  const receiver = connection.receiver(subscription, 'calls')
  let count = 0
  let from = 0
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
    if (found.length < PEEKED_AT_ONCE) break
    from = Number(found.at(-1)!.sequenceNumber) + 1
  }
  return count
}
