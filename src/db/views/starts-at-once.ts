// What is ready to go in some batches: their state, and the steps that wait for their resume.

import type { StepStart } from '../../domain/plan/starts-at-once.ts'
import type { Batch } from '../../domain/state/facts.ts'
import type { HoldTarget } from '../../domain/state/holds.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { BATCH_HELD_AT, FALLS_DUE, GOES_OUT, MEMBER_IS_FREE } from '../state/holds.ts'

const STEPS_LISTED_MAX = 50
const BATCHES_LISTED_MAX = 50

export type StartingBatch = Pick<
  Batch,
  'id' | 'status' | 'heldAt' | 'membersActive' | 'runbookName' | 'runbookVersion'
>

export function listStartingBatches(
  db: Queryable,
  batchIds: readonly number[],
): Promise<StartingBatch[]> {
  return db.query<StartingBatch>(
    `select id, status, ${BATCH_HELD_AT} as held_at, members_active, runbook_name,
            runbook_version
       from batches b where id = any($1::bigint[]) order by id`,
    [idsParam(batchIds)],
  )
}

/** Steps of held batches that go out at the resume, by name: they wait for a slot, or were due when the hold began. */
export function listHeldSteps(db: Queryable, batchIds: readonly number[]): Promise<StepStart[]> {
  return db.query<StepStart>(
    `select b.id as batch_id, p.phase_name, s.step_name,
            count(distinct w.batch_member_id)::int as people
       from batches b join waits w on w.batch_id = b.id join step_executions s on s.id = w.step_id
       left join phase_executions p on p.id = s.phase_execution_id
      where b.id = any($1::bigint[]) and b.held_at is not null and ${MEMBER_IS_FREE}
        and not exists (select from holds h where h.scope = 'worker' and h.target = w.worker_id)
        and (w.kind = 'slot' or (w.kind <> 'job' and w.wake_at <= b.held_at))
      group by b.id, p.id, s.step_name order by b.id, p.id nulls first, min(s.step_index) limit $2`,
    [idsParam(batchIds), STEPS_LISTED_MAX],
  )
}

/** Steps that go out now that a hold has ended, by name; the first ones. */
export function listStepsOfResume(
  db: Queryable,
  { scope, target }: HoldTarget,
  now: Date,
): Promise<StepStart[]> {
  return db.query<StepStart>(
    `select b.id as batch_id, p.phase_name, s.step_name,
            count(distinct w.batch_member_id)::int as people
       from waits w join batches b on b.id = w.batch_id join step_executions s on s.id = w.step_id
       left join phase_executions p on p.id = s.phase_execution_id
      where ${GOES_OUT}
      group by b.id, p.id, s.step_name order by b.id, p.id nulls first, min(s.step_index) limit $4`,
    [scope, target, now, STEPS_LISTED_MAX],
  )
}

/** Batches with phases that start now that a hold has ended; the first ones. */
export async function listBatchesOfResume(
  db: Queryable,
  { scope, target }: HoldTarget,
  now: Date,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `select distinct b.id from phase_executions p join batches b on b.id = p.batch_id
      where ${FALLS_DUE} order by b.id limit $4`,
    [scope, target, now, BATCHES_LISTED_MAX],
  )
  return rows.map(({ id }) => id)
}
