// Cancelling open steps: of a member that stops, of a batch or an undo that ends.
import type { Step } from '../state/facts.ts'
import { isOpen } from '../state/transitions.ts'
import type { Draft } from './draft.ts'

/** Cancels the member's open steps in all phases. A job that was sent stays unsettled until it ends. */
export function cancelOpenSteps(draft: Draft, memberId: number, why: string): void {
  for (const step of draft.siblings(memberId, 'phase')) {
    if (isOpen(step.status)) cancelStep(draft, step, why)
  }
}

export function cancelStep(draft: Draft, step: Step, why: string): void {
  draft.transitionStep(step, 'cancel', why, { completedAt: draft.now, retryAfter: null })
  if (step.wait?.kind !== 'job') draft.setWait(step, null)
}
