// What operators decide about a whole batch. A refusal is an error with its reason; nothing is changed then.
import { cancelSteps, recountBatch } from '../db/steps.ts'
import { moveHeldTimes } from '../db/waits.ts'
import {
  type Advance,
  advanceManual,
  hold,
  reschedule,
  restart,
  resume,
} from '../domain/decide/course.ts'
import { cancelStep } from '../domain/decide/fail.ts'
import type { Refusal } from '../domain/decide/membership.ts'
import { isBatchEnded, isOpen, isPhaseEnded } from '../domain/moves.ts'
import { MatoolkitError } from '../errors.ts'
import {
  bringBatchSteps,
  callBackJobs,
  changeBatch,
  type Door,
  enter,
  leave,
  takeVersion,
  type Visit,
} from './door.ts'
import { isBehind } from './transition.ts'

export interface Order {
  readonly batchId: number
  readonly actor: string
  readonly reason: string
}

export const insist = (refusal: Refusal): void => {
  if (refusal !== null) throw new MatoolkitError('REFUSED', { reason: `${refusal}.` })
}

/** Nothing new is sent; the jobs that no worker has taken are called back. */
export function holdBatch(door: Door, { batchId, actor, reason }: Order): Promise<void> {
  return changeBatch(door, batchId, actor, async ({ draft }) => insist(hold(draft, reason)))
}

export function resumeBatch(door: Door, { batchId, actor, reason }: Order): Promise<void> {
  return changeBatch(door, batchId, actor, async ({ tx, draft }) => {
    const { heldAt } = draft.batch
    insist(resume(draft, reason))
    await moveHeldTimes(tx, batchId, heldAt!, draft.now)
  })
}

export function restartBatch(door: Door, { batchId, actor, reason }: Order): Promise<void> {
  return changeBatch(door, batchId, actor, async (visit) => {
    await bringBatchSteps(visit)
    insist(restart(visit.draft, reason))
    // What the failure of init stopped is done late, in the new version's words: nothing is left out for being overdue.
    if (isBehind(visit.draft.batch))
      await takeVersion(visit, { overdueBehavior: 'rerun', rerunInit: false })
  })
}

export function rescheduleBatch(door: Door, order: Order & { startTime: Date }): Promise<void> {
  return changeBatch(door, order.batchId, order.actor, async ({ draft }) =>
    insist(reschedule(draft, order.startTime, order.reason)),
  )
}

export function advanceBatch(door: Door, order: Omit<Order, 'reason'> & Advance): Promise<void> {
  return changeBatch(door, order.batchId, order.actor, async (visit) => {
    await bringBatchSteps(visit)
    insist(advanceManual(visit.draft, order))
  })
}

/**
 * The end of the batch: open init and phase steps and open phases are cancelled at once, whatever their number; untaken jobs are
 * called back; a rollback or removal that has begun runs to its end. Late results are recorded only.
 */
export async function cancelBatch(door: Door, { batchId, actor, reason }: Order): Promise<void> {
  await door.db.transaction(async (tx) => {
    const visit = await enter(door, tx, batchId, actor)
    const { draft } = visit
    if (isBatchEnded(draft.batch.status))
      insist(`batch ${batchId} is ${draft.batch.status} already`)
    // An undo that was held goes on with the time it had left; before its steps are among the facts.
    if (draft.batch.heldAt !== null) {
      await moveHeldTimes(tx, batchId, draft.batch.heldAt, draft.now)
      draft.changeBatch({ heldAt: null, heldBy: null, heldReason: null })
    }
    await callBackJobs(visit, `the batch was cancelled: ${reason}`)
    for (const phase of draft.phases) {
      if (!isPhaseEnded(phase.status))
        draft.movePhase(phase, 'cancel', reason, { completedAt: draft.now })
    }
    draft.moveBatch('cancel', reason, { endedAt: draft.now })
    cancelLoaded(visit, reason)
    await leave(visit)
    await cancelSteps(tx, batchId, draft.now, actor, reason)
    await recountBatch(tx, batchId)
  })
}

/** The steps whose jobs came back are in the draft; the rest of the batch is cancelled by one statement. */
function cancelLoaded({ draft }: Visit, reason: string): void {
  for (const step of draft.steps.values()) {
    const isDoing = step.kind === 'init' || step.kind === 'phase'
    if (isDoing && isOpen(step.status)) cancelStep(draft, step, reason)
  }
}
