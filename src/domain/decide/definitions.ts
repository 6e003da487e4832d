// Step definitions: from a runbook's step to the definition stored with a step's row, and back to the runbook when it is sent.

import type { RunbookStep } from '../runbook/read.ts'
import { phaseNamed, stepListOf } from '../runbook/steps.ts'
import type { Phase, Step, StepDefinition, StepKind } from '../state/facts.ts'
import type { Draft } from './draft.ts'

export function definitionOf(step: RunbookStep, index: number, version: number): StepDefinition {
  const { retry, poll } = step
  return {
    stepName: step.name,
    stepIndex: index,
    runbookVersion: version,
    workerId: step.workerId,
    onFailure: step.onFailure,
    pollIntervalSec: poll?.intervalSec ?? null,
    pollTimeoutSec: poll?.timeoutSec ?? null,
    maxRetries: retry?.maxRetries ?? 0,
    retryIntervalSec: retry?.intervalSec ?? 0,
    retryBackoff: retry?.backoff ?? 'fixed',
    retryMaxIntervalSec: retry?.maxIntervalSec ?? null,
    timeoutSec: step.timeoutSec,
  }
}

/** The steps that a member gets in a phase: the active version's, matched by name; the phase's own version's if it was dropped there. */
export function definitionsOfPhase(draft: Draft, phase: Phase): StepDefinition[] {
  for (const version of [draft.batch.activeVersion, phase.runbookVersion]) {
    const runbookPhase = phaseNamed(draft.runbooks.get(version), phase.name)
    if (runbookPhase)
      return runbookPhase.steps.map((step, index) => definitionOf(step, index, version))
  }
  throw new Error(`no published version has a phase named "${phase.name}"`)
}

const definitions = new WeakMap<readonly RunbookStep[], ReadonlyMap<string, StepDefinition>>()

/** The named step's definition in a list of the runbook. Cached by list: a list belongs to one version and never changes. */
export function definitionNamed(
  list: readonly RunbookStep[],
  name: string,
  version: number,
): StepDefinition | undefined {
  let known = definitions.get(list)
  if (!known) {
    known = new Map(
      list.map((step, index) => [step.name.toLowerCase(), definitionOf(step, index, version)]),
    )
    definitions.set(list, known)
  }
  return known.get(name) ?? known.get(name.toLowerCase())
}

/** The step in its version of the runbook, with function and parameters. */
export function runbookStepOf(draft: Draft, step: Step): RunbookStep | null {
  return (
    runbookStepsFor(draft, step, step.definition.runbookVersion)?.[step.definition.stepIndex] ??
    null
  )
}

/** The runbook's list that the step belongs to. */
export function runbookStepsFor(
  draft: Draft,
  owner: Pick<Step, 'kind' | 'phaseId' | 'originStepId'>,
  version: number,
): readonly RunbookStep[] | undefined {
  const { kind, phaseId, originStepId } = owner
  const name =
    kind === 'phase'
      ? draft.phase(phaseId!).name
      : (kind === 'rollback' && draft.steps.get(originStepId!)?.definition.onFailure) || null
  return stepListOf(draft.runbooks.get(version), kind, name)
}

/** A pending step, not sent and not waiting. The draft gives it an id. */
export function pendingStep(
  definition: StepDefinition,
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
  // Fields in the order of `stepOf` in db/step-facts.ts: V8 is fastest when all steps have one shape.
  return {
    id: owner.id ?? 0,
    kind: owner.kind,
    phaseId: owner.phaseId ?? null,
    memberId: owner.memberId,
    originStepId: owner.originStepId ?? null,
    originAttempt: owner.originAttempt ?? null,
    removalNumber: owner.removalNumber ?? null,
    definition,
    status: 'pending',
    attempt: 0,
    retryCount: 0,
    retryAfter: null,
    functionName: null,
    params: null,
    jobId: null,
    mayHaveEffect: false,
    dispatchedAt: null,
    deadlineAt: null,
    completedAt: null,
    result: undefined,
    error: null,
    pollStartedAt: null,
    lastPolledAt: null,
    pollCount: 0,
    pollTimeoutAt: null,
    pollSaid: null,
    pollChanges: 0,
    lateResult: undefined,
    correctsTime: null,
    correctsSentAt: null,
    wait: null,
  }
}
