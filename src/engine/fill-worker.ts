// Filling a worker: at most as many unsettled jobs as its window, shared fairly between the batches that wait for it.
// Only here does a transaction take slots that it did not free itself, and it locks the worker's row while it does.
import { countOutstanding, listBatchesWaiting, listQueued } from '../db/waits.ts'
import { findWindow, lockWorker, recordServed } from '../db/workers.ts'
import { shareSlots } from '../domain/decide/window.ts'
import { commit, commitShared } from './commit.ts'
import { type Engine, requireExclusive } from './engine.ts'
import { orHoldBatch } from './hold-on-failure.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'
import { begin, beginShared, sharedElseExclusive } from './locking.ts'

/** Steps sent in one transaction. */
const STEPS_PER_CHUNK = 500

/** Sends what the worker has free slots for. Returns how many steps it looked at; 0 when there is nothing to do. */
export async function fillWorker(engine: Engine, workerId: string, actor: string): Promise<number> {
  if (await isFull(engine, workerId)) return 0
  let looked = 0
  for (const batchId of await listBatchesWaiting(engine.db, workerId)) {
    await orHoldBatch(engine, batchId, actor, async () => {
      looked += await fillFromBatch(engine, workerId, batchId, actor)
    })
  }
  return looked
}

/**
 * Read without a lock. Batches mostly reuse the slots they free, so after nearly every chunk there is nothing to fill, and locking
 * the worker's row to find that out makes others wait.
 */
async function isFull(engine: Engine, workerId: string): Promise<boolean> {
  const worker = await findWindow(engine.db, workerId)
  if (!worker) return true
  let outstanding = 0
  for (const jobs of (await countOutstanding(engine.db, workerId)).values()) outstanding += jobs
  return outstanding >= engine.pace.windowOf(worker)
}

async function fillFromBatch(
  engine: Engine,
  workerId: string,
  batchId: number,
  actor: string,
): Promise<number> {
  return sharedElseExclusive(engine, async (tx, isExclusive) => {
    const worker = await lockWorker(tx, workerId)
    // Never seen and not configured: nobody would take its jobs. The steps stay pending, and `stuck` reports them.
    if (!worker) return 0
    const waiting = await listBatchesWaiting(tx, workerId)
    const outstanding = await countOutstanding(tx, workerId)
    const window = engine.pace.windowOf(worker)
    const share = shareSlots(window, waiting, outstanding, worker.lastServed).get(batchId) ?? 0
    if (share === 0) return 0
    // The batch before the waits: an exclusive transaction may be deleting them.
    const batchTx = await (isExclusive ? begin : beginShared)(engine, tx, batchId, actor)
    const lock = isExclusive ? 'none' : 'take'
    const most = Math.min(share, STEPS_PER_CHUNK)
    const held = batchTx.draft.holds.members.keys()
    const queued = await listQueued(tx, workerId, batchId, most, lock, held)
    const members = queued.flatMap(({ memberId }) => memberId ?? [])
    if (members.length < queued.length) {
      requireExclusive(batchTx)
      await loadBatchSteps(batchTx)
    }
    // Members locked by another transaction are left for the next look.
    await loadMembersWithSteps(batchTx, members, { isOptional: true })
    batchTx.freeSlots.set(workerId, queued.length)
    if (waiting.length > 1 && queued.length > 0) await recordServed(tx, workerId, batchId)
    await (isExclusive ? commit : commitShared)(batchTx)
    return queued.length
  })
}
