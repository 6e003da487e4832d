// A step that failed for good, and what that means for its member or its batch.
import { mayHaveRun, type Step } from '../state/facts.ts'
import { isOpen } from '../state/transitions.ts'
import { cancelOpenSteps, cancelStep } from './cancel.ts'
import { beginRollback, onCompensationEnd } from './compensation.ts'
import type { Draft } from './draft.ts'

/** No retry is left, polling took too long, or its templates did not resolve. */
export function failStep(
  draft: Draft,
  step: Step,
  event: 'fail' | 'time_out' | 'unresolved',
  why: string,
): void {
  draft.transitionStep(step, event, why, { completedAt: draft.now, error: why, retryAfter: null })
  switch (step.kind) {
    case 'phase':
      failMember(draft, step)
      rollBack(draft, step)
      break
    case 'init':
      failInit(draft, step)
      rollBack(draft, step)
      break
    case 'rollback':
    case 'removal':
    case 'undo':
      onCompensationEnd(draft, step)
  }
}

/** A rollback deletes what its step made. After a step that did nothing it would delete what others made. */
function rollBack(draft: Draft, step: Step): void {
  if (mayHaveRun(step)) return beginRollback(draft, step)
  const { onFailure } = step.definition
  if (onFailure === null) return
  draft.note('rollback_skipped', `rollback ${onFailure} is not needed: no attempt did anything`, {
    step,
  })
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

function failInit(draft: Draft, step: Step): void {
  const why = `init step ${step.definition.stepName} failed`
  for (const other of draft.siblings(null, 'init')) {
    if (isOpen(other.status)) cancelStep(draft, other, why)
  }
  if (draft.batch.status !== 'init_dispatched') {
    // A version upgrade ran init again on an active batch: the failure is noted, the batch continues.
    return draft.note('init_failed', `${why}; the batch continues`, { step })
  }
  for (const phase of draft.phases) {
    if (phase.status === 'pending') {
      draft.transitionPhase(phase, 'cancel', why, { completedAt: draft.now })
    }
  }
  draft.transitionBatch('fail', why, { endedAt: draft.now, failedInInit: true })
}
