// Where messages are: in the queue, under a lease, among the dead letters, or gone. One statement, so a message that moves from one
// to the other is seen in one of them.
import type { Queryable } from '../../db/connection/db.ts'
import type { MessagePlace, Topic } from '../bus.ts'

interface FoundRow {
  readonly id: string
  readonly isDead: boolean
  readonly leasedUntil: Date | null
}

/** Longer than any message that failed waits to be tried again. */
const HIDDEN_MAX_MS = 600_000

// Scans the topic's rows, which the workers' windows keep few. A decided dead letter counts too: until it is noticed, its step waits. A
// result that stays hidden for longer is not on its way: a worker could hide one under the id of another's, which would be awaited forever.
const LOCATE = `
  select m.id, false as is_dead, p.leased_until
    from bundles p cross join lateral unnest(string_to_array(p.message_ids, E'\\n')) as m (id)
   where p.topic = $1 and m.id = any ($2::text[]) and (p.topic <> 'worker-results' or p.visible_at <= $3)
  union all
  select d.original_message_id, true, null from dead_letters d
   where d.topic = $1 and d.original_message_id = any ($2::text[]) and d.noticed_at is null`

export async function locate(
  db: Queryable,
  topic: Topic,
  messageIds: readonly string[],
  leaseMs: number,
  now: Date,
): Promise<MessagePlace[]> {
  if (messageIds.length === 0) return []
  const visibleBy = new Date(+now + HIDDEN_MAX_MS)
  const rows = await db.query<FoundRow>(LOCATE, [topic, messageIds, visibleBy])
  const places = new Map(rows.map((row) => [row.id, placeOf(row, leaseMs, now)]))
  return messageIds.map((id) => places.get(id) ?? { is: 'gone' })
}

function placeOf({ isDead, leasedUntil }: FoundRow, leaseMs: number, now: Date): MessagePlace {
  if (isDead) return { is: 'dead' }
  if (leasedUntil === null) return { is: 'queued' }
  if (leasedUntil > now) return { is: 'leased' }
  return { is: 'lapsed', renewedAt: new Date(+leasedUntil - leaseMs) }
}
