// Operators' actions on a batch. A refusal is an error with its reason, and changes nothing.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Tx } from '../../db/connection/db.ts'
import { hasUndecidedMoves } from '../../db/sources/reviews.ts'
import { countJobsIn, postponeWaits } from '../../db/state/holds.ts'
import { cancelSteps, recountBatch } from '../../db/state/steps.ts'
import { cancelStep } from '../../domain/decide/cancel.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import {
  type Advance,
  advanceManual,
  hold,
  type OverduePhase,
  overdueAt,
  reschedule,
  restart,
  resume,
} from '../../domain/decide/lifecycle.ts'
import type { Refusal } from '../../domain/decide/membership.ts'
import { HELD_BY_SOURCE } from '../../domain/sources/scheduled.ts'
import { isCompensation } from '../../domain/state/facts.ts'
import { NO_REASON_YET } from '../../domain/state/holds.ts'
import { isBatchEnded, isOpen, isPhaseEnded } from '../../domain/state/transitions.ts'
import type { BatchTransaction, Engine } from '../transactions/engine.ts'
import { finish } from '../transactions/finish.ts'
import { loadBatchSteps } from '../transactions/loading.ts'
import { begin, changeBatch } from '../transactions/locking.ts'
import { loadStartFacts } from '../transactions/phase-starts.ts'
import { isOutdated, upgradeBatch } from '../transactions/version-upgrade.ts'
import { withdrawJobs } from '../transactions/withdraw.ts'
import { announceInit } from './create.ts'

export interface BatchOrder {
  readonly batchId: number
  readonly actor: string
  readonly reason: string
}

export const requireAccepted = (refusal: Refusal): void => {
  if (refusal !== null) throw new MatoolkitError('REFUSED', { reason: `${refusal}.` })
}

/** Stops sending and withdraws the jobs that no worker has taken. */
export async function holdBatch(
  engine: Engine,
  { batchId, actor, reason = NO_REASON_YET }: Omit<BatchOrder, 'reason'> & { reason?: string },
): Promise<{ readonly withdrawn: number; readonly running: number }> {
  const { draft } = await changeBatch(engine, batchId, actor, async (batchTx) => {
    requireAccepted(hold(batchTx.draft, reason))
    return batchTx
  })
  const withdrawn = draft.attempts.filter(({ outcome }) => outcome === 'withdrawn').length
  const running = await countJobsIn(engine.db, { scope: 'batch', target: `${batchId}` })
  return { withdrawn, running }
}

/** Records why the batch is held, once somebody has the time to say it. */
export function giveBatchReason(engine: Engine, { batchId, actor, reason }: BatchOrder) {
  return changeBatch(engine, batchId, actor, async ({ draft }) => {
    if (draft.batch.heldAt === null) requireAccepted(`batch ${batchId} is not held`)
    draft.changeBatch({ heldReason: reason })
    draft.note('hold_reason', reason)
  })
}

export function resumeBatch(engine: Engine, { batchId, actor, reason }: BatchOrder): Promise<void> {
  return changeBatch(engine, batchId, actor, async ({ tx, draft }) => {
    const { heldAt } = draft.batch
    requireAccepted(resume(draft, reason))
    await postpone(tx, draft, heldAt!)
  })
}

const postpone = (tx: Tx, { batch, now }: Draft, heldAt: Date): Promise<void> =>
  postponeWaits(tx, { scope: 'batch', target: `${batch.id}` }, [batch.id], heldAt, now)

export function restartBatch(
  engine: Engine,
  { batchId, actor, reason }: BatchOrder,
): Promise<void> {
  return changeBatch(engine, batchId, actor, async (batchTx) => {
    await loadBatchSteps(batchTx)
    requireAccepted(restart(batchTx.draft, reason))
    // The failure of init delayed the phases: none is skipped as overdue.
    if (isOutdated(batchTx.draft.batch))
      await upgradeBatch(batchTx, { overdueBehavior: 'rerun', rerunInit: false })
  })
}

/** Whether phases may start at once because their new time has passed. */
export interface OverdueConsent {
  readonly allowOverdue: boolean
}

/** Returns the phases that start at once. Without consent to them, nothing is changed. */
export function rescheduleBatch(
  engine: Engine,
  order: BatchOrder & OverdueConsent & { startTime: Date },
): Promise<OverduePhase[]> {
  return changeBatch(engine, order.batchId, order.actor, async ({ draft }) => {
    const overdue = overdueAt(draft.phases, order.startTime, draft.now)
    requireAccepted(reschedule(draft, order.startTime, order.reason))
    requireConsent(order.batchId, overdue, order)
    return overdue
  })
}

export function requireConsent(
  batchId: number,
  overdue: readonly OverduePhase[],
  { allowOverdue }: OverdueConsent,
): void {
  if (overdue.length === 0 || allowOverdue) return
  const phases = overdue.map(({ phaseName }) => phaseName).join(', ')
  throw new MatoolkitError('WOULD_BE_OVERDUE', { batchId, phases })
}

export function advanceBatch(
  engine: Engine,
  order: Omit<BatchOrder, 'reason'> & Advance,
): Promise<void> {
  return changeBatch(engine, order.batchId, order.actor, async (batchTx) => {
    await loadBatchSteps(batchTx)
    await loadStartFacts(
      batchTx,
      batchTx.draft.phases.filter(({ status }) => status === 'pending'),
    )
    const { batch } = batchTx.draft
    const wasDetected = batch.status === 'detected'
    requireAccepted(advanceManual(batchTx.draft, order))
    if (wasDetected && batch.status === 'init_dispatched')
      await announceInit(batchTx, batch.membersActive)
  })
}

/**
 * Ends the batch: cancels open phases, init and phase steps, and withdraws untaken jobs. Compensation that has begun runs to its end.
 * Late results are only recorded. The draft decides for the batch, its phases and the steps whose jobs were withdrawn. The other steps
 * are not loaded: there may be 100,000, and for each the decision is the same, so one statement cancels them after `finish`.
 */
export async function cancelBatch(
  engine: Engine,
  { batchId, actor, reason }: BatchOrder,
): Promise<void> {
  await engine.db.transaction(async (tx) => {
    const order = { batchIds: [batchId], actor, access: 'exclusive' } as const
    const [batchTx] = (await begin(engine, tx, order)) as [BatchTransaction]
    const { draft } = batchTx
    if (isBatchEnded(draft.batch.status))
      requireAccepted(`batch ${batchId} is already ${draft.batch.status}`)
    // Held compensation continues with the time it had left. Before its steps are loaded.
    if (draft.batch.heldAt !== null) {
      await postpone(tx, draft, draft.batch.heldAt)
      draft.changeBatch({ heldAt: null, heldBy: null, heldReason: null })
    }
    await withdrawJobs(batchTx, `the batch was cancelled: ${reason}`)
    for (const phase of draft.phases) {
      if (!isPhaseEnded(phase.status))
        draft.transitionPhase(phase, 'cancel', reason, { completedAt: draft.now })
    }
    draft.transitionBatch('cancel', reason, { endedAt: draft.now })
    cancelLoaded(batchTx, reason)
    await finish([batchTx])
    await cancelSteps(tx, batchId, draft.now, actor, reason)
    await recountBatch(tx, batchId)
  })
}

/** The draft holds the steps whose jobs were withdrawn; one statement cancels the rest of the batch. */
function cancelLoaded({ draft }: BatchTransaction, reason: string): void {
  for (const step of draft.steps.values()) {
    if (!isCompensation(step) && isOpen(step.status)) cancelStep(draft, step, reason)
  }
}

/** Resumes a batch that detection held, once no move of its members waits for a decision. Other holds stay. */
export function releaseBatch(
  engine: Engine,
  { batchId, actor, reason }: BatchOrder,
): Promise<void> {
  return changeBatch(engine, batchId, actor, async ({ tx, draft }) => {
    const { heldAt, heldBy } = draft.batch
    if (heldAt === null || heldBy !== HELD_BY_SOURCE) return
    if (await hasUndecidedMoves(tx, batchId)) return
    resume(draft, reason)
    await postpone(tx, draft, heldAt)
  })
}
