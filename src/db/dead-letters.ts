// Jobs among the dead letters, from the side of the state: each is noticed once, by the engine, which settles its step.
// What people do with dead letters (replay, discard) is the bus's own: src/bus/postgres/dead-letters.ts.
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

/**
 * Workers whose jobs may lie among the dead letters: those that announced themselves or were configured, and those that some lie of.
 * The second half is for the transport that keeps them here; it walks the index from name to name, however many lie of each.
 */
export async function listWorkersWithJobs(db: Queryable): Promise<string[]> {
  const isOpen = `topic = 'worker-jobs' and replayed_at is null and discarded_at is null`
  const rows = await db.query<{ id: string }>(
    `with recursive lying (name) as (
       (select subscription from dead_letters where ${isOpen} order by subscription limit 1)
       union all
       select (select d.subscription from dead_letters d where ${isOpen} and d.subscription > l.name order by d.subscription limit 1)
         from lying l where l.name is not null)
     select worker_id as id from workers
     union
     select substr(name, length('worker-') + 1) from lying where name is not null
     order by id`,
  )
  return rows.map(({ id }) => id)
}
