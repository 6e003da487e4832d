// From the runbook's words to the rows: what a step is to be, and where its words are found again when it is sent.
import type { Phase, Step, StepKind, StepPlan } from '../facts.ts'
import type { Runbook, Step as StepDefinition } from '../runbook.ts'
import type { Draft } from './draft.ts'

export function planOf(definition: StepDefinition, index: number, version: number): StepPlan {
  const { retry, poll } = definition
  return {
    stepName: definition.name,
    stepIndex: index,
    runbookVersion: version,
    workerId: definition.workerId,
    onFailure: definition.onFailure,
    pollIntervalSec: poll?.intervalSec ?? null,
    pollTimeoutSec: poll?.timeoutSec ?? null,
    maxRetries: retry?.maxRetries ?? 0,
    retryIntervalSec: retry?.intervalSec ?? 0,
    retryBackoff: retry?.backoff ?? 'fixed',
    retryMaxIntervalSec: retry?.maxIntervalSec ?? null,
    timeoutSec: definition.timeoutSec,
  }
}

const sameName = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

export const phaseDefinition = (runbook: Runbook | undefined, name: string) =>
  runbook?.phases.find((phase) => sameName(phase.name, name))

/**
 * The steps that a member gets in a phase. The version that is active wins, matched by the phase's name;
 * a phase that it no longer has is done as it was written.
 */
export function stepsOfPhase(draft: Draft, phase: Phase): StepPlan[] {
  for (const version of [draft.batch.activeVersion, phase.runbookVersion]) {
    const definition = phaseDefinition(draft.runbooks.get(version), phase.name)
    if (definition) return definition.steps.map((step, index) => planOf(step, index, version))
  }
  throw new Error(`no published version has a phase named "${phase.name}"`)
}

const plans = new WeakMap<readonly StepDefinition[], ReadonlyMap<string, StepPlan>>()

/** The plan of the step of that name in a list of the runbook's steps. Made once: a published list never changes. */
export function planNamed(
  list: readonly StepDefinition[],
  name: string,
  version: number,
): StepPlan | undefined {
  let known = plans.get(list)
  if (!known) {
    known = new Map(
      list.map((step, index) => [step.name.toLowerCase(), planOf(step, index, version)]),
    )
    plans.set(list, known)
  }
  return known.get(name) ?? known.get(name.toLowerCase())
}

/** The words of a step: its function and its parameters, as its version of the runbook has them. */
export function definitionOf(draft: Draft, step: Step): StepDefinition | null {
  return listOf(draft, step, step.plan.runbookVersion)?.[step.plan.stepIndex] ?? null
}

/** The list of the runbook's steps that a step of this owner stands in. */
export function listOf(
  draft: Draft,
  owner: Pick<Step, 'kind' | 'phaseId' | 'originStepId'>,
  version: number,
): readonly StepDefinition[] | undefined {
  const runbook = draft.runbooks.get(version)
  switch (owner.kind) {
    case 'init':
      return runbook?.init
    case 'phase':
      return phaseDefinition(runbook, draft.phase(owner.phaseId!).name)?.steps
    case 'removal':
      return runbook?.onMemberRemoved
    case 'rollback': {
      const name = draft.steps.get(owner.originStepId!)?.plan.onFailure
      return name ? runbook?.rollbacks.get(name.toLowerCase()) : undefined
    }
  }
}

/** A pending row of the given plan, not sent and not waiting. The draft gives it an id. */
export function pendingStep(
  plan: StepPlan,
  owner: {
    id?: number
    kind: StepKind
    phaseId?: number
    memberId: number | null
    originStepId?: number
    originAttempt?: number
    removalNumber?: number
  },
): Step {
  // The fields in the order of `stepOf` in db/step-facts.ts: all steps have one shape then, which V8 finds fields in fastest.
  return {
    id: owner.id ?? 0,
    kind: owner.kind,
    phaseId: owner.phaseId ?? null,
    memberId: owner.memberId,
    originStepId: owner.originStepId ?? null,
    originAttempt: owner.originAttempt ?? null,
    removalNumber: owner.removalNumber ?? null,
    plan,
    status: 'pending',
    attempt: 0,
    retryCount: 0,
    retryAfter: null,
    functionName: null,
    params: null,
    jobId: null,
    wasTaken: false,
    dispatchedAt: null,
    deadlineAt: null,
    completedAt: null,
    result: undefined,
    error: null,
    pollStartedAt: null,
    lastPolledAt: null,
    pollCount: 0,
    pollTimeoutAt: null,
    lateResult: undefined,
    wait: null,
  }
}
