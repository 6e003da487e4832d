// Compensation: the rollback after a failure, the cleanup after a removal. Steps run in order, each after the previous one has ended;
// a failed step does not stop the next.

import { countText } from '../../base/text/count-text.ts'
import { sameName } from '../../base/text/same-name.ts'
import { stepListOf } from '../runbook/steps.ts'
import type { Member, Step } from '../state/facts.ts'
import { isOpen, isPassed } from '../state/transitions.ts'
import { definitionOf, pendingStep } from './definitions.ts'
import type { Draft } from './draft.ts'
import { effectiveSteps } from './next.ts'
import { onUndoEnd } from './undo-end.ts'

/** Creates the failed step's rollback. It is sent once the member has no unsettled job. */
export function beginRollback(draft: Draft, origin: Step): void {
  const name = origin.definition.onFailure
  if (name === null) return
  const version = origin.definition.runbookVersion
  const sequence = stepListOf(draft.runbooks.get(version), 'rollback', name)
  if (!sequence?.length) {
    return draft.note('rollback_missing', `version ${version} has no rollback "${name}"`, {
      step: origin,
    })
  }
  sequence.forEach((definition, index) => {
    draft.newStep(
      pendingStep(definitionOf(definition, index, version), {
        kind: 'rollback',
        memberId: origin.memberId,
        originStepId: origin.id,
        originAttempt: origin.attempt,
      }),
    )
  })
  draft.note('rollback_begun', `rollback ${name}: ${countText(sequence.length, 'step')}`, {
    step: origin,
  })
}

/** Creates the cleanup steps of this removal. */
export function beginCleanup(draft: Draft, member: Member): void {
  const version = draft.batch.runbookVersion
  const sequence = draft.runbooks.get(version)?.onMemberRemoved ?? []
  sequence.forEach((definition, index) => {
    draft.newStep(
      pendingStep(definitionOf(definition, index, version), {
        kind: 'removal',
        memberId: member.id,
        removalNumber: member.removalNumber,
      }),
    )
  })
}

/** After a rollback's last step: marks the origin rolled back if every step succeeded, else reports those that failed. */
export function onCompensationEnd(draft: Draft, step: Step): void {
  if (step.kind === 'undo') return onUndoEnd(draft, step)
  if (step.kind !== 'rollback') return
  const sequence = draft
    .siblings(step.memberId, 'rollback')
    .filter(
      (other) =>
        other.originStepId === step.originStepId && other.originAttempt === step.originAttempt,
    )
  if (sequence.some(({ status }) => isOpen(status))) return
  const origin = draft.steps.get(step.originStepId!)
  if (!origin) throw new Error(`origin step ${step.originStepId} is not loaded`)
  const failed = sequence.filter(({ status }) => !isPassed(status))
  if (failed.length > 0) {
    const names = failed.map(({ definition }) => definition.stepName).join(', ')
    return draft.note('rollback_incomplete', `the rollback ended with failed steps: ${names}`, {
      step: origin,
    })
  }
  // An operator may have reopened the origin meanwhile: then there is nothing to mark.
  if (origin.attempt !== step.originAttempt) return
  for (const undone of [origin, ...sharing(draft, origin)]) {
    // Nothing is left of what it did: a later attempt that is refused has nothing to roll back.
    if (undone.mayHaveEffect) draft.changeStep(undone, { mayHaveEffect: false })
    if (undone.status === 'failed' || undone.status === 'poll_timeout') {
      draft.transitionStep(undone, 'roll_back', 'every step of its rollback succeeded', {
        completedAt: draft.now,
      })
    }
  }
}

/** The member's other steps with the same rollback: a person may have rolled back several with it. */
function sharing(draft: Draft, origin: Step): Step[] {
  if (origin.memberId === null) return []
  const rollback = origin.definition.onFailure ?? ''
  return effectiveSteps(draft, origin.memberId).filter(
    (step) => step !== origin && sameName(step.definition.onFailure ?? '', rollback),
  )
}
