// Filling a worker: at most as many unsettled jobs as its window, shared fairly between the batches that wait for it.
// Only here does a transaction take slots that it did not free itself, and it locks the worker's row while it does.
import { countOutstanding, listBatchesWaiting, listQueued } from '../db/waits.ts'
import { findWindow, lockWorker, recordServed } from '../db/workers.ts'
import { type Blocks, shareSlots } from '../domain/decide/window.ts'
import { commit, commitShared } from './commit.ts'
import { type Engine, requireExclusive } from './engine.ts'
import { orHoldBatch } from './hold-on-failure.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'
import { begin, beginShared, sharedElseExclusive } from './locking.ts'

/** Steps sent in one transaction. */
const STEPS_PER_CHUNK = 500

/** Shares worked out at once; each pass ends with fewer steps waiting or the window full. */
const PASSES_MAX = 20

/** Sends what the worker has free slots for. Returns how many steps it looked at; 0 when there is nothing to do. */
export async function fillWorker(
  engine: Engine,
  workerId: string,
  actor: string,
  blocks: Blocks = 'any',
): Promise<number> {
  let looked = 0
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const filled = { looked: 0, sent: 0 }
    for (const share of await sharesOf(engine, workerId, blocks)) {
      await orHoldBatch(engine, share.batchId, actor, async () => {
        const filling = await fillFromBatch(engine, workerId, share, actor)
        filled.looked += filling.looked
        filled.sent += filling.sent
      })
    }
    looked += filled.looked
    if (filled.sent === 0) break
  }
  return looked
}

interface Share {
  readonly batchId: number
  /** The most jobs that the batch may have outstanding. */
  readonly jobsMax: number
  readonly isAlone: boolean
}

/**
 * Read without a lock, once for all batches: each batch takes its share under the worker's lock, as far as slots are free then.
 * Mostly there is nothing to fill, because batches reuse the slots they free.
 */
async function sharesOf(
  engine: Engine,
  workerId: string,
  blocks: Blocks,
): Promise<readonly Share[]> {
  const worker = await findWindow(engine.db, workerId)
  // Never seen and not configured: nobody would take its jobs. The steps stay pending, and `stuck` reports them.
  if (!worker) return []
  const outstanding = await countOutstanding(engine.db, workerId)
  const window = engine.pace.windowOf(worker)
  let jobs = 0
  for (const count of outstanding.values()) jobs += count
  if (jobs >= window) return []
  const waiting = await listBatchesWaiting(engine.db, workerId)
  const shares = shareSlots(window, waiting, outstanding, { lastServed: worker.lastServed, blocks })
  return [...shares]
    .filter(([, slots]) => slots > 0)
    .map(([batchId, slots]) => ({
      batchId,
      jobsMax: slots + (outstanding.get(batchId) ?? 0),
      isAlone: waiting.length === 1,
    }))
}

async function fillFromBatch(
  engine: Engine,
  workerId: string,
  { batchId, jobsMax, isAlone }: Share,
  actor: string,
): Promise<{ looked: number; sent: number }> {
  return sharedElseExclusive(engine, async (tx, isExclusive) => {
    const worker = await lockWorker(tx, workerId)
    if (!worker) return { looked: 0, sent: 0 }
    const outstanding = await countOutstanding(tx, workerId)
    const window = engine.pace.windowOf(worker)
    const free = shareSlots(window, [batchId], outstanding).get(batchId)!
    const most = Math.min(free, jobsMax - (outstanding.get(batchId) ?? 0), STEPS_PER_CHUNK)
    if (most <= 0) return { looked: 0, sent: 0 }
    // The batch before the waits: an exclusive transaction may be deleting them.
    const batchTx = await (isExclusive ? begin : beginShared)(engine, tx, batchId, actor)
    const lock = isExclusive ? 'none' : 'take'
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
    if (queued.length > 0 && !isAlone) await recordServed(tx, workerId, batchId)
    await (isExclusive ? commit : commitShared)(batchTx)
    return { looked: queued.length, sent: batchTx.draft.jobs.length }
  })
}
