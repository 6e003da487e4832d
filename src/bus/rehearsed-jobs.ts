// For rehearsals, which have a database of their own: jobs that wait for the end of a running batch's past are older than the week that a
// message lives.
import type { Queryable } from '../db/connection/db.ts'

export async function keepJobsUntil(db: Queryable, at: Date): Promise<void> {
  const sql = `update bundles set expires_at = $1 where topic = 'worker-jobs' and expires_at < $1`
  await db.query(sql, [at])
}
