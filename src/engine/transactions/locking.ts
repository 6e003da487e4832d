// The entry to batches: one transaction on one or several locks them in the order of their ids, loads, works and finishes. The lock is
// exclusive, or shared by transactions that change nothing but members of their own: with one exclusive lock for all, a batch of 100,000
// used half of the machine.
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
import { noteOpened } from '../../domain/decide/change-window.ts'
import type { Batch } from '../../domain/state/facts.ts'
import {
  type BatchAccess,
  type BatchTransaction,
  type Engine,
  NeedsExclusiveLock,
} from './engine.ts'
import { finish } from './finish.ts'
import { loadBatches, setWindow } from './loading.ts'
import { isOutdated, upgradeBatch } from './version-upgrade.ts'

interface BatchesToLock {
  readonly batchIds: readonly number[]
  readonly actor: string
  /** Work that can be done later as well: throws after half a second when somebody else keeps what it needs locked. */
  readonly isPostponable?: boolean
}

/**
 * Runs one change of batches in one transaction, or reads them as they are: when one cannot be changed, none is. Returns the result of
 * `work` once everything is committed. With `shared-first` it changes the members that it loads with `loadMembersWithSteps`, shared if
 * it can, and may run twice: it must change nothing but its transaction.
 */
export async function inBatches<T>(
  engine: Engine,
  { lock, ...order }: BatchesToLock & { readonly lock: 'exclusive' | 'shared-first' | 'read' },
  work: (batchTxs: readonly BatchTransaction[]) => Promise<T>,
): Promise<T> {
  const run = async (tx: Tx, access: BatchAccess): Promise<T> => {
    const batchTxs = await begin(engine, tx, { ...order, access })
    const result = await work(batchTxs)
    await finish(batchTxs)
    return result
  }
  if (lock === 'shared-first') return sharedElseExclusive(engine, run)
  return engine.db.transaction((tx) => run(tx, lock))
}

/** One batch, exclusively. */
export const changeBatch = <T>(
  engine: Engine,
  batchId: number,
  actor: string,
  work: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> =>
  inBatches(engine, { batchIds: [batchId], actor, lock: 'exclusive' }, ([batchTx]) =>
    work(batchTx!),
  )

/** One batch as it is. */
export const readBatch = <T>(
  engine: Engine,
  batchId: number,
  look: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> =>
  inBatches(engine, { batchIds: [batchId], actor: 'reader', lock: 'read' }, ([batchTx]) =>
    look(batchTx!),
  )

/** False when a postponable change gave up. */
export async function unlessLocked(change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change()
    return true
  } catch (error) {
    if (isLockTimeout(error)) return false
    throw error
  }
}

/** Runs `work` with shared locks, and again from the start with exclusive ones when it needs them. */
export async function sharedElseExclusive<T>(
  engine: Engine,
  work: (tx: Tx, access: 'shared' | 'exclusive') => Promise<T>,
): Promise<T> {
  try {
    return await engine.db.transaction((tx) => work(tx, 'shared'))
  } catch (error) {
    if (!(error instanceof NeedsExclusiveLock)) throw error
    return engine.db.transaction((tx) => work(tx, 'exclusive'))
  }
}

/**
 * The first half of `inBatches`, for transactions that also change something else. Must end in `finish` or an error. Upgrades an outdated
 * batch to the active version, except for a reader.
 */
export async function begin(
  engine: Engine,
  tx: Tx,
  {
    batchIds,
    actor,
    access,
    isPostponable = batchIds.length > 1,
  }: BatchesToLock & { readonly access: BatchAccess },
): Promise<BatchTransaction[]> {
  const lock = access === 'exclusive' ? lockAndRead : shareAndRead
  const [, , batchTxs] = await Promise.all([
    access === 'shared' && keepQueryPlans(tx),
    isPostponable && limitLockWaits(tx),
    loadBatches(engine, tx, {
      locking: lock(tx, batchIds, engine.seen),
      batchIds,
      actor,
      access,
    }),
  ])
  // An outdated batch stays as it is for a reader, and an erased one can be read.
  if (access === 'read') return batchTxs
  for (const { draft } of batchTxs) requireData(draft.batch)
  const outdated = batchTxs.filter(({ draft }) => isOutdated(draft.batch))
  if (outdated.length > 0 && access === 'shared') throw new NeedsExclusiveLock()
  for (const batchTx of outdated) {
    await upgradeBatch(batchTx)
    setWindow(engine, batchTx.draft)
    // The windows of the new version may be open where those of the former were closed.
    if (batchTx.draft.window.isOpen) noteOpened(batchTx.draft)
  }
  return batchTxs
}

/** Its steps would run without the data they need. */
function requireData({ id, erasedAt }: Batch): void {
  if (erasedAt === null) return
  const reason = `the personal data of batch ${id} was erased on ${erasedAt.toISOString()}, so it stays as it is; use a new batch`
  throw new MatoolkitError('REFUSED', { reason })
}
