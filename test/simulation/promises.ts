// What an operator may rely on once an action is answered: no worker can take a job of a held or cancelled batch any more, and time
// on hold does not count.
import type { World } from './world.ts'

/** Jobs of the batch that a worker could still take although they should be withdrawn. Compensation survives a cancel. */
export async function untakenJobs(
  { db }: World,
  batchId: number,
  why: 'held' | 'cancelled',
): Promise<string[]> {
  const kinds = why === 'held' ? ['init', 'phase', 'rollback', 'removal'] : ['init', 'phase']
  const rows = await db.query<{ id: string }>(
    `select q.message_id as id from messages q join step_executions s on s.job_id = q.message_id
      where q.topic = 'worker-jobs' and q.lease_token is null and s.batch_id = $1 and s.kind = any($2)
        and exists (select from waits w where w.step_id = s.id and w.kind = 'job')`,
    [batchId, kinds],
  )
  return rows.map(({ id }) => `P7: batch ${batchId} is ${why}, and job ${id} can still be taken`)
}

interface Waiting {
  readonly stepId: number
  readonly wakeAt: Date
  readonly expectedAt: Date
}

const TIMED = `w.kind in ('retry', 'poll') and w.wake_at is not null`

/** Records the pending times of a held batch; the returned function compares them after the resume. */
export async function heldShift(world: World, batchId: number): Promise<() => Promise<void>> {
  const { db, clock, found } = world
  const before = await db.query<Waiting>(
    `select w.step_id as "stepId", w.wake_at as "wakeAt",
            w.wake_at + ($2::timestamptz - greatest(b.held_at, w.since)) as "expectedAt"
       from waits w join batches b on b.id = w.batch_id and b.held_at is not null
      where w.batch_id = $1 and ${TIMED}`,
    [batchId, clock.now()],
  )
  return async () => {
    const after = await db.query<{ stepId: number; wakeAt: Date }>(
      `select w.step_id as "stepId", w.wake_at as "wakeAt" from waits w where w.batch_id = $1 and ${TIMED}`,
      [batchId],
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
