// Messages as a foreign sender or another transport might deliver them: straight into the queue, without our own checks.
import { randomUUID } from 'node:crypto'
import type { Json } from '../../src/base/text/json.ts'
import type { World } from './world.ts'

export interface Envelope {
  readonly topic?: 'worker-results' | 'orchestrator-events'
  readonly type?: string
  /** Whom the transport guarantees as the sender. */
  readonly workerId?: string | null
}

/** A body given as text is delivered unchanged. */
export async function deliver(
  { db, clock }: World,
  body: Json,
  { topic = 'worker-results', type = 'worker-result', workerId = null }: Envelope = {},
): Promise<void> {
  const now = clock.now()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  await db.query(
    `insert into bundles (topic, subscription, message_ids, size, message_type, bodies, enqueued_at, visible_at, expires_at, worker_id)
     values ($1, 'orchestrator', $2, 1, $3, $4, $5, $5, $6, $7)`,
    [topic, randomUUID(), type, text, now, new Date(+now + 3_600_000), workerId],
  )
}

/** `Unreadable: The body (3 characters) is not JSON.`, oldest first. */
export async function deadLettersOf({ db }: World): Promise<string[]> {
  const rows = await db.query<{ said: string }>(
    `select reason || ': ' || description as said from dead_letters order by id`,
  )
  return rows.map(({ said }) => said)
}
