// Housekeeping of the postgres transport: expired messages go to the dead letters, message ids older than the duplicate window
// are deleted. Both in bounded chunks, so that a run after a long outage neither locks for long nor starves senders; the next run
// continues.
import type { Db } from '../../db/db.ts'
import { DUPLICATE_WINDOW_MS, EXPIRED, TIME_TO_LIVE_MAX_MS } from '../bus.ts'
import { EXPIRED_DESCRIPTION, movingToDeadLetters } from './queue.ts'

/** Bundles, of up to 500 messages each. */
const EXPIRED_CHUNK = 100
/** 10,000 ids take 40 ms; 20 chunks every 5 s keep up with 40,000 messages a second. */
const IDS_CHUNK = 10_000
const CHUNKS_MAX = 20

export interface SweepCounts {
  readonly expired: number
  readonly idsForgotten: number
}

// A leased message stays with its consumer although it has expired; a later run finds it if the lease lapses.
const expire = (condition: string, order: string): string =>
  `${movingToDeadLetters(
    `delete from bundles p where ctid = any (array(
       select ctid from bundles where ${condition} and expires_at <= $1 and visible_at <= $5
         and (leased_until is null or leased_until <= $1)
       order by ${order} limit $2
       for update skip locked))`,
    '$3, $4',
    'delivery_count',
  )} returning id`

// Results are not in the index on expires_at: all have the longest time to live, so visible_at finds them.
const EXPIRE_RESULTS = expire(`topic = 'worker-results'`, 'visible_at')
const EXPIRE_OTHERS = expire(`topic <> 'worker-results'`, 'expires_at')

// seen_at is checked again because a sender may have reused the id since the inner select.
const FORGET = `
  delete from message_ids
  where ctid = any (array(
      select ctid from message_ids where seen_at <= $1 order by seen_at limit $2))
    and seen_at <= $1
  returning 1`

export async function sweepBus(db: Db, now: Date): Promise<SweepCounts> {
  const forgotten = new Date(now.getTime() - DUPLICATE_WINDOW_MS)
  const oldest = new Date(now.getTime() - TIME_TO_LIVE_MAX_MS)
  let expired = 0
  for (const [sql, visibleBy] of [
    [EXPIRE_OTHERS, now],
    [EXPIRE_RESULTS, oldest],
  ] as const) {
    expired += await inChunks(EXPIRED_CHUNK, (limit) =>
      db.query(sql, [now, limit, EXPIRED, EXPIRED_DESCRIPTION, visibleBy]),
    )
  }
  const idsForgotten = await inChunks(IDS_CHUNK, (limit) => db.query(FORGET, [forgotten, limit]))
  return { expired, idsForgotten }
}

async function inChunks(
  size: number,
  take: (limit: number) => Promise<readonly unknown[]>,
): Promise<number> {
  let total = 0
  for (let chunk = 0; chunk < CHUNKS_MAX; chunk += 1) {
    const count = (await take(size)).length
    total += count
    if (count < size) break
  }
  return total
}
