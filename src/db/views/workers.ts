// Workers as people see them: what they announced, their jobs, their queue and their hold.
import type { AnnouncedThrottle } from '../../domain/messages/messages.ts'
import type { WorkerFacts } from '../../domain/needs/stuck.ts'
import type { Queryable } from '../connection/db.ts'
import { listWorkersWithQueue } from '../state/waits.ts'
import type { JobLimitFacts } from '../state/workers.ts'

const FACTS = `k.worker_id, w.worker_id is not null as is_known, coalesce(w.is_configured, false) as is_configured,
  w.last_seen_at, w.slots, w.job_ms, w.pace_json as pace, w.max_outstanding, o.outstanding,
  o.oldest_sent_at`
const LOAD = `cross join lateral (
       select count(*)::int as outstanding, min(since) as oldest_sent_at from waits o
        where o.worker_id = k.worker_id and o.kind = 'job') as o`

/** All but the job limit, which follows from these (engine/transactions/worker-pace.ts). */
export interface WorkerLoad
  extends Omit<WorkerFacts, 'jobLimit'>,
    Pick<JobLimitFacts, 'slots' | 'jobMs' | 'maxOutstanding' | 'pace'> {}

/** Includes workers that never announced themselves. */
export function listWorkerFacts(db: Queryable, workerIds: Iterable<string>): Promise<WorkerLoad[]> {
  return db.query<WorkerLoad>(
    `select ${FACTS} from unnest($1::text[]) as k (worker_id) left join workers w on w.worker_id = k.worker_id ${LOAD}`,
    [[...workerIds]],
  )
}

export interface WorkerLine extends WorkerLoad {
  readonly version: string | null
  readonly firstSeenAt: Date | null
  readonly functions: readonly string[]
  /** As announced last. */
  readonly throttles: readonly AnnouncedThrottle[]
  /** Steps that wait for a slot, at most `WAITING_COUNTED_MAX`. */
  readonly waiting: number
  readonly heldAt: Date | null
  readonly heldBy: string | null
  readonly heldReason: string | null
}

export const WAITING_COUNTED_MAX = 10_000

/** Announced and configured workers, and unknown ones that steps wait for, by name; or one of them. */
export async function listWorkers(
  db: Queryable,
  only: string | null = null,
): Promise<WorkerLine[]> {
  const wanted = await listWorkersWithQueue(db)
  return db.query<WorkerLine>(
    `select ${FACTS}, w.version, w.first_seen_at,
            coalesce(jsonb_path_query_array(w.functions_json, '$[*].name'), '[]') as functions,
            coalesce(w.throttles_json, '[]') as throttles,
            (select count(*)::int from (select from waits o where o.worker_id = k.worker_id and o.kind = 'slot' limit $2) as o)
              as waiting,
            h.held_at, h.held_by, h.held_reason
       from (select worker_id from workers union select unnest($1::text[])) as k (worker_id)
       left join workers w on w.worker_id = k.worker_id
       left join holds h on h.scope = 'worker' and h.target = k.worker_id ${LOAD}
      where $3::text is null or k.worker_id = $3
      order by k.worker_id`,
    [wanted, WAITING_COUNTED_MAX, only],
  )
}
