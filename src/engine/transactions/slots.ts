// Slots that a transaction may use: those its jobs have just freed, and those it was given. A batch reuses its freed slots at once,
// within its fair share while other batches wait for the same worker.
import { shareHolds } from '../../db/state/holds.ts'
import {
  countOutstanding,
  listQueued,
  listRivals,
  listSharedWorkers,
  type SharedWorker,
  type SlotsToFill,
} from '../../db/state/waits.ts'
import { holdOnAll } from '../../domain/decide/held.ts'
import { RIVALS_MAX, slotsToReuse, takeTurns } from '../../domain/decide/job-limit.ts'
import { sendQueued } from '../../domain/decide/send.ts'
import { holdsAmong } from '../../domain/state/holds.ts'
import type { BatchTransaction } from './engine.ts'
import { loadBatchSteps, loadMembersTogether } from './loading.ts'
import { loadPeople } from './people.ts'

/** Sends queued steps while their workers have free slots: first the loaded members' steps, then others of the same batch. */
export async function sendIntoFreeSlots(batchTxs: readonly BatchTransaction[]): Promise<void> {
  const sending = batchTxs.filter(
    ({ draft, freeSlots }) => draft.attempts.length + freeSlots.size > 0,
  )
  if (sending.length === 0) return
  // Together: the statements go to the server at once.
  const [, inTurn] = await Promise.all([readHolds(sending), addFreedSlots(sending)])
  await sendAll(sending)
  for (const { batchTx, workerId } of inTurn) batchTx.freeSlots.delete(workerId)
  await useRemainingSlots(sending)
}

/** Under their lock: from here to the commit no hold begins or ends, so nothing leaves after a hold was set. */
async function readHolds(batchTxs: readonly BatchTransaction[]): Promise<void> {
  const batchIds = batchTxs.map(({ draft }) => draft.batch.id)
  const holds = await shareHolds(batchTxs[0]!.tx, batchIds)
  for (const { draft } of batchTxs) draft.holds = holdsAmong(holds, draft.batch)
}

/** Slots that a batch's jobs have just freed. */
interface FreedSlots {
  readonly batchTx: BatchTransaction
  readonly workerId: string
  readonly slots: number
}

/** Returns the batches and workers whose slots go round: only the loaded members may use them. */
async function addFreedSlots(
  batchTxs: readonly BatchTransaction[],
): Promise<readonly Pick<FreedSlots, 'batchTx' | 'workerId'>[]> {
  const byWorker = Map.groupBy(batchTxs.flatMap(slotsFreed), ({ workerId }) => workerId)
  if (byWorker.size === 0) return []
  const [{ tx, engine }] = batchTxs as [BatchTransaction]
  const lastId = Math.max(...batchTxs.map(({ draft }) => draft.batch.id))
  const inTurn: FreedSlots[] = []
  for (const worker of await listSharedWorkers(tx, [...byWorker.keys()], lastId)) {
    const { workerId, isContended } = worker
    const freed = byWorker.get(workerId)!
    const jobLimit = engine.pace.jobLimitOf(worker)
    const waiting =
      isContended || batchTxs.length > 1
        ? await listRivals(tx, workerId, lastId, RIVALS_MAX + 1)
        : []
    const shares = freed.map((one) => {
      const rivals = waiting.filter((id) => id !== one.batchTx.draft.batch.id).length
      return { ...one, rivals: Math.min(rivals, RIVALS_MAX) }
    })
    // A job limit at its maximum has room for all that is out: fast workers cost no further look.
    const isAtMost = jobLimit === engine.pace.maxOutstandingOf(worker)
    if (isAtMost && shares.every(({ rivals }) => rivals === 0))
      for (const share of shares) give(share, share.slots)
    else await shareFreed(worker, jobLimit, shares)
    inTurn.push(...shares.filter(({ rivals }) => takeTurns(jobLimit, rivals)))
  }
  return inTurn
}

function slotsFreed(batchTx: BatchTransaction): FreedSlots[] {
  const freed = new Map<string, number>()
  for (const { workerId } of batchTx.draft.attempts)
    freed.set(workerId, (freed.get(workerId) ?? 0) + 1)
  return [...freed].map(([workerId, slots]) => ({ batchTx, workerId, slots }))
}

function give({ batchTx: { freeSlots }, workerId }: FreedSlots, slots: number): void {
  freeSlots.set(workerId, (freeSlots.get(workerId) ?? 0) + slots)
}

/** Of the freed slots, those within the worker's job limit, which may have fallen, and within each batch's fair share. */
async function shareFreed(
  { workerId }: SharedWorker,
  jobLimit: number,
  shares: readonly (FreedSlots & { readonly rivals: number })[],
): Promise<void> {
  // Includes the jobs that have just ended: their rows go when this transaction writes.
  const outstanding = await countOutstanding(shares[0]!.batchTx.tx, workerId)
  let left = jobLimit
  for (const jobs of outstanding.values()) left -= jobs
  for (const { slots } of shares) left += slots
  for (const share of shares) {
    const own = (outstanding.get(share.batchTx.draft.batch.id) ?? 0) - share.slots
    const fair = slotsToReuse(jobLimit, share.rivals, own, share.slots)
    const usable = Math.max(0, Math.min(fair, left))
    left -= usable
    give(share, usable)
  }
}

/**
 * Slots that the loaded members leave over (their last step for now has ended) go to waiting members of the same batch. Filling them
 * in a transaction of their own cost a third more transactions on a batch larger than the worker's limit.
 */
async function useRemainingSlots(batchTxs: readonly BatchTransaction[]): Promise<void> {
  const left = batchTxs.flatMap(remainingSlots)
  if (left.length === 0) return
  const [{ tx, access }] = batchTxs as [BatchTransaction]
  const held = batchTxs.flatMap(({ draft }) => [...draft.holds.members.keys()])
  const queued = Map.groupBy(
    await listQueued(tx, left, access === 'shared' ? 'take' : 'none', held),
    ({ batchId }) => batchId,
  )
  const fresh = batchTxs.flatMap((batchTx) => {
    const { batch, steps } = batchTx.draft
    const own = (queued.get(batch.id) ?? []).filter(({ stepId }) => !steps.has(stepId))
    return own.length === 0 ? [] : [{ batchTx, memberIds: own.map(({ memberId }) => memberId) }]
  })
  // Optional: another sharer may have one of these locked and want one of ours, a deadlock.
  await loadMembersTogether(
    fresh.map(({ batchTx, memberIds }) => ({
      batchTx,
      memberIds: memberIds.filter((id) => id !== null),
    })),
    { isOptional: true },
  )
  for (const { batchTx, memberIds } of fresh) {
    if (memberIds.includes(null)) await loadBatchSteps(batchTx)
    await sendAll([batchTx])
  }
}

/** Again while steps are left out by their conditions: each time the next step of a member is queued. */
async function sendAll(batchTxs: readonly BatchTransaction[]): Promise<void> {
  let left = batchTxs
  while (left.length > 0) {
    await loadPeople(left)
    left = left.filter(({ draft, freeSlots }) => sendQueued(draft, freeSlots))
  }
}

function remainingSlots({ draft, freeSlots }: BatchTransaction): SlotsToFill[] {
  const { batch, holds, window } = draft
  if (holdOnAll(batch, holds)) return []
  return [...freeSlots]
    .filter(([workerId, slots]) => slots > 0 && !holds.workers.has(workerId))
    .map(([workerId, slots]) => ({ workerId, batchId: batch.id, slots, mayChange: window.isOpen }))
}
