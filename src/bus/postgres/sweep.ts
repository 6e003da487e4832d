// Housekeeping of the postgres transport: expired messages go to the dead letters, message ids older than the duplicate window
// are deleted. Both in bounded chunks, so that a run after a long outage neither locks for long nor starves senders; the next run
// continues.
import type { Db } from '../../db/connection/db.ts'
import { EXPIRED, TIME_TO_LIVE_MAX_MS } from '../bus.ts'
import { forgetMessageIds, inChunks } from '../message-ids.ts'
import { EXPIRED_DESCRIPTION, movingToDeadLetters } from './lease.ts'

/** Bundles, of up to 500 messages each. */
const EXPIRED_CHUNK = 100

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

export async function sweepBus(db: Db, now: Date): Promise<SweepCounts> {
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
  const idsForgotten = await forgetMessageIds(db, now)
  return { expired, idsForgotten }
}
