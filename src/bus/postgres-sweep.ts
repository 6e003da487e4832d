// Housekeeping of the postgres transport, called every few seconds: messages that expired with nobody looking go to the dead
// letters, message ids older than the duplicate window are forgotten. Both in bounded chunks, so that a run after a long
// standstill neither holds locks for long nor starves the senders; what it leaves, the next run takes.
import type { Db } from '../db/db.ts'
import { DUPLICATE_WINDOW_MS, EXPIRED } from './bus.ts'
import { EXPIRED_DESCRIPTION, movingToDeadLetters } from './postgres-queue.ts'

const EXPIRED_CHUNK = 1_000
/** 10,000 ids take 40 ms; 20 chunks every 5 s keep up with 40,000 messages a second. */
const IDS_CHUNK = 10_000
const CHUNKS_MAX = 20

export interface Swept {
  readonly expired: number
  readonly idsForgotten: number
}

// A leased message may expire: it is still its consumer's to settle, and is looked at again when the lease has ended.
const EXPIRE = `${movingToDeadLetters(
  `delete from messages m where ctid = any (array(
     select ctid from messages where expires_at <= $1 and visible_at <= $1
       and (leased_until is null or leased_until <= $1)
     order by expires_at limit $2
     for update skip locked))`,
  '$3, $4',
  'delivery_count',
)} returning id`

// The second look at seen_at is for an id that a sender has used anew since the inner select saw it.
const FORGET = `
  delete from message_ids
  where ctid = any (array(
      select ctid from message_ids where seen_at <= $1 order by seen_at limit $2))
    and seen_at <= $1
  returning 1`

export async function sweepBus(db: Db, now: Date): Promise<Swept> {
  const forgotten = new Date(now.getTime() - DUPLICATE_WINDOW_MS)
  const expired = await inChunks(EXPIRED_CHUNK, (limit) =>
    db.query(EXPIRE, [now, limit, EXPIRED, EXPIRED_DESCRIPTION]),
  )
  const idsForgotten = await inChunks(IDS_CHUNK, (limit) => db.query(FORGET, [forgotten, limit]))
  return { expired, idsForgotten }
}

async function inChunks(
  size: number,
  take: (limit: number) => Promise<readonly unknown[]>,
): Promise<number> {
  let total = 0
  for (let chunk = 0; chunk < CHUNKS_MAX; chunk += 1) {
    const taken = (await take(size)).length
    total += taken
    if (taken < size) break
  }
  return total
}
