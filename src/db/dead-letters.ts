// Jobs among the dead letters, from the side of the state: each is noticed once, by the engine, which settles its step.
// What people do with dead letters (replay, discard) is the bus's own: src/bus/postgres-dead-letters.ts.
import type { Queryable } from './db.ts'

export interface DeadJob {
  readonly id: number
  readonly jobId: string
  readonly reason: string
  readonly description: string
}

/** Jobs that were put aside and whose steps do not know yet, oldest first. A job's message id is its job id. */
export function listDeadJobs(db: Queryable, limit: number): Promise<DeadJob[]> {
  return db.query<DeadJob>(
    `select id, original_message_id as "jobId", reason, description from dead_letters
      where topic = 'worker-jobs' and noticed_at is null order by id limit $1`,
    [limit],
  )
}

export async function markNoticed(db: Queryable, ids: readonly number[], now: Date): Promise<void> {
  if (ids.length === 0) return
  await db.query(
    'update dead_letters set noticed_at = $2 where id = any($1::bigint[]) and noticed_at is null',
    [ids, now],
  )
}
