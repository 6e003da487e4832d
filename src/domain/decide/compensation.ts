// Undoing: rollback sequences after a failure, removal steps after a leaver. Each step is a row, in order, each after the former
// has ended; a failed one does not stop the next.
import type { Member, Step } from '../facts.ts'
import { isOpen } from '../transitions.ts'
import { definitionOf, pendingStep } from './definitions.ts'
import type { Draft } from './draft.ts'

/** Makes the rows of the failed step's rollback. They are sent once the member has no job out. */
export function beginRollback(draft: Draft, origin: Step): void {
  const name = origin.definition.onFailure
  if (name === null) return
  const version = origin.definition.runbookVersion
  const sequence = draft.runbooks.get(version)?.rollbacks.get(name.toLowerCase())
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
  draft.note('rollback_begun', `rollback ${name}: ${sequence.length} steps`, { step: origin })
}

/** Makes the rows of the removal steps for this removal of the member. */
export function beginRemoval(draft: Draft, member: Member): void {
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

/** When the last step of a rollback has ended: all succeeded, and the origin is rolled back; else it says which were not. */
export function onCompensationEnd(draft: Draft, step: Step): void {
  if (step.kind !== 'rollback') return
  const sequence = draft
    .siblings(step.memberId, 'rollback')
    .filter(
      (one) => one.originStepId === step.originStepId && one.originAttempt === step.originAttempt,
    )
  if (sequence.some((one) => isOpen(one.status))) return
  const origin = draft.steps.get(step.originStepId!)
  if (!origin) throw new Error(`origin step ${step.originStepId} is not among the facts`)
  const failed = sequence.filter((one) => one.status !== 'succeeded' && one.status !== 'skipped')
  if (failed.length > 0) {
    const names = failed.map((one) => one.definition.stepName).join(', ')
    return draft.note('rollback_incomplete', `the rollback has ended, but these failed: ${names}`, {
      step: origin,
    })
  }
  // An operator may have taken the origin up again meanwhile; then there is nothing to mark.
  if (origin.attempt !== step.originAttempt) return
  if (origin.status === 'failed' || origin.status === 'poll_timeout') {
    draft.transitionStep(origin, 'undone', 'every step of its rollback succeeded', {
      completedAt: draft.now,
    })
  }
}
