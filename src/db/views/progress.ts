// A batch's progress for watch screens, from counters and events; steps are never counted. The statements lock nothing.
import { phaseOrder } from '../../domain/decide/next.ts'
import { throughputOf } from '../../domain/forecast/pace.ts'
import type { Progress, ProgressEvent } from '../../domain/forecast/progress.ts'
import { phaseEnds } from '../../domain/forecast/running.ts'
import type { Queryable } from '../connection/db.ts'
import { loadPhases } from '../state/facts.ts'
import { BATCH_IS_FREE } from '../state/holds.ts'
import { loadPaces } from './batch-summary.ts'

/** Null when the batch does not exist. */
export async function loadProgress(
  db: Queryable,
  batchId: number,
  now: Date,
): Promise<Progress | null> {
  const rows = await db.query<Progress['batch']>(
    `select id, runbook_name, status, batch_start_time as start_time, held_reason,
            members_active, members_failed, members_removed
       from batches where id = $1`,
    [batchId],
  )
  const batch = rows[0]
  if (!batch) return null
  const phases = phaseOrder(await loadPhases(db, batchId))
  const paces = await loadPaces(db, [batchId], now)
  const { stepsPerMin } = throughputOf(paces.get(batchId)!, phases, now)
  return { batch, phases, ends: phaseEnds(phases, stepsPerMin, now) }
}

/**
 * Events after this id, in order. On the embedded database, with its one connection, ids have no gaps. On a server concurrent chunks
 * commit out of order: there the API's feed waits for gaps.
 */
export async function listProgressEvents(
  db: Queryable,
  batchId: number,
  after: number,
  limit: number,
): Promise<ProgressEvent[]> {
  return db.query<ProgressEvent>(
    `select e.id, e.at, e.entity, e.event, e.because, e.actor, m.member_key, p.phase_name,
            s.step_name, s.kind as step_kind
       from events e
       left join batch_members m on m.id = e.batch_member_id
       left join phase_executions p on p.id = e.phase_id
       left join step_executions s on s.id = e.step_id
      where e.batch_id = $1 and e.id > $2 order by e.id limit $3`,
    [batchId, after, limit],
  )
}

/**
 * Polls of a batch: the highest number of each attempt, as most leave no attempt and no event. Reads every step that was polled: for the
 * demonstration and for rehearsals.
 */
export async function countPolls(db: Queryable, batchId: number): Promise<number> {
  const rows = await db.query<{ count: number }>(
    `select coalesce(sum(polls), 0)::int as count from ${POLLS_OF_ATTEMPTS} as p where batch_id = $1`,
    [batchId],
  )
  return rows[0]!.count
}

/** One row per attempt that was polled: (batch_id, step_id, attempt, polls). */
export const POLLS_OF_ATTEMPTS = `
  (select batch_id, step_id, attempt, max(poll) as polls
     from (select batch_id, step_id, attempt, poll from attempts where poll > 0
           union all
           select batch_id, id, attempt, poll_count from step_executions where poll_count > 0) as known
    group by 1, 2, 3)`

/**
 * When the next wait or phase falls due, if no step is in progress; null when one is, or nothing is scheduled. A virtual clock may
 * skip to that time once the bus is empty too.
 */
export async function findQuietUntil(db: Queryable): Promise<Date | null> {
  const rows = await db.query<{ at: Date | null }>(
    `select case
              when exists (select from waits where kind in ('slot', 'job'))
                or exists (select from phase_executions where status = 'dispatched' and expanded_at is null) then null
              else least(
                (select min(wake_at) from waits where wake_at is not null),
                (select min(p.due_at) from phase_executions p join batches b on b.id = p.batch_id
                  where p.status = 'pending' and b.status = 'active' and ${BATCH_IS_FREE}))
            end as at`,
  )
  return rows[0]?.at ?? null
}
