// A wait is over by the clock: a retry or a poll is due, polling took too long, or a job stayed silent past its deadline.
import type { Step } from '../facts.ts'
import type { Draft } from './draft.ts'
import { nextOfBatch, nextOfMember, queueNextAfter } from './next.ts'
import { onOverdue, timeOut } from './settle.ts'

/** Decided by the state of now, not by the clock alone: a wake that comes early, late or twice does nothing. */
export function onWake(draft: Draft, step: Step): void {
  const { wait } = step
  if (!wait?.wakeAt || wait.wakeAt > draft.now) return
  if (wait.what === 'job') return onOverdue(draft, step)
  // A held batch sends nothing and its held time does not count: resume moves these times.
  if (draft.batch.heldAt !== null) return
  if (step.status === 'polling' && step.pollTimeoutAt! <= draft.now) return timeOut(draft, step)
  if (wait.what === 'slot') return
  // Only polling can take too long; a retry of a poll step that waits for a slot is asked first (else it would be due for ever).
  const wakeAt = step.status === 'polling' ? step.pollTimeoutAt : null
  draft.setWait(step, { what: 'slot', since: draft.now, wakeAt })
  if (step.status === 'pending') leaveUnlessNext(draft, step)
}

/**
 * A retry that came due while something must go before it (an undo that began meanwhile, a phase that a new version put before this
 * one) goes back to waiting its turn, and what goes before it gets its own: the phase had begun while this step was at work.
 */
function leaveUnlessNext(draft: Draft, step: Step): void {
  const next =
    step.memberId === null ? nextOfBatch(draft) : nextOfMember(draft, draft.member(step.memberId))
  if (next === step) return
  draft.setWait(step, null)
  queueNextAfter(draft, step)
}
