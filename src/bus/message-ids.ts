// Message ids older than the duplicate window are deleted, in bounded chunks: a run after a long outage neither locks for long nor
// starves senders, and the next run continues.
import type { Db } from '../db/connection/db.ts'
import { DUPLICATE_WINDOW_MS } from './bus.ts'

/** 10,000 ids take 40 ms; 20 chunks every 5 s keep up with 40,000 messages a second. */
const IDS_CHUNK = 10_000
const CHUNKS_MAX = 20

// seen_at is checked again because a sender may have reused the id since the inner select.
const FORGET = `
  delete from message_ids
  where ctid = any (array(
      select ctid from message_ids where seen_at <= $1 order by seen_at limit $2))
    and seen_at <= $1
  returning 1`

/** Returns how many. */
export function forgetMessageIds(db: Db, now: Date): Promise<number> {
  const forgotten = new Date(now.getTime() - DUPLICATE_WINDOW_MS)
  return inChunks(IDS_CHUNK, (limit) => db.query(FORGET, [forgotten, limit]))
}

/** Calls `take` until it takes less than it may, or too often. Returns the sum. */
export async function inChunks(
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
