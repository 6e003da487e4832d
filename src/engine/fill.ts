// The window: at most so many unsettled jobs per worker, shared fairly between the batches that wait for it.
// Only here does a transaction take slots that it did not free itself, and it holds the worker's row while it does.
import { countOutstanding, listBatchesWaiting, listQueued } from '../db/waits.ts'
import { findWorkerLimit, lockWorker, rememberServed } from '../db/workers.ts'
import { shareSlots } from '../domain/decide/window.ts'
import { besideElseAlone, enterBeside, leaveBeside, requireAlone } from './beside.ts'
import { bringBatchSteps, bringMembers, type Door, enter, leave } from './door.ts'
import { orHold } from './poison.ts'

/** Steps sent in one transaction. */
const STEPS_PER_CHUNK = 500

/** Sends what the worker's window has room for. Returns how many steps it looked at; 0 when there is nothing to do. */
export async function fillWorker(door: Door, workerId: string, actor: string): Promise<number> {
  if (await isFull(door, workerId)) return 0
  let looked = 0
  for (const batchId of await listBatchesWaiting(door.db, workerId)) {
    await orHold(door, batchId, actor, async () => {
      looked += await fillFromBatch(door, workerId, batchId, actor)
    })
  }
  return looked
}

/**
 * A look without a lock. Freed slots are mostly used again by whoever freed them, so after nearly every chunk there is nothing to
 * fill, and a transaction that holds the worker's row to find that out keeps others waiting.
 */
async function isFull(door: Door, workerId: string): Promise<boolean> {
  const limit = (await findWorkerLimit(door.db, workerId)) ?? door.maxOutstanding
  let out = 0
  for (const jobs of (await countOutstanding(door.db, workerId)).values()) out += jobs
  return out >= limit
}

async function fillFromBatch(
  door: Door,
  workerId: string,
  batchId: number,
  actor: string,
): Promise<number> {
  return besideElseAlone(door, async (tx, isAlone) => {
    const worker = await lockWorker(tx, workerId)
    // Never seen and not configured: its jobs would wait for nobody. The steps stay pending, and `stuck` says so.
    if (!worker) return 0
    const waiting = await listBatchesWaiting(tx, workerId)
    const outstanding = await countOutstanding(tx, workerId)
    const limit = worker.maxOutstanding ?? door.maxOutstanding
    const share = shareSlots(limit, waiting, outstanding, worker.lastServed).get(batchId) ?? 0
    if (share === 0) return 0
    // The batch before the waits: whoever has the batch alone may be deleting them.
    const visit = await (isAlone ? enter : enterBeside)(door, tx, batchId, actor)
    const lock = isAlone ? 'none' : 'take'
    const most = Math.min(share, STEPS_PER_CHUNK)
    const queued = await listQueued(tx, workerId, batchId, most, lock)
    const members = queued.flatMap(({ memberId }) => memberId ?? [])
    if (members.length < queued.length) {
      requireAlone(visit)
      await bringBatchSteps(visit)
    }
    // Whom somebody beside us is at is left to the next look.
    await bringMembers(visit, members, { isOptional: true })
    visit.room.set(workerId, queued.length)
    if (waiting.length > 1 && queued.length > 0) await rememberServed(tx, workerId, batchId)
    await (isAlone ? leave : leaveBeside)(visit)
    return queued.length
  })
}
