// The window: at most so many unsettled jobs per worker, shared fairly between the batches that wait for it.
// Only here does a transaction take slots that it did not free itself, and it holds the worker's row while it does.
import { countOutstanding, listBatchesWaiting, listQueued } from '../db/waits.ts'
import { findWorkerLimit, lockWorker, recordServed } from '../db/workers.ts'
import { shareSlots } from '../domain/decide/window.ts'
import { begin, commit, type Engine, loadBatchSteps, loadMembersWithSteps } from './engine.ts'
import { orHoldBatch } from './poison.ts'
import { beginShared, commitShared, requireExclusive, sharedElseExclusive } from './shared-lock.ts'

/** Steps sent in one transaction. */
const STEPS_PER_CHUNK = 500

/** Sends what the worker's window has room for. Returns how many steps it looked at; 0 when there is nothing to do. */
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
 * A look without a lock. Freed slots are mostly used again by whoever freed them, so after nearly every chunk there is nothing to
 * fill, and a transaction that holds the worker's row to find that out keeps others waiting.
 */
async function isFull(engine: Engine, workerId: string): Promise<boolean> {
  const limit = (await findWorkerLimit(engine.db, workerId)) ?? engine.maxOutstanding
  let out = 0
  for (const jobs of (await countOutstanding(engine.db, workerId)).values()) out += jobs
  return out >= limit
}

async function fillFromBatch(
  engine: Engine,
  workerId: string,
  batchId: number,
  actor: string,
): Promise<number> {
  return sharedElseExclusive(engine, async (tx, isAlone) => {
    const worker = await lockWorker(tx, workerId)
    // Never seen and not configured: its jobs would wait for nobody. The steps stay pending, and `stuck` says so.
    if (!worker) return 0
    const waiting = await listBatchesWaiting(tx, workerId)
    const outstanding = await countOutstanding(tx, workerId)
    const limit = worker.maxOutstanding ?? engine.maxOutstanding
    const share = shareSlots(limit, waiting, outstanding, worker.lastServed).get(batchId) ?? 0
    if (share === 0) return 0
    // The batch before the waits: whoever has the batch alone may be deleting them.
    const batchTx = await (isAlone ? begin : beginShared)(engine, tx, batchId, actor)
    const lock = isAlone ? 'none' : 'take'
    const most = Math.min(share, STEPS_PER_CHUNK)
    const queued = await listQueued(tx, workerId, batchId, most, lock)
    const members = queued.flatMap(({ memberId }) => memberId ?? [])
    if (members.length < queued.length) {
      requireExclusive(batchTx)
      await loadBatchSteps(batchTx)
    }
    // Whom somebody beside us is at is left to the next look.
    await loadMembersWithSteps(batchTx, members, { isOptional: true })
    batchTx.freeSlots.set(workerId, queued.length)
    if (waiting.length > 1 && queued.length > 0) await recordServed(tx, workerId, batchId)
    await (isAlone ? commit : commitShared)(batchTx)
    return queued.length
  })
}
