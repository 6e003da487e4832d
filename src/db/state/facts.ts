// Loads the rows a decision needs, in a fixed number of statements. The batch is always locked first: exclusively, or shared by
// transactions that change only their own members. Statements after a lock see what its last owner committed (READ COMMITTED).
import type { Batch, Member, Phase, Variables } from '../../domain/state/facts.ts'
import { epochMs, idsParam, integerArray } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { BATCH_SELECT } from './batch-columns.ts'
import { phaseCounts } from './counters.ts'
import { epochUnless, type LastSeen, seenParams } from './epochs.ts'
import { PHASE_SELECT, type PhaseLine, phaseOf } from './phase-columns.ts'

const BATCH = `
  ${BATCH_SELECT}, ${epochUnless('$2', '$3')} as epoch,
  greatest((select version from runbooks r where lower(r.name) = runbook_name and r.is_active), runbook_version) as active_version`

/** Without an epoch the database was restored, and nothing may be decided yet. */
export type LockedBatch = Omit<Batch, 'epoch'> & { readonly epoch: string | null }

/** Locks the batch exclusively and reads it; null when there is none. */
export async function lockBatch(tx: Tx, batchId: number): Promise<LockedBatch | null> {
  return (await lockAndRead(tx, [batchId]))[0] ?? null
}

/**
 * Locks batches exclusively, in the order of their ids, and reads those that exist. A row is current, but the active version was read
 * when the wait for the lock began and may be older than the version the lock's last owner upgraded to. So the greater counts.
 *
 * Not `for update`: that would also wait for everybody who only refers to the batch by a foreign key, such as a tick's new reviews.
 */
export async function lockAndRead(
  tx: Tx,
  batchIds: readonly number[],
  seen: LastSeen | null = null,
): Promise<LockedBatch[]> {
  const [, rows] = await Promise.all([
    lockBatches(tx, batchIds),
    tx.query<LockedBatch>(
      `select ${BATCH} from batches where id = any($1::bigint[]) order by id for no key update`,
      [idsParam(batchIds), ...seenParams(seen)],
    ),
  ])
  return rows
}

/**
 * Locks batches shared, in the order of their ids, and reads those that exist. Not by row locks alone: a stream of sharers would starve
 * a hold or a cancel, while the queue of an advisory lock is fair.
 */
export async function shareAndRead(
  tx: Tx,
  batchIds: readonly number[],
  seen: LastSeen | null = null,
): Promise<LockedBatch[]> {
  const [, rows] = await Promise.all([
    tx.query(`select pg_advisory_xact_lock_shared(-id) from ${IN_ORDER}`, [idsParam(batchIds)]),
    tx.query<LockedBatch>(
      `select ${BATCH} from batches where id = any($1::bigint[]) order by id for key share`,
      [idsParam(batchIds), ...seenParams(seen)],
    ),
  ])
  return rows
}

const LOCK_TIMEOUT_MS = 500

/** For a transaction over several batches: it must not keep those it has locked from others while it waits long for the next. */
export async function limitLockWaits(tx: Tx): Promise<void> {
  await tx.query(`select set_config('lock_timeout', $1, true)`, [`${LOCK_TIMEOUT_MS}ms`])
}

/** Locks these batches exclusively, in the order of their ids. Alone only for changes that touch nothing but their waits. */
export async function lockBatches(tx: Tx, batchIds: readonly number[]): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(-id) from ${IN_ORDER}`, [idsParam(batchIds)])
}

/** Batches have small negative keys. Other locks have positive keys (migrate.ts) or 64-bit hashes, which do not come near. */
const IN_ORDER = '(select id from unnest($1::bigint[]) as b (id) order by id) as b'

export async function loadPhases(db: Queryable, batchId: number): Promise<Phase[]> {
  return (await loadPhasesOf(db, [batchId])).get(batchId) ?? []
}

/** By batch, each in the order of creation. */
export async function loadPhasesOf(
  db: Queryable,
  batchIds: readonly number[],
): Promise<ReadonlyMap<number, Phase[]>> {
  const rows = await db.query<PhaseLine & { readonly counts: number[] }>(
    `select ${PHASE_SELECT} from phase_executions where batch_id = any($1::bigint[])`,
    [idsParam(batchIds)],
  )
  // Sorted here: with `order by id` the server may read the phases of all batches.
  rows.sort((a, b) => a.id - b.id)
  const found = new Map<number, Phase[]>(batchIds.map((id) => [id, []]))
  for (const row of rows)
    found.get(row.batchId)!.push({ ...phaseOf(row), ...phaseCounts(row.counts) })
  return found
}

interface MemberColumns {
  readonly ids: number[]
  readonly keys: string[]
  readonly data: string | null
  readonly outputs: string | null
  /** Members with any column that a plain active member leaves empty. */
  readonly others: OtherMember[] | null
}

/** Times in milliseconds. */
interface OtherMember extends Pick<Member, 'id' | 'status' | 'removedBy' | 'removalNumber'> {
  readonly failedAt: number | null
  readonly removedAt: number | null
  readonly movedToBatchId: number | null
}

const IS_OTHER = `
  status <> 'active' or failed_at is not null or removed_at is not null or removed_by is not null or removal_number > 0
  or moved_to_batch_id is not null`

/**
 * `wait` and `skip` also lock the rows, in id order, so that two transactions never deadlock. `skip` leaves out rows that another
 * transaction locked.
 *
 * One array per column and all JSON in one text: as rows they took twice as long to read. Rare columns come only for members who
 * have them.
 */
export async function loadMembers(
  db: Queryable,
  memberIds: readonly number[],
  lock: 'none' | 'wait' | 'skip' = 'none',
): Promise<Member[]> {
  const [columns] = await db.query<MemberColumns>(
    `select ${integerArray('id', 'ids')}, json_agg(member_key) as keys,
            '[' || string_agg(data_json::text, ',') || ']' as data,
            '[' || string_agg(worker_data_json::text, ',') || ']' as outputs,
            json_agg(json_build_object('id', id, 'status', status, 'failedAt', ${epochMs('failed_at')},
              'removedAt', ${epochMs('removed_at')}, 'removedBy', removed_by, 'removalNumber', removal_number,
              'movedToBatchId', moved_to_batch_id)) filter (where ${IS_OTHER}) as others
       from (select * from batch_members where id = any($1::bigint[]) ${MEMBER_LOCKS[lock]}) as m`,
    [idsParam(memberIds)],
  )
  if (columns!.ids.length === 0) return []
  const { ids, keys } = columns!
  const data = JSON.parse(columns!.data!) as Variables[]
  const outputs = JSON.parse(columns!.outputs!) as Variables[]
  const others = new Map(columns!.others?.map((other) => [other.id, other]))
  return ids.map((id, i) => {
    const other = others.get(id)
    return {
      id,
      key: keys[i]!,
      status: other?.status ?? 'active',
      data: data[i]!,
      outputs: outputs[i]!,
      failedAt: dateOrNull(other?.failedAt),
      removedAt: dateOrNull(other?.removedAt),
      removedBy: other?.removedBy ?? null,
      removalNumber: other?.removalNumber ?? 0,
      movedToBatchId: other?.movedToBatchId ?? null,
    }
  })
}

/** How much text `loadMembers` would load for each. */
export async function loadMemberBytes(
  db: Queryable,
  memberIds: readonly number[],
): Promise<Map<number, number>> {
  const rows = await db.query<{ id: number; bytes: number }>(
    `select id, octet_length(data_json::text) + octet_length(worker_data_json::text) as bytes
       from batch_members where id = any($1::bigint[])`,
    [idsParam(memberIds)],
  )
  return new Map(rows.map(({ id, bytes }) => [id, bytes]))
}

const dateOrNull = (ms: number | null | undefined): Date | null =>
  ms == null ? null : new Date(ms)

const MEMBER_LOCKS = {
  none: '',
  wait: 'order by id for no key update',
  skip: 'order by id for no key update skip locked',
} as const

export interface StepOwner {
  readonly id: number
  readonly batchId: number
  readonly memberId: number | null
}

/** Whether the step is part of a phase, rather than of an init, a rollback or a removal. */
export async function isPhaseStep(db: Queryable, stepId: number): Promise<boolean> {
  const rows = await db.query('select from step_executions where id = $1 and kind = $2', [
    stepId,
    'phase',
  ])
  return rows.length > 0
}

/** Each step's batch and member, which never change. Three arrays instead of a row per result. */
export async function loadOwners(db: Queryable, stepIds: readonly number[]): Promise<StepOwner[]> {
  const [owners] = await db.query<{ ids: number[]; batchIds: number[]; memberIds: number[] }>(
    `select ${integerArray('id', 'ids')}, ${integerArray('batch_id', 'batchIds')}, ${integerArray('coalesce(batch_member_id, 0)', 'memberIds')}
       from step_executions where id = any($1::bigint[])`,
    [idsParam(stepIds)],
  )
  const { ids, batchIds, memberIds } = owners!
  return ids.map((id, i) => ({ id, batchId: batchIds[i]!, memberId: memberIds[i] || null }))
}
