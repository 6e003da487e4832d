// Taking a step up again: an operator's retry or redo, a member who comes back, an init that is restarted.
import type { Step } from '../facts.ts'
import { isPassed } from '../moves.ts'
import type { Draft } from './draft.ts'
import { phaseDefinition, planNamed } from './plan.ts'

/** Back to pending, with a fresh count of retries and the words of the version that is active now. */
export function takeUp(draft: Draft, step: Step, why: string): void {
  const plan = currentPlan(draft, step)
  if (plan !== step.plan) draft.changedPlans.add(step)
  const fresh = {
    retryCount: 0,
    retryAfter: null,
    completedAt: null,
    error: null,
    result: undefined,
    pollStartedAt: null,
    pollTimeoutAt: null,
    lastPolledAt: null,
    pollCount: 0,
    lateResult: undefined,
    plan,
  }
  if (step.status === 'pending') {
    // Its attempt was not sent yet, so the number is still free.
    if (plan !== step.plan || step.retryCount > 0) draft.changeStep(step, fresh)
    return
  }
  const event = isPassed(step.status) ? 'redo' : 'reactivate'
  draft.moveStep(step, event, why, { ...fresh, attempt: step.attempt + 1 })
}

/** The step as the active version has it, matched by name; as it was when that version has it no more. */
function currentPlan(draft: Draft, step: Step): Step['plan'] {
  const version = draft.batch.activeVersion
  if (step.plan.runbookVersion === version) return step.plan
  const runbook = draft.runbooks.get(version)
  const steps =
    step.kind === 'phase'
      ? phaseDefinition(runbook, draft.phase(step.phaseId!).name)?.steps
      : runbook?.init
  return (steps && planNamed(steps, step.plan.stepName, version)) ?? step.plan
}
