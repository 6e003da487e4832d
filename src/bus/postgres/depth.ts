// Readiness and depth of the postgres transport, read on request.
import type { Queryable } from '../../db/connection/db.ts'
import type { BusDepth, TopicDepth } from '../bus.ts'
import { countDeadLetters } from '../dead-letters.ts'

/** Whether the bus's tables answer. */
export async function isReady(db: Queryable): Promise<boolean> {
  const rows = await db.query('select exists (select from bundles)')
  return rows.length === 1
}

export async function loadDepth(db: Queryable, now: Date): Promise<BusDepth> {
  return {
    messages: await db.query<TopicDepth>(
      `select topic, sum(size)::int as count, min(visible_at) filter (where visible_at <= $1) as oldest_at
         from bundles group by topic order by topic`,
      [now],
    ),
    deadLetters: await countDeadLetters(db),
  }
}
