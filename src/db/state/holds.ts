// Holds in force. A transaction that sends jobs shares the lock of holds and reads them under it; setting or ending a hold takes the
// lock exclusively. So nothing is sent once a hold is committed. It is a lock of the table: only who may write holds can take it, while any
// role of the database can take an advisory lock, and a worker's once kept every hold waiting for a minute.
import {
  HOLD_SCOPES,
  type Hold,
  type HoldScope,
  type HoldTarget,
} from '../../domain/state/holds.ts'
import { idsParam } from '../connection/arrays.ts'
import { Conditions } from '../connection/conditions.ts'
import type { Queryable, Tx } from '../connection/db.ts'

/** The row `h` of holds covers the batch `b` as a whole. */
const COVERS_BATCH = `(h.scope = 'system' or (h.scope = 'runbook' and h.target = b.runbook_name))`

/** The row `h` of holds covers the wait `w` of batch `b`. */
const COVERS_WAIT = `(${COVERS_BATCH} or (h.scope = 'worker' and h.target = w.worker_id)
  or (h.scope = 'member' and h.member_id = w.batch_member_id))`

/** Since when batch `b` is held as a whole; null when it is not. */
export const BATCH_HELD_AT = `least(b.held_at, (select min(h.held_at) from holds h where ${COVERS_BATCH}))`

/** Batch `b` is not held as a whole. */
export const BATCH_IS_FREE = `(b.held_at is null and not exists (select from holds h where ${COVERS_BATCH}))`

/** The member of the wait `w` is not held. */
export const MEMBER_IS_FREE = `not exists (select from holds h where h.scope = 'member' and h.member_id = w.batch_member_id)`

/** No hold covers the wait `w` of batch `b`. Members by their index: thousands of them may be held. */
export const WAIT_IS_FREE = `(b.held_at is null and ${MEMBER_IS_FREE} and not exists (select from holds h
  where h.scope in ('system', 'runbook', 'worker') and (${COVERS_BATCH} or (h.scope = 'worker' and h.target = w.worker_id))))`

export const HOLD = `h.scope, h.target, h.batch_id, h.member_id,
  (select member_key from batch_members m where m.id = h.member_id) as member_key,
  h.held_at, h.held_by, h.held_reason as reason`

const HOLD_OF_BATCH = `'batch' as scope, b.id::text as target, null::bigint as batch_id, null::bigint as member_id,
  null as member_key, b.held_at, b.held_by, b.held_reason as reason`

/** Holds that concern the batch, besides its own. */
export const loadHolds = (db: Queryable, batchId: number): Promise<Hold[]> =>
  loadHoldsOf(db, [batchId])

/** Holds that concern any of the batches, besides their own. Each part by an index, for kept query plans. */
export function loadHoldsOf(db: Queryable, batchIds: readonly number[]): Promise<Hold[]> {
  return db.query<Hold>(
    `select ${HOLD} from holds h where h.scope in ('system', 'worker')
     union all
     select ${HOLD} from holds h
      where h.scope = 'runbook' and h.target = any(array(select runbook_name from batches where id = any($1::bigint[])))
     union all
     select ${HOLD} from holds h where h.scope = 'member' and h.batch_id = any($1::bigint[])`,
    [idsParam(batchIds)],
  )
}

/** The same under the lock that senders share: no hold begins or ends before this transaction has. */
export async function shareHolds(tx: Tx, batchIds: readonly number[]): Promise<Hold[]> {
  const [, holds] = await Promise.all([
    tx.query('lock table holds in row share mode'),
    loadHoldsOf(tx, batchIds),
  ])
  return holds
}

/** Waits for the transactions that are sending. Take it last and end soon: senders wait. */
export async function lockHolds(tx: Tx): Promise<void> {
  await tx.query('lock table holds in exclusive mode')
}

export async function findHold(db: Queryable, { scope, target }: HoldTarget): Promise<Hold | null> {
  const rows = await db.query<Hold>(
    scope === 'batch'
      ? `select ${HOLD_OF_BATCH} from batches b where b.held_at is not null and $1 = 'batch' and b.id::text = $2`
      : `select ${HOLD} from holds h where h.scope = $1 and h.target = $2`,
    [scope, target],
  )
  return rows[0] ?? null
}

export interface NewHold extends HoldTarget {
  readonly batchId: number | null
  readonly memberId: number | null
  readonly heldBy: string
  readonly reason: string
}

/** False when it is held already. */
export async function insertHold(
  tx: Tx,
  { scope, target, batchId, memberId, heldBy, reason }: NewHold,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into holds (scope, target, batch_id, member_id, held_at, held_by, held_reason) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict do nothing returning scope`,
    [scope, target, batchId, memberId, now, heldBy, reason],
  )
  return rows.length > 0
}

export async function deleteHold(tx: Tx, { scope, target }: HoldTarget): Promise<void> {
  await tx.query('delete from holds where scope = $1 and target = $2', [scope, target])
}

export async function writeHoldReason(
  tx: Tx,
  { scope, target }: HoldTarget,
  reason: string,
): Promise<void> {
  await tx.query('update holds set held_reason = $3 where scope = $1 and target = $2', [
    scope,
    target,
    reason,
  ])
}

/** Holds whose jobs may not be withdrawn yet. */
export function listUnfinishedHolds(db: Queryable): Promise<Hold[]> {
  return db.query<Hold>(
    `select ${HOLD} from holds h where h.withdrawn_at is null order by h.held_at, h.scope, h.target`,
  )
}

export async function markWithdrawn(
  db: Queryable,
  { scope, target }: HoldTarget,
  now: Date,
): Promise<void> {
  await db.query(
    'update holds set withdrawn_at = $3 where scope = $1 and target = $2 and withdrawn_at is null',
    [scope, target, now],
  )
}

/** The wait `w` of batch `b` belongs to the scope `$1` with the target `$2`. */
const IN_SCOPE = `case $1 when 'system' then true when 'runbook' then b.runbook_name = $2 when 'worker' then w.worker_id = $2
  when 'batch' then b.id::text = $2 else w.batch_member_id::text = $2 end`

/** Batches with waits in the scope, or only with unsettled jobs, by id. */
export async function listBatchesIn(
  db: Queryable,
  { scope, target }: HoldTarget,
  which: 'waits' | 'jobs',
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `select distinct w.batch_id as id from waits w join batches b on b.id = w.batch_id
      where ${IN_SCOPE} and ($3 or w.kind = 'job') order by id`,
    [scope, target, which === 'waits'],
  )
  return rows.map(({ id }) => id)
}

export async function countJobsIn(db: Queryable, { scope, target }: HoldTarget): Promise<number> {
  const [row] = await db.query<{ jobs: number }>(
    `select count(*)::int as jobs from waits w join batches b on b.id = w.batch_id where ${IN_SCOPE} and w.kind = 'job'`,
    [scope, target],
  )
  return row!.jobs
}

/**
 * Postpones retries and polls in the scope by the time they were held, up to the start of the oldest other hold that still covers
 * them: the end of that one adds the rest, so overlapping holds count once. `batchIds` are locked.
 */
export async function postponeWaits(
  tx: Tx,
  { scope, target }: { readonly scope: HoldScope; readonly target: string },
  batchIds: readonly number[],
  heldAt: Date,
  now: Date,
): Promise<void> {
  const held = `
    select w.step_id, w.since, $4::timestamptz as held_at,
           least($5::timestamptz, case when $1 <> 'batch' then b.held_at end,
                 (select min(h.held_at) from holds h where (h.scope, h.target) <> ($1, $2) and ${COVERS_WAIT})) as until
      from waits w join batches b on b.id = w.batch_id
     where w.batch_id = any($3::bigint[]) and ${IN_SCOPE}`
  await postpone(tx, held, [scope, target, batchIds, heldAt, now])
}

/** The same for members with holds of their own, each by the time of its own. Their batch is locked. */
export async function postponeMembers(
  tx: Tx,
  batchId: number,
  memberIds: readonly number[],
  now: Date,
): Promise<void> {
  const held = `
    select w.step_id, w.since, own.held_at,
           least($3::timestamptz, b.held_at,
                 (select min(h.held_at) from holds h where h.scope <> 'member' and ${COVERS_WAIT})) as until
      from waits w join batches b on b.id = w.batch_id
      join holds own on own.scope = 'member' and own.member_id = w.batch_member_id
     where w.batch_id = $1 and w.batch_member_id = any($2::bigint[])`
  await postpone(tx, held, [batchId, idsParam(memberIds), now])
}

/** `held`: the waits with the start and the end of the time that does not count. */
async function postpone(tx: Tx, held: string, values: readonly unknown[]): Promise<void> {
  const by = (from: string) =>
    `greatest(held.until - greatest(held.held_at, ${from}), interval '0')`
  await tx.query(
    `with held as (${held})
     update step_executions s
        set retry_after = s.retry_after + ${by('held.since')},
            poll_timeout_at = s.poll_timeout_at + ${by('s.poll_started_at')}
       from held where s.id = held.step_id and (s.retry_after is not null or s.poll_timeout_at is not null)`,
    values,
  )
  await tx.query(
    `with held as (${held})
     update waits w set wake_at = w.wake_at + ${by('held.since')}
       from held where w.step_id = held.step_id and w.kind <> 'job' and w.wake_at is not null`,
    values,
  )
}

/** Moved members stay held in their new batch. */
export async function moveHolds(
  tx: Tx,
  toBatchId: number,
  pairs: readonly { from: number; to: number }[],
): Promise<void> {
  if (pairs.length === 0) return
  await tx.query(
    `insert into holds (scope, target, batch_id, member_id, held_at, held_by, held_reason, withdrawn_at)
     select 'member', p.to_id::text, $1, p.to_id, h.held_at, h.held_by, h.held_reason, h.withdrawn_at
       from unnest($2::bigint[], $3::bigint[]) as p (from_id, to_id)
       join holds h on h.scope = 'member' and h.member_id = p.from_id
     on conflict do nothing`,
    [toBatchId, pairs.map(({ from }) => from), pairs.map(({ to }) => to)],
  )
  await tx.query(`delete from holds where scope = 'member' and member_id = any($1::bigint[])`, [
    pairs.map(({ from }) => from),
  ])
}

export interface HoldFilter {
  readonly scope?: readonly HoldScope[] | undefined
  /** Only of this batch and its members. */
  readonly batchId?: number | undefined
}

/** The place of a hold in the list. */
export interface HoldPlace {
  readonly rank: number
  readonly heldAt: Date
  readonly target: string
}

export const placeOfHold = ({ scope, heldAt, target }: Hold): HoldPlace => ({
  rank: HOLD_SCOPES.indexOf(scope),
  heldAt,
  target,
})

/** The holds in force behind a place, those of batches too, the widest first; and how many there are in all, also behind the last one. */
export async function listHolds(
  db: Queryable,
  { scope = HOLD_SCOPES, batchId }: HoldFilter,
  after: HoldPlace | null,
  limit: number,
): Promise<{ holds: Hold[]; total: number }> {
  const filter = new Conditions().and('scope = any(?::text[])', scope)
  if (batchId !== undefined) {
    const id = filter.add(batchId)
    filter.and(`batch_id = ${id} or (scope = 'batch' and target = ${id}::text)`)
  }
  const page = after
    ? `where (rank, held_at, target collate "C") > (${filter.add(after.rank)}, ${filter.add(after.heldAt)}::timestamptz, ${filter.add(after.target)})`
    : ''
  const rows = await db.query<
    Omit<Hold, 'scope'> & { scope: Hold['scope'] | null; total: number; rank: number }
  >(
    `with found as (
       select *, array_position(array['${HOLD_SCOPES.join("', '")}'], scope) - 1 as rank from (
         select ${HOLD} from holds h
         union all
         select ${HOLD_OF_BATCH} from batches b where b.held_at is not null) as h
        where ${filter.text})
     select page.*, counted.total
       from (select count(*)::int as total from found) as counted
       left join (select * from found
         ${page} order by rank, held_at, target collate "C" limit ${filter.add(limit)}) as page on true
      order by rank, held_at, target collate "C"`,
    filter.values,
  )
  const holds = rows.flatMap(({ total, rank, ...hold }) =>
    hold.scope === null ? [] : [hold as Hold],
  )
  return { holds, total: rows[0]!.total }
}

/** Batch `b` is held as a whole by the scope `$1` with the target `$2`. */
const IS_WHOLLY_IN_SCOPE = `case $1 when 'system' then true when 'runbook' then b.runbook_name = $2 else b.id::text = $2 and $1 = 'batch' end`

/** The wait `w` is ready at `$3`. */
export const IS_READY = `(w.kind = 'slot' or (w.kind <> 'job' and w.wake_at <= $3))`

/** Waits `w` of the scope that no hold covers any more, and that are ready. */
export const GOES_OUT = `${IN_SCOPE} and ${WAIT_IS_FREE} and ${IS_READY}`

/** The gate of phase `p` has as many approvals as it asks for. Those that no longer fit have ended. */
export const IS_APPROVED = `coalesce(p.gate_approvals, 0) <= (select count(*) from gate_decisions d
  where d.batch_id = p.batch_id and d.phase_name = lower(p.phase_name) and d.kind = 'approval' and d.ended_at is null)`

/** Phases `p` of the scope whose time has come and whose gate is approved, in batches that no hold covers any more. */
export const FALLS_DUE = `${IS_APPROVED} and p.status = 'pending' and p.due_at <= $3 and b.status = 'active' and ${BATCH_IS_FREE} and ${IS_WHOLLY_IN_SCOPE}`

export interface ResumeStarts {
  readonly batches: number
  readonly phases: number
  readonly steps: number
}

/** What goes out as soon as timers look: due phases, and steps, retries and polls of the scope that no hold covers any more. */
export async function countStarts(
  db: Queryable,
  { scope, target }: HoldTarget,
  now: Date,
): Promise<ResumeStarts> {
  const [row] = await db.query<ResumeStarts>(
    `with steps as (
       select w.batch_id from waits w join batches b on b.id = w.batch_id
        where ${GOES_OUT}),
     phases as (
       select p.batch_id from phase_executions p join batches b on b.id = p.batch_id
        where ${FALLS_DUE})
     select (select count(*)::int from steps) as steps, (select count(*)::int from phases) as phases,
            (select count(*)::int from (select batch_id from steps union select batch_id from phases) as b) as batches`,
    [scope, target, now],
  )
  return row!
}
