// One transaction on one batch or on several: lock in the order of their ids, load, work, finish. The lock is exclusive, or shared by transactions that change nothing but
// members of their own: with one exclusive lock for all, a batch of 100,000 used half of the machine.
//
// A shared lock is safe because (ARCHITECTURE.md, "The batch is locked first, exclusive or shared"):
// - whatever changes the batch, its phases or its membership takes the exclusive lock, so these stand still for a sharer;
// - sharers lock their members before they read the steps, so no two have the same member;
// - sharers add to the counters last and see the sums; if a phase must open or close or the fuse blows, they roll back and repeat
//   exclusively;
// - `expanded_through` passes a member only while its writer has locked that member, and is read after locking (loading.ts).

import { MatoolkitError } from '../../base/errors/errors.ts'
import { isLockTimeout } from '../../base/errors/transient.ts'
import type { Tx } from '../../db/connection/db.ts'
import { keepQueryPlans } from '../../db/connection/query-plans.ts'
import { limitLockWaits, lockAndRead, shareAndRead } from '../../db/state/facts.ts'
import type { Batch } from '../../domain/state/facts.ts'
import { type BatchTransaction, type Engine, NeedsExclusiveLock } from './engine.ts'
import { finish, finishShared, finishTogether } from './finish.ts'
import { loadBatches, setWindow } from './loading.ts'
import { isOutdated, upgradeBatch } from './version-upgrade.ts'
import { tellOpened } from './window-state.ts'

/** Runs one change of one batch under its exclusive lock. Returns the result of `work` once everything is committed. */
export async function changeBatch<T>(
  engine: Engine,
  batchId: number,
  actor: string,
  work: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> {
  return engine.db.transaction(async (tx) => {
    const batchTx = await begin(engine, tx, batchId, actor)
    const result = await work(batchTx)
    await finish(batchTx)
    return result
  })
}

/** The same for work that can be done later as well: throws after half a second when somebody else keeps what it needs locked. */
export async function changeBatchSoon<T>(
  engine: Engine,
  batchId: number,
  actor: string,
  work: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> {
  return engine.db.transaction(async (tx) => {
    await limitLockWaits(tx)
    const batchTx = await begin(engine, tx, batchId, actor)
    const result = await work(batchTx)
    await finish(batchTx)
    return result
  })
}

/** False when `changeBatchSoon` gave up. */
export async function unlessLocked(change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change()
    return true
  } catch (error) {
    if (isLockTimeout(error)) return false
    throw error
  }
}

/** The same for several batches in one transaction: when one cannot be changed, none is. See several-batches.ts. */
export async function changeBatches(
  engine: Engine,
  batchIds: readonly number[],
  actor: string,
  work: (batchTxs: readonly BatchTransaction[]) => Promise<void>,
): Promise<void> {
  await engine.db.transaction(async (tx) => {
    const batchTxs = await beginTogether(engine, tx, batchIds, actor)
    await work(batchTxs)
    await finishTogether(batchTxs)
  })
}

/** Changes nothing, so an outdated batch stays as it is, and an erased one can be read. */
export function readBatch<T>(
  engine: Engine,
  batchId: number,
  look: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> {
  return engine.db.transaction(async (tx) => {
    const [batchTx] = await loadBatches(engine, tx, {
      locking: shareAndRead(tx, [batchId], engine.seen),
      batchIds: [batchId],
      actor: 'reader',
      access: 'read',
    })
    return look(batchTx!)
  })
}

/**
 * Runs one change of the members that `work` loads with `loadMembersWithSteps`, under the shared lock if it can. `work` may run
 * twice: it must change nothing but its transaction.
 */
export async function changeMembers<T>(
  engine: Engine,
  batchId: number,
  actor: string,
  work: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> {
  return sharedElseExclusive(engine, async (tx, isExclusive) => {
    const batchTx = await (isExclusive ? begin : beginShared)(engine, tx, batchId, actor)
    const result = await work(batchTx)
    await (isExclusive ? finish : finishShared)(batchTx)
    return result
  })
}

/** Runs `work` with shared locks, and again from the start with exclusive ones when it needs them. */
export async function sharedElseExclusive<T>(
  engine: Engine,
  work: (tx: Tx, isExclusive: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await engine.db.transaction((tx) => work(tx, false))
  } catch (error) {
    if (!(error instanceof NeedsExclusiveLock)) throw error
    return engine.db.transaction((tx) => work(tx, true))
  }
}

/**
 * Locks the batch exclusively, loads it, and upgrades it to the active version. For transactions over two batches; else use
 * `changeBatch`. Must end in `finish` or an error: the upgrade has already written rows.
 */
export async function begin(
  engine: Engine,
  tx: Tx,
  batchId: number,
  actor: string,
): Promise<BatchTransaction> {
  const [batchTx] = await beginTogether(engine, tx, [batchId], actor)
  return batchTx!
}

/** The same for several batches. Must end in `finishTogether`. */
export async function beginTogether(
  engine: Engine,
  tx: Tx,
  batchIds: readonly number[],
  actor: string,
): Promise<BatchTransaction[]> {
  const [, batchTxs] = await Promise.all([
    batchIds.length > 1 && limitLockWaits(tx),
    loadBatches(engine, tx, {
      locking: lockAndRead(tx, batchIds, engine.seen),
      batchIds,
      actor,
      access: 'exclusive',
    }),
  ])
  for (const { draft } of batchTxs) requireData(draft.batch)
  for (const batchTx of batchTxs) {
    if (!isOutdated(batchTx.draft.batch)) continue
    await upgradeBatch(batchTx)
    setWindow(engine, batchTx.draft)
    // The windows of the new version may be open where those of the former were closed.
    if (batchTx.draft.window.isOpen) await tellOpened(batchTx)
  }
  return batchTxs
}

/** Its steps would run without the data they need. */
function requireData({ id, erasedAt }: Batch): void {
  if (erasedAt === null) return
  const reason = `the personal data of batch ${id} was erased on ${erasedAt.toISOString()}, so it stays as it is; use a new batch`
  throw new MatoolkitError('REFUSED', { reason })
}

/** Shares the batch's lock. Must end in `finishShared`, and touch rows by their keys only. */
async function beginShared(
  engine: Engine,
  tx: Tx,
  batchId: number,
  actor: string,
): Promise<BatchTransaction> {
  const [batchTx] = await beginSharedTogether(engine, tx, [batchId], actor)
  return batchTx!
}

/** The same for several batches. Must end in `finishSharedTogether`. */
export async function beginSharedTogether(
  engine: Engine,
  tx: Tx,
  batchIds: readonly number[],
  actor: string,
): Promise<BatchTransaction[]> {
  const [, , batchTxs] = await Promise.all([
    keepQueryPlans(tx),
    batchIds.length > 1 && limitLockWaits(tx),
    loadBatches(engine, tx, {
      locking: shareAndRead(tx, batchIds, engine.seen),
      batchIds,
      actor,
      access: 'shared',
    }),
  ])
  for (const { draft } of batchTxs) requireData(draft.batch)
  if (batchTxs.some(({ draft }) => isOutdated(draft.batch))) throw new NeedsExclusiveLock()
  return batchTxs
}
