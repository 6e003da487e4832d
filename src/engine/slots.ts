// Slots that a transaction may use: those its jobs have just freed, and those it was given. A batch reuses its freed slots at once,
// within its fair share while other batches wait for the same worker.
import { shareHolds } from '../db/holds.ts'
import {
  countOutstanding,
  countRivals,
  listQueued,
  listSharedWorkers,
  type SharedWorker,
} from '../db/waits.ts'
import { holdOnAll } from '../domain/decide/held.ts'
import { sendQueued } from '../domain/decide/send.ts'
import { RIVALS_MAX, slotsToReuse, takeTurns } from '../domain/decide/window.ts'
import { holdsOnBatch } from '../domain/holds.ts'
import type { BatchTransaction } from './engine.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'

/** Sends queued steps while their workers have free slots: first the loaded members' steps, then others of the batch. */
export async function sendIntoFreeSlots(batchTx: BatchTransaction): Promise<void> {
  if (batchTx.draft.attempts.length + batchTx.freeSlots.size === 0) return
  // Together: the statements go to the server at once.
  const [, inTurn] = await Promise.all([readHolds(batchTx), addFreedSlots(batchTx)])
  sendQueued(batchTx.draft, batchTx.freeSlots)
  for (const workerId of inTurn) batchTx.freeSlots.delete(workerId)
  await useRemainingSlots(batchTx)
}

/** Under their lock: from here to the commit no hold begins or ends, so nothing leaves after a hold was set. */
async function readHolds({ tx, draft }: BatchTransaction): Promise<void> {
  draft.holds = holdsOnBatch(await shareHolds(tx, draft.batch.id))
}

/** Returns the workers whose slots go round: only the loaded members may use them. */
async function addFreedSlots(batchTx: BatchTransaction): Promise<readonly string[]> {
  const { tx, draft, freeSlots, engine } = batchTx
  if (draft.attempts.length === 0) return []
  const inTurn: string[] = []
  const freed = new Map<string, number>()
  for (const { workerId } of draft.attempts) freed.set(workerId, (freed.get(workerId) ?? 0) + 1)
  for (const worker of await listSharedWorkers(tx, [...freed.keys()], draft.batch.id)) {
    const { workerId, isContended } = worker
    const slots = freed.get(workerId)!
    // A window as wide as the limit has room for all that is out: fast workers cost no further look.
    const isWide = engine.pace.windowOf(worker) === engine.pace.limitOf(worker)
    const rivals = isContended ? await countRivals(tx, workerId, draft.batch.id, RIVALS_MAX) : 0
    const usable = isWide && rivals === 0 ? slots : await usableOf(batchTx, worker, slots, rivals)
    freeSlots.set(workerId, (freeSlots.get(workerId) ?? 0) + usable)
    if (takeTurns(engine.pace.windowOf(worker), rivals)) inTurn.push(workerId)
  }
  return inTurn
}

/** Of the freed slots, those within the worker's window, which may have shrunk, and within the batch's fair share. */
async function usableOf(
  { tx, draft, engine }: BatchTransaction,
  worker: SharedWorker,
  freed: number,
  rivals: number,
): Promise<number> {
  const { workerId } = worker
  // Includes the jobs that have just ended: their rows go when this transaction writes.
  const outstanding = await countOutstanding(tx, workerId)
  let others = -freed
  for (const jobs of outstanding.values()) others += jobs
  const window = engine.pace.windowOf(worker)
  const own = (outstanding.get(draft.batch.id) ?? 0) - freed
  return Math.max(0, Math.min(slotsToReuse(window, rivals, own, freed), window - others))
}

/**
 * Slots that the loaded members leave over (their last step for now has ended) go to waiting members of the same batch. Filling them
 * in a transaction of their own cost a third more transactions on a batch larger than the worker's limit.
 */
async function useRemainingSlots(batchTx: BatchTransaction): Promise<void> {
  const { tx, draft, freeSlots, isExclusive } = batchTx
  if (holdOnAll(draft.batch, draft.holds)) return
  for (const [workerId, left] of freeSlots) {
    if (left <= 0 || draft.holds.workers.has(workerId)) continue
    const lock = isExclusive ? 'none' : 'take'
    const held = draft.holds.members.keys()
    const queued = await listQueued(tx, workerId, draft.batch.id, left, lock, held)
    const fresh = queued.filter(({ stepId }) => !draft.steps.has(stepId))
    if (fresh.length === 0) continue
    const memberIds = fresh.flatMap(({ memberId }) => memberId ?? [])
    // Optional: another sharer may have one of these locked and want one of ours, a deadlock.
    await loadMembersWithSteps(batchTx, memberIds, { isOptional: true })
    if (fresh.some(({ memberId }) => memberId === null)) await loadBatchSteps(batchTx)
    sendQueued(draft, freeSlots)
  }
}
