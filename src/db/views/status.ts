// The state of everything, for one screen: phases that run or come next, failed people by batch, sources. Each list is bounded.
import type { FailedBatch } from '../../domain/needs/from-work.ts'
import type { PhaseStatus } from '../../domain/state/transitions.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { FAILED_STEPS, UNFINISHED_BATCHES } from '../connection/status-lists.ts'
import { IS_NOT_LATER } from './people.ts'
import { IS_TAKEN_BACK } from './person-states.ts'

export interface PhaseOutlook {
  readonly batchId: number
  readonly runbookName: string
  readonly phaseName: string
  readonly status: PhaseStatus
  readonly dueAt: Date | null
  readonly startedAt: Date | null
  readonly isManual: boolean
  readonly heldAt: Date | null
  readonly membersTotal: number
  readonly membersDone: number
  readonly membersActive: number
}

/** Of unfinished batches: every running phase, and the next one of each; running ones first, then by time. */
export function listPhaseOutlook(
  db: Queryable,
  limit: number,
  batchId: number | null = null,
): Promise<PhaseOutlook[]> {
  return db.query<PhaseOutlook>(
    `select p.batch_id, p.runbook_name, p.phase_name, p.status, p.due_at,
            p.dispatched_at as started_at, p.is_manual, p.held_at, p.members_total,
            p.members_passed + p.members_failed + p.members_stopped + p.members_removed as members_done,
            p.members_active
       from (select p.*, b.runbook_name, b.is_manual, b.held_at, b.members_active,
                    row_number() over (partition by p.batch_id, p.status order by p.due_at, p.offset_minutes desc, p.phase_index) as place
               from phase_executions p join batches b on b.id = p.batch_id
              where b.status in ${UNFINISHED_BATCHES} and p.status in ('dispatched', 'pending') and ($2::bigint is null or b.id = $2)) as p
      where p.status = 'dispatched' or p.place = 1
      order by p.status, p.due_at nulls last, p.batch_id limit $1`,
    [limit, batchId],
  )
}

/**
 * Unfinished batches with a phase or a wait that was due before `late`, or with waits for one of these workers; oldest first. A batch
 * that is stuck is among them; not all of them are stuck.
 */
export async function listLateBatches(
  db: Queryable,
  late: Date,
  workerIds: readonly string[],
  limit: number,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `select b.id from batches b
      where b.status in ${UNFINISHED_BATCHES} and b.id in (
        select p.batch_id from phase_executions p where p.status = 'pending' and p.due_at < $1
        union
        select w.batch_id from waits w where w.wake_at < $1
        union
        select w.batch_id from waits w where w.worker_id = any($2::text[]) and w.kind = 'slot'
        union
        select w.batch_id from waits w where w.worker_id = any($2::text[]) and w.kind <> 'slot')
      order by b.id limit $3`,
    [late, [...workerIds], limit],
  )
  return rows.map(({ id }) => id)
}

/**
 * Batches with failed people or a failed init, newest first. Who was taken back on purpose, or is in a later wave of the runbook, counts
 * no more.
 */
export function listFailedBatches(
  db: Queryable,
  limit: number,
  { runbookName, batchId }: { runbookName?: string | undefined; batchId?: number | undefined } = {},
): Promise<FailedBatch[]> {
  return db.query<FailedBatch>(
    `select b.id, b.failure_revision, b.runbook_name, b.members_failed - gone.count as members_failed, b.ended_at,
            b.failed_in_init, coalesce((
              select s.completed_at from step_executions s
               where s.batch_id = b.id and s.error_message is not null and s.status in ${FAILED_STEPS} order by s.id limit 1),
              b.detected_at) as since
       from batches b
      cross join lateral (
        select count(*)::int as count from batch_members m
         where m.batch_id = b.id and m.status = 'failed' and b.members_failed > 0 and (${IS_TAKEN_BACK} or not ${IS_NOT_LATER})) as gone
      where (b.members_failed > gone.count or b.failed_in_init)
        and ($2::text is null or b.runbook_name = lower($2)) and ($3::bigint is null or b.id = $3) order by b.id desc limit $1`,
    [limit, runbookName ?? null, batchId ?? null],
  )
}

/** The keys of these members. */
export async function keysOfMembers(
  db: Queryable,
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const rows = await db.query<{ id: number; key: string }>(
    'select id, member_key as key from batch_members where id = any($1::bigint[])',
    [idsParam(ids)],
  )
  return new Map(rows.map(({ id, key }) => [id, key]))
}

export interface SourceOutlook {
  readonly runbookName: string
  readonly lastTickAt: Date | null
  readonly lastOutcome: string | null
  readonly nextTickAt: Date | null
}

/** Sources that are queried automatically. */
export function listSourceOutlook(db: Queryable, limit: number): Promise<SourceOutlook[]> {
  return db.query<SourceOutlook>(
    `select r.name as runbook_name, t.started_at as last_tick_at, t.outcome as last_outcome, s.due_at as next_tick_at
       from runbooks r
       join runbook_automation_settings a on a.runbook_name = lower(r.name) and a.automation_enabled
       left join source_states s on s.runbook_name = lower(r.name)
       left join lateral (select started_at, outcome from source_ticks t
                           where t.runbook_name = lower(r.name) order by t.id desc limit 1) as t on true
      where r.is_active order by lower(r.name) limit $1`,
    [limit],
  )
}
