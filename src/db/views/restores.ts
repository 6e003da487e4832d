// What ran after the backup, as far as it is known: results of earlier epochs that arrived since the last restore, each job once. Jobs that
// the backup itself knows as ended are left out: by their attempt, or as an earlier poll, which leaves none when it says nothing new.
import type { Queryable } from '../connection/db.ts'

export interface RanAfterBackup {
  readonly id: number
  readonly heardAt: Date
  readonly jobId: string
  readonly functionName: string | null
  readonly status: 'Success' | 'Failure'
  readonly endedAt: string | null
  readonly workerId: string | null
  /** The rest is null when the backup does not know the step. */
  readonly batchId: number | null
  readonly memberKey: string | null
  readonly stepName: string | null
  readonly stepStatus: string | null
}

const RAN = `events e
  left join step_executions s on s.id = e.step_id
  left join batch_members m on m.id = e.batch_member_id
 where e.event = 'result_before_restore'
   and e.at >= (select began_at from epochs order by number desc limit 1)
   and not exists (select from events f where f.event = 'result_before_restore' and f.job_id = e.job_id and f.id < e.id
                    and f.at >= (select began_at from epochs order by number desc limit 1))
   and not exists (select from attempts a where a.step_id = e.step_id and a.job_id = e.job_id and a.outcome <> 'lost')
   and not (coalesce(e.attempt = s.attempt, false)
            and coalesce(substring(e.job_id from '-poll-([0-9]+)')::int < s.poll_count, false))`

/** Oldest first, after the id. */
export function listRanAfterBackup(
  db: Queryable,
  afterId: number,
  limit: number,
): Promise<RanAfterBackup[]> {
  return db.query<RanAfterBackup>(
    `select e.id, e.at as heard_at, e.job_id, e.details->>'functionName' as function_name,
            e.details->>'status' as status, e.details->>'endedAt' as ended_at, e.details->>'workerId' as worker_id,
            s.batch_id, m.member_key, s.step_name, s.status as step_status
       from ${RAN} and e.id > $1 order by e.id limit $2`,
    [afterId, limit],
  )
}

export async function countRanAfterBackup(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(`select count(*)::int as count from ${RAN}`)
  return row!.count
}

export interface LastRestore {
  readonly epoch: string
  readonly at: Date
  readonly by: string
  readonly because: string
  readonly backupAt: Date
}

export async function findLastRestore(db: Queryable): Promise<LastRestore | null> {
  const rows = await db.query<LastRestore>(
    `select epoch, began_at as at, begun_by as by, because, backup_at
       from epochs where number > 0 order by number desc limit 1`,
  )
  return rows[0] ?? null
}
