// A step that has failed for good: what it means for its member, or for the batch.
import { type Step, wasBegun } from '../facts.ts'
import { isOpen } from '../transitions.ts'
import { beginRollback, onCompensationEnd } from './compensation.ts'
import type { Draft } from './draft.ts'

/** No retry is left, polling took too long, or the words could not be resolved. */
export function failStep(
  draft: Draft,
  step: Step,
  event: 'fail' | 'time_out' | 'unresolved',
  why: string,
): void {
  draft.transitionStep(step, event, why, { completedAt: draft.now, error: why, retryAfter: null })
  // A step that no worker ever had has done nothing, so there is nothing to undo.
  switch (step.kind) {
    case 'phase':
      failMember(draft, step)
      if (wasBegun(step)) beginRollback(draft, step)
      break
    case 'init':
      failInit(draft, step)
      if (wasBegun(step)) beginRollback(draft, step)
      break
    case 'rollback':
    case 'removal':
      // A failed one does not stop the next.
      onCompensationEnd(draft, step)
  }
}

function failMember(draft: Draft, step: Step): void {
  const member = draft.member(step.memberId!)
  if (member.status === 'active') {
    const phase = draft.phaseOf(step)!
    draft.transitionMember(
      member,
      'fail',
      `step ${step.definition.stepName} of phase ${phase.name} failed`,
      {
        failedAt: draft.now,
      },
    )
  }
  cancelOpenSteps(draft, member.id, `the member failed at step ${step.definition.stepName}`)
}

/** Cancels the member's open phase steps in all phases. A job that is out stays unsettled until it answers. */
export function cancelOpenSteps(draft: Draft, memberId: number, why: string): void {
  for (const step of draft.siblings(memberId, 'phase')) {
    if (isOpen(step.status)) cancelStep(draft, step, why)
  }
}

export function cancelStep(draft: Draft, step: Step, why: string): void {
  draft.transitionStep(step, 'cancel', why, { completedAt: draft.now, retryAfter: null })
  if (step.wait?.what !== 'job') draft.setWait(step, null)
}

function failInit(draft: Draft, step: Step): void {
  const why = `init step ${step.definition.stepName} failed`
  for (const other of draft.siblings(null, 'init')) {
    if (isOpen(other.status)) cancelStep(draft, other, why)
  }
  if (draft.batch.status !== 'init_dispatched') {
    // Init was run again on a batch that is under way: its failure is told, the batch goes on.
    return draft.note('init_failed', `${why}; the batch goes on`, { step })
  }
  for (const phase of draft.phases) {
    if (phase.status === 'pending') {
      draft.transitionPhase(phase, 'cancel', why, { completedAt: draft.now })
    }
  }
  draft.transitionBatch('fail', why, { endedAt: draft.now, failedInInit: true })
}
