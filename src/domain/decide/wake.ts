// A wait ends by the clock: a retry or a poll is due, or polling took too long. Whether a job is lost, the bus must be asked first
// (engine/lost-jobs.ts).
import type { Step } from '../state/facts.ts'
import { isOpen } from '../state/transitions.ts'
import type { Draft } from './draft.ts'
import { isStepHeld } from './held.ts'
import { nextOfBatch, nextOfMember, queueNextAfter } from './next.ts'
import { timeOut } from './settle.ts'
import { isOutsideWindow } from './tenant-effect.ts'

/** Decides by the current state: a wake that comes early, late or twice does no harm. */
export function onWake(draft: Draft, step: Step): void {
  const { wait } = step
  if (!wait?.wakeAt || wait.wakeAt > draft.now) return
  if (wait.kind === 'job') return
  // Time on hold does not count: resume postpones these times.
  if (isStepHeld(draft, step)) return
  if (step.status === 'polling' && isOutsideWindow(draft, step)) postponePolling(draft, step)
  if (step.status === 'polling' && step.pollTimeoutAt! <= draft.now) return timeOut(draft, step)
  if (wait.kind === 'slot') return
  if (step.status === 'polling' && hasCorrection(draft, step))
    return draft.setWait(step, { ...wait, wakeAt: draft.later(POLL_AFTER_CORRECTION_SEC) })
  // Only a polling step can time out while it waits for a slot. A retry with a wake time here would be due forever.
  const wakeAt = step.status === 'polling' ? step.pollTimeoutAt : null
  draft.setWait(step, { kind: 'slot', since: draft.now, wakeAt })
  if (step.status === 'pending') leaveUnlessNext(draft, step)
}

/** Nor does time outside the change windows, for a poll that repeats a change. */
function postponePolling(draft: Draft, step: Step): void {
  const opensAt = draft.window.until ?? draft.later(NEVER_OPENS_SEC)
  const wait = +opensAt - +draft.now
  const least = +opensAt + step.definition.pollIntervalSec! * 1_000
  const until = new Date(Math.max(+step.pollTimeoutAt! + wait, least))
  draft.changeStep(step, { pollTimeoutAt: until })
  if (step.wait?.kind === 'slot') draft.setWait(step, { ...step.wait, wakeAt: until })
}

/** Looked at again after so long. */
const NEVER_OPENS_SEC = 86_400
/** A message to the member is queued or out. A member has one job at a time, so the poll waits a little. */
const POLL_AFTER_CORRECTION_SEC = 30

const hasCorrection = (draft: Draft, { memberId }: Step): boolean =>
  (draft.stepsOfMember.get(memberId) ?? []).some(
    (other) => other.correctsTime !== null && isOpen(other.status) && other.wait !== null,
  )

/**
 * A due retry may no longer be next: a compensation has begun, or a version upgrade put a phase before it. Then it leaves the queue
 * and the next step enters.
 */
function leaveUnlessNext(draft: Draft, step: Step): void {
  const next =
    step.memberId === null ? nextOfBatch(draft) : nextOfMember(draft, draft.member(step.memberId))
  if (next === step) return
  draft.setWait(step, null)
  queueNextAfter(draft, step)
}
