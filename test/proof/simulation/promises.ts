// What an operator may rely on once an action is answered: no worker can take a job of what is held or cancelled any more, and time
// on hold does not count.
import type { HoldTarget } from '../../../src/domain/state/holds.ts'
import type { HoldOrder } from '../../../src/engine/orders/holds.ts'
import type { World } from './world.ts'

/** Step `s` of batch `b` belongs to that system, runbook, worker, batch or member. */
const IN_SCOPE = `$2 = case $1 when 'system' then '' when 'runbook' then b.runbook_name when 'worker' then s.worker_id
  when 'batch' then b.id::text else s.batch_member_id::text end`

/** Jobs that a worker could still take although they should be withdrawn. Compensation survives a cancel. */
export async function untakenJobs(
  { db }: World,
  { scope, target }: HoldTarget,
  why: 'held' | 'cancelled',
): Promise<string[]> {
  const kinds =
    why === 'held' ? ['init', 'phase', 'rollback', 'removal', 'undo'] : ['init', 'phase']
  const rows = await db.query<{ id: string }>(
    `select q.message_id as id from messages q join step_executions s on s.job_id = q.message_id
       join batches b on b.id = s.batch_id
      where q.topic = 'worker-jobs' and q.lease_token is null and s.kind = any($3) and ${IN_SCOPE}
        and exists (select from waits w where w.step_id = s.id and w.kind = 'job')`,
    [scope, target, kinds],
  )
  return rows.map(({ id }) => `P7: ${scope} ${target} is ${why}, and job ${id} can still be taken`)
}

interface Waiting {
  readonly stepId: number
  readonly wakeAt: Date
  readonly expectedAt: Date
}

const TIMED = `w.kind in ('retry', 'poll') and w.wake_at is not null`

/**
 * Records the pending times under a hold; the returned function compares them after the resume. The time since the hold began counts,
 * up to the start of another hold that still covers the step.
 */
export async function heldShift(
  world: World,
  { scope, target }: HoldTarget,
): Promise<() => Promise<void>> {
  const { db, clock, found } = world
  const before = await db.query<Waiting>(
    `with all_holds as (
       select scope, target, held_at from holds
       union all
       select 'batch', id::text, held_at from batches where held_at is not null),
     covered as (
       select w.step_id, w.wake_at, w.since,
              min(h.held_at) filter (where h.scope = $1 and h.target = $2) as held_at,
              min(h.held_at) filter (where h.scope <> $1 or h.target <> $2) as other_at
         from waits w join step_executions s on s.id = w.step_id join batches b on b.id = w.batch_id
         join all_holds h on h.target = case h.scope when 'system' then '' when 'runbook' then b.runbook_name
                when 'worker' then s.worker_id when 'batch' then b.id::text else s.batch_member_id::text end
        where ${TIMED} group by w.step_id)
     select step_id, wake_at,
            wake_at + greatest(least($3::timestamptz, other_at) - greatest(held_at, since), interval '0') as expected_at
       from covered where held_at is not null`,
    [scope, target, clock.now()],
  )
  return async () => {
    const after = await db.query<{ stepId: number; wakeAt: Date }>(
      `select w.step_id, w.wake_at from waits w where ${TIMED}`,
    )
    const now = new Map(after.map(({ stepId, wakeAt }) => [stepId, wakeAt]))
    for (const { stepId, expectedAt } of before) {
      const wakeAt = now.get(stepId)
      if (wakeAt && +wakeAt !== +expectedAt)
        found.push(
          `R15: step ${stepId} wakes at ${wakeAt.toISOString()} after the hold, not at ${expectedAt.toISOString()}`,
        )
    }
  }
}

/** Holds in force, apart from those of batches. */
export const holdsOf = ({ db }: World): Promise<Pick<HoldOrder, 'scope' | 'target'>[]> =>
  db.query('select scope, target from holds order by held_at, scope, target')
