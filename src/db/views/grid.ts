// Members and steps of a batch for its grid: a window of rows by number, or everything counted in buckets of neighbouring members.
import type { GridCount, GridStep } from '../../domain/needs/grid.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'

/** Ids in the order of the grid. Members are only ever appended, so a row number keeps its member. */
export async function listRowIds(
  db: Queryable,
  batchId: number,
  from: number,
  limit: number,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    'select id from batch_members where batch_id = $1 order by id offset $2 limit $3',
    [batchId, from, limit],
  )
  return rows.map(({ id }) => id)
}

/** Phase steps of these members, oldest first; those of superseded phases are left out. */
export function listGridSteps(db: Queryable, memberIds: readonly number[]): Promise<GridStep[]> {
  return db.query<GridStep>(
    `select s.batch_member_id as member_id, p.phase_name, s.step_name, s.status
       from step_executions s join phase_executions p on p.id = s.phase_execution_id
      where s.kind = 'phase' and s.batch_member_id = any($1::bigint[]) and p.status <> 'superseded'
      order by s.id`,
    [idsParam(memberIds)],
  )
}

/** Steps counted by place and status in buckets of so many neighbouring members. Reads every step of the batch. */
export function countGridSteps(
  db: Queryable,
  batchId: number,
  membersPerBucket: number,
): Promise<GridCount[]> {
  return db.query<GridCount>(
    `with rows as materialized (
       select id, ((row_number() over (order by id) - 1) / $2)::int as bucket from batch_members where batch_id = $1)
     select s.bucket, p.phase_name, s.step_name, s.status, s.count
       from (select r.bucket, s.phase_execution_id, lower(s.step_name) as step_name, s.status, count(*)::int as count
               from step_executions s join rows r on r.id = s.batch_member_id
              where s.batch_id = $1 and s.kind = 'phase' group by 1, 2, 3, 4) as s
       join phase_executions p on p.id = s.phase_execution_id and p.status <> 'superseded'`,
    [batchId, membersPerBucket],
  )
}
