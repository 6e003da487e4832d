// What a hold stops: nothing is sent and no time runs for a step while any hold covers it.
import type { Batch, Step } from '../state/facts.ts'
import type { Hold, HoldsOnBatch } from '../state/holds.ts'
import type { Draft } from './draft.ts'

type BatchHeld = Pick<Batch, 'id' | 'heldAt' | 'heldBy' | 'heldReason'>

/** The batch's own hold. */
const ownHold = ({ id, heldAt, heldBy, heldReason }: BatchHeld): Hold | null =>
  heldAt && {
    scope: 'batch',
    target: `${id}`,
    batchId: null,
    memberId: null,
    memberKey: null,
    heldAt,
    heldBy: heldBy!,
    reason: heldReason!,
  }

/** The holds that stop the whole batch, the widest first. */
export const holdsOnAll = (batch: BatchHeld, { system, runbook }: HoldsOnBatch): Hold[] =>
  [system, runbook, ownHold(batch)].filter((hold) => hold !== null)

/** The widest of them. */
export const holdOnAll = (batch: BatchHeld, holds: HoldsOnBatch): Hold | null =>
  holds.system ?? holds.runbook ?? ownHold(batch)

const isBatchHeld = ({ batch, holds }: Draft): boolean =>
  batch.heldAt !== null || holds.system !== null || holds.runbook !== null

export const isStepHeld = (draft: Draft, { memberId, definition }: Step): boolean =>
  isBatchHeld(draft) ||
  draft.holds.workers.has(definition.workerId) ||
  (memberId !== null && draft.holds.members.has(memberId))

/**
 * Since when the step has been held without a break, as far as its times have not been postponed for it; null when no hold covers
 * it. Ending a hold postpones only what no other hold covers, so the oldest hold in force counts.
 */
export function heldSince({ batch, holds }: Draft, { memberId, definition }: Step): Date | null {
  const since = [
    batch.heldAt,
    holds.system?.heldAt,
    holds.runbook?.heldAt,
    holds.workers.get(definition.workerId)?.heldAt,
    memberId === null ? null : holds.members.get(memberId)?.heldAt,
  ].filter((at) => at != null)
  return since.length === 0 ? null : new Date(Math.min(...since.map(Number)))
}
