// Filling a worker: at most as many unsettled jobs as its job limit, shared fairly between the batches that wait for it.
// Only here does a transaction take slots that it did not free itself, and it locks the worker's row while it does.
import {
  countOutstanding,
  type DueWait,
  listBatchesWaiting,
  listQueued,
} from '../db/state/waits.ts'
import { findJobLimitFacts, lockWorker, recordServed } from '../db/state/workers.ts'
import { type Blocks, shareSlots, slotsFree } from '../domain/decide/job-limit.ts'
import { isJustFull } from '../domain/decide/pace.ts'
import {
  type BatchTransaction,
  type Engine,
  requireExclusive,
} from '../engine/transactions/engine.ts'
import { finish } from '../engine/transactions/finish.ts'
import { orHoldBatch } from '../engine/transactions/hold-on-failure.ts'
import { loadBatchSteps, loadMembersTogether } from '../engine/transactions/loading.ts'
import { begin, sharedElseExclusive } from '../engine/transactions/locking.ts'
import { portionsOf, togetherElseAlone } from '../engine/transactions/several-batches.ts'

/** Steps sent in one transaction. */
const STEPS_PER_CHUNK = 500

/** Shares worked out at once; each pass ends with fewer steps waiting or the job limit reached. */
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
    const fill = async (shares: readonly Share[]) => {
      const { looked, sent } = await fillFromBatches(engine, workerId, shares, actor)
      filled.looked += looked
      filled.sent += sent
    }
    const shares = await sharesOf(engine, workerId, blocks)
    for (const some of portionsOf(shares, ({ slots }) => slots, STEPS_PER_CHUNK))
      await togetherElseAlone(engine, some, fill, (share) =>
        orHoldBatch(engine, share.batchId, actor, () => fill([share])),
      )
    looked += filled.looked
    if (filled.sent === 0) break
  }
  return looked
}

interface Share {
  readonly batchId: number
  readonly slots: number
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
  const worker = await findJobLimitFacts(engine.db, workerId)
  // Never seen and not declared: nobody would take its jobs. The steps stay pending, and `stuck` reports them.
  if (!worker) return []
  const outstanding = await countOutstanding(engine.db, workerId)
  const jobLimit = engine.pace.jobLimitOf(worker)
  let jobs = 0
  for (const count of outstanding.values()) jobs += count
  if (jobs >= jobLimit) {
    if (isJustFull(jobs, jobLimit)) engine.pace.noteFull(workerId)
    return []
  }
  const waiting = await listBatchesWaiting(engine.db, workerId)
  const shares = shareSlots(jobLimit, waiting, outstanding, {
    lastServed: worker.lastServed,
    blocks,
  })
  return [...shares]
    .filter(([, slots]) => slots > 0)
    .map(([batchId, slots]) => ({
      batchId,
      slots,
      jobsMax: slots + (outstanding.get(batchId) ?? 0),
      isAlone: waiting.length === 1,
    }))
}

async function fillFromBatches(
  engine: Engine,
  workerId: string,
  shares: readonly Share[],
  actor: string,
): Promise<{ looked: number; sent: number }> {
  return sharedElseExclusive(engine, async (tx, access) => {
    const worker = await lockWorker(tx, workerId)
    if (!worker) return { looked: 0, sent: 0 }
    const wanted = slotsNow(
      engine.pace.jobLimitOf(worker),
      shares,
      await countOutstanding(tx, workerId),
    )
    if (wanted.length === 0) return { looked: 0, sent: 0 }
    // The batches before the waits: an exclusive transaction may be deleting them.
    const batchIds = wanted.map(({ batchId }) => batchId)
    const begun = await begin(engine, tx, { batchIds, actor, access })
    const lock = access === 'exclusive' ? 'none' : 'take'
    const held = begun.flatMap(({ draft }) => [...draft.holds.members.keys()])
    const open = new Set(begun.flatMap(({ draft }) => (draft.window.isOpen ? draft.batch.id : [])))
    const toFill = wanted.map((share) => ({
      workerId,
      ...share,
      mayChange: open.has(share.batchId),
    }))
    const queued = await listQueued(tx, toFill, lock, held)
    await loadQueued(workerId, begun, queued)
    const served = begun.findLast(({ freeSlots }) => freeSlots.get(workerId)! > 0)
    if (served && !shares[0]!.isAlone) await recordServed(tx, workerId, served.draft.batch.id)
    await finish(begun)
    const sent = begun.reduce((sum, { draft }) => sum + draft.jobs.length, 0)
    return { looked: queued.length, sent }
  })
}

/** What is free under the worker's lock, share by share. */
function slotsNow(
  jobLimit: number,
  shares: readonly Share[],
  outstanding: ReadonlyMap<number, number>,
): { batchId: number; slots: number }[] {
  let free = Math.min(slotsFree(jobLimit, outstanding), STEPS_PER_CHUNK)
  const wanted = shares.map(({ batchId, jobsMax }) => {
    const slots = Math.max(0, Math.min(free, jobsMax - (outstanding.get(batchId) ?? 0)))
    free -= slots
    return { batchId, slots }
  })
  return wanted.filter(({ slots }) => slots > 0)
}

/** Loads the queued steps, and gives each batch as many slots. */
async function loadQueued(
  workerId: string,
  batchTxs: readonly BatchTransaction[],
  queued: readonly DueWait[],
): Promise<void> {
  const byBatch = Map.groupBy(queued, ({ batchId }) => batchId)
  const parts = batchTxs.map((batchTx) => {
    const own = byBatch.get(batchTx.draft.batch.id) ?? []
    batchTx.freeSlots.set(workerId, own.length)
    return { batchTx, own, memberIds: own.flatMap(({ memberId }) => memberId ?? []) }
  })
  for (const { batchTx, own, memberIds } of parts) {
    if (memberIds.length === own.length) continue
    requireExclusive(batchTx)
    await loadBatchSteps(batchTx)
  }
  // Members locked by another transaction are left for the next look.
  await loadMembersTogether(parts, { isOptional: true })
}
