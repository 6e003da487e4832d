// Reads the broker's dead letters into the database, where people and the engine decide on them as on those of any transport. A letter
// leaves the broker only once it is stored; one that is read twice is stored once.
import { arrayParams, timeParam } from '../../db/connection/arrays.ts'
import type { Db } from '../../db/connection/db.ts'
import type { Subscription } from '../bus.ts'
import { isLost, type ServiceBusConnection } from './connection.ts'
import { type FoundLetter, letterFrom } from './wire.ts'

const LETTERS_AT_ONCE = 200
const ASK_MS = 1

const STORE = `
  insert into dead_letters (topic, subscription, message_id, original_message_id, message_type, worker_id, body, enqueued_at,
    expires_at, delivery_count, reason, description, dead_lettered_at)
  select $1, $2, l.message_id, regexp_replace(l.message_id, '-replay-[0-9]+$', ''), l.message_type, l.worker_id, l.body, l.enqueued_at,
         l.expires_at, l.delivery_count, l.reason, l.description, $3
    from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::int[], $11::text[], $12::text[])
      with ordinality as l (message_id, message_type, worker_id, body, enqueued_at, expires_at, delivery_count, reason, description, place)
   where not exists (select from dead_letters d where d.topic = $1 and d.original_message_id = regexp_replace(l.message_id, '-replay-[0-9]+$', '')
     and d.subscription = $2 and d.message_id = l.message_id and d.enqueued_at = l.enqueued_at)
   order by l.place`

/** Returns how many it has read. */
export async function readDeadLetters(
  connection: ServiceBusConnection,
  db: Db,
  subscription: Subscription,
  now: Date,
): Promise<number> {
  const what = `reading the dead letters of ${subscription.name}`
  const receiver = connection.receiver(subscription, 'dead letters')
  let total = 0
  for (;;) {
    const found = await connection.call(what, () =>
      receiver.receiveMessages(LETTERS_AT_ONCE, { maxWaitTimeInMs: ASK_MS }),
    )
    if (found.length === 0) return total
    await store(db, subscription, found.map(letterFrom), now)
    for (const message of found)
      await connection
        .call(what, () => receiver.completeMessage(message))
        .catch((error: unknown) => {
          // Somebody else reads it again, and stores it once.
          if (!isLost(error)) throw error
        })
    total += found.length
  }
}

async function store(
  db: Db,
  { topic, name }: Subscription,
  letters: readonly FoundLetter[],
  now: Date,
): Promise<void> {
  const columns = arrayParams(
    letters,
    (letter) => letter.messageId,
    (letter) => letter.type,
    (letter) => letter.workerId,
    (letter) => letter.body,
    (letter) => timeParam(letter.enqueuedAt),
    (letter) => timeParam(letter.expiresAt),
    (letter) => letter.deliveryCount,
    (letter) => letter.reason,
    (letter) => letter.description,
  )
  await db.query(STORE, [topic, name, now, ...columns])
}
