// Reopening a step: an operator's retry or redo, a member who comes back, a restarted init, a correction of what a member was told.
import { isCompensation, type Step } from '../state/facts.ts'
import { isPassed } from '../state/transitions.ts'
import { definitionNamed, runbookStepsFor } from './definitions.ts'
import type { Draft } from './draft.ts'

/** Back to pending, with no retries used and the active version's definition. */
export function reopenStep(
  draft: Draft,
  step: Step,
  why: string,
  passed: 'redo' | 'correct' = 'redo',
): void {
  const definition = currentDefinition(draft, step)
  if (isPassed(step.status)) draft.setCorrection(step, null)
  if (definition !== step.definition) draft.changedDefinitions.add(step)
  const fresh = {
    retryCount: 0,
    retryAfter: null,
    completedAt: null,
    error: null,
    result: undefined,
    pollStartedAt: null,
    pollTimeoutAt: null,
    pollSaid: null,
    pollChanges: 0,
    lastPolledAt: null,
    pollCount: 0,
    lateResult: undefined,
    definition,
  }
  if (step.status === 'pending') {
    // Its attempt was not sent, so the number is still free.
    if (definition !== step.definition || step.retryCount > 0) draft.changeStep(step, fresh)
    return
  }
  const event = isPassed(step.status) ? passed : 'reactivate'
  draft.transitionStep(step, event, why, { ...fresh, attempt: step.attempt + 1 })
}

/** The active version's definition of the step, by name; the step's own if that version dropped it. */
function currentDefinition(draft: Draft, step: Step): Step['definition'] {
  // Compensation belongs to the version that it reverses.
  if (isCompensation(step)) return step.definition
  const version = draft.batch.activeVersion
  if (step.definition.runbookVersion === version) return step.definition
  const steps = runbookStepsFor(draft, step, version)
  return (steps && definitionNamed(steps, step.definition.stepName, version)) ?? step.definition
}
