// Holds of many members of one batch, in sets. The same rows and rules as in holds.ts.
import type { Hold } from '../../domain/state/holds.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { HOLD, IS_READY, WAIT_IS_FREE } from '../state/holds.ts'

interface NewHolds {
  readonly batchId: number
  readonly memberIds: readonly number[]
  readonly heldBy: string
  readonly reason: string
}

/** For members who are not held; the lock of holds keeps them so. */
export async function insertMemberHolds(
  tx: Tx,
  { batchId, memberIds, heldBy, reason }: NewHolds,
  now: Date,
): Promise<void> {
  await tx.query(
    `insert into holds (scope, target, batch_id, member_id, held_at, held_by, held_reason)
     select 'member', m.id::text, $1, m.id, $3, $4, $5 from unnest($2::bigint[]) as m (id)`,
    [batchId, idsParam(memberIds), now, heldBy, reason],
  )
}

export function loadMemberHolds(db: Queryable, memberIds: readonly number[]): Promise<Hold[]> {
  return db.query<Hold>(
    `select ${HOLD} from holds h where h.scope = 'member' and h.member_id = any($1::bigint[]) order by h.member_id`,
    [idsParam(memberIds)],
  )
}

export async function deleteMemberHolds(tx: Tx, memberIds: readonly number[]): Promise<void> {
  await tx.query(`delete from holds where scope = 'member' and member_id = any($1::bigint[])`, [
    idsParam(memberIds),
  ])
}

export async function countHeldMembers(db: Queryable, batchId: number): Promise<number> {
  const [row] = await db.query<{ held: number }>(
    `select count(*)::int as held from holds where scope = 'member' and batch_id = $1`,
    [batchId],
  )
  return row!.held
}

export async function markMembersWithdrawn(
  db: Queryable,
  memberIds: readonly number[],
  now: Date,
): Promise<void> {
  await db.query(
    `update holds set withdrawn_at = $2
      where scope = 'member' and member_id = any($1::bigint[]) and withdrawn_at is null`,
    [idsParam(memberIds), now],
  )
}

/** Unsettled jobs of these members. */
export async function countJobsOf(
  db: Queryable,
  batchId: number,
  memberIds: readonly number[],
): Promise<number> {
  const [row] = await db.query<{ jobs: number }>(
    `select count(*)::int as jobs from waits
      where batch_id = $1 and kind = 'job' and batch_member_id = any($2::bigint[])`,
    [batchId, idsParam(memberIds)],
  )
  return row!.jobs
}

/** Steps, retries and polls of these members that go out as soon as timers look. */
export async function countStartsOf(
  db: Queryable,
  batchId: number,
  memberIds: readonly number[],
  now: Date,
): Promise<number> {
  const [row] = await db.query<{ steps: number }>(
    `select count(*)::int as steps from waits w join batches b on b.id = w.batch_id
      where w.batch_id = $1 and w.batch_member_id = any($2::bigint[]) and ${WAIT_IS_FREE} and ${IS_READY}`,
    [batchId, idsParam(memberIds), now],
  )
  return row!.steps
}
