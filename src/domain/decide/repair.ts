// An operator's repairs of one member: retry, redo, skip, mark done, set a variable, accept a late result.
// Each refuses, with a reason, while a compensation or a job of the member is open. Phases and batch reopen as needed (finish.ts).
// Every refusal is a function of its own: the actions shown to people (actions.ts) are those that it lets through.

import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import type { RunbookStep } from '../runbook/model.ts'
import { isCompensation, isUnsettled, type Member, mayHaveRun, type Step } from '../state/facts.ts'
import { isFailed, isPassed, type StepStatus } from '../state/transitions.ts'
import { runbookStepOf } from './definitions.ts'
import type { Draft } from './draft.ts'
import { isCompensationOpen, type Refusal } from './membership.ts'
import {
  effectiveSteps,
  firstNotPassed,
  isEffective,
  phaseOrder,
  queueNextOfMember,
} from './next.ts'
import { reopenStep } from './reopen-step.ts'
import { passCompensation, refuseCompensation } from './repair-compensation.ts'
import { takeOutputs } from './settle.ts'

export function refuseRepair(draft: Draft, member: Member): Refusal {
  if (draft.batch.status === 'cancelled')
    return `batch ${draft.batch.id} is cancelled; clone it instead`
  if (member.status === 'removed') return `member ${member.id} is removed; add it again instead`
  if (isCompensationOpen(draft, member))
    return `member ${member.id} has an unfinished rollback, cleanup or undo`
  if ((draft.stepsOfMember.get(member.id) ?? []).some(isUnsettled)) {
    return `member ${member.id} has an unsettled job`
  }
  return null
}

/** The member's phase steps in the order they run. */
export function stepsInOrder(draft: Draft, member: Member): Step[] {
  const rank = new Map(phaseOrder(draft.phases).map((phase, place) => [phase.id, place]))
  return effectiveSteps(draft, member.id).sort(
    (a, b) =>
      rank.get(a.phaseId!)! - rank.get(b.phaseId!)! ||
      a.definition.stepIndex - b.definition.stepIndex ||
      a.id - b.id,
  )
}

/** Retries a failed member where a retry must start, or from an earlier step (`fromStepId`), with all later steps. */
export function retryMember(
  draft: Draft,
  member: Member,
  why: string,
  fromStepId?: number,
): Refusal {
  const no = refuseRetry(draft, member, fromStepId)
  if (no) return no
  const from = fromStepId === undefined ? retryStart(draft, member) : draft.steps.get(fromStepId)!
  if (from === null) reactivate(draft, member, why)
  else startFrom(draft, member, from, why)
  return null
}

export function refuseRetry(draft: Draft, member: Member, fromStepId?: number): Refusal {
  const no = refuseRepair(draft, member)
  if (no) return no
  if (member.status !== 'failed') return `member ${member.id} is ${member.status}, not failed`
  const failed = firstNotPassed(draft, member.id)
  if (!failed && fromStepId === undefined && hasPhaseToCome(draft)) return null
  if (!failed) return `member ${member.id} has no step left to retry`
  const start = fromStepId === undefined ? retryStart(draft, member)! : draft.steps.get(fromStepId)
  return refuseStart(draft, member, start)
}

/** A phase is still pending. When a version reruns what failed, a member retried in time runs it with the others. */
const hasPhaseToCome = (draft: Draft): boolean =>
  draft.phases.some((phase) => phase.status === 'pending' && isEffective(draft, phase))

/** By a rollback, or by hand. */
const isTakenBack = (status: StepStatus): boolean => status === 'rolled_back' || status === 'undone'

/** The rollbacks that have undone something of the member's present steps, in lower case. */
export function rolledBackNames(draft: Draft, member: Member): ReadonlySet<string> {
  const sent = new Set(
    draft
      .siblings(member.id, 'rollback')
      .filter(mayHaveRun)
      .map(({ originStepId, originAttempt }) => `${originStepId} ${originAttempt}`),
  )
  const names = effectiveSteps(draft, member.id)
    .filter(
      ({ id, attempt, status }) =>
        isTakenBack(status) || (isFailed(status) && sent.has(`${id} ${attempt}`)),
    )
    // What was undone by hand need not have a rollback.
    .flatMap(({ definition }) => definition.onFailure?.toLowerCase() ?? [])
  return new Set(names)
}

/**
 * Where a retry starts: at the step that did not pass, or earlier, at the first whose effect a rollback took away. Several steps may share
 * a rollback, and it may delete what a step without one created: a retry at the failed step once met "the tenant has no user".
 */
export function retryStart(draft: Draft, member: Member): Step | null {
  const names = rolledBackNames(draft, member)
  const failed = firstNotPassed(draft, member.id)
  if (names.size === 0) return failed
  const calls = rollbackCalls(draft, member)
  const isUndone = (step: Step) => {
    const { onFailure } = step.definition
    return (
      (onFailure !== null && names.has(onFailure.toLowerCase())) || takesBack(draft, calls, step)
    )
  }
  return stepsInOrder(draft, member).find((step) => step === failed || isUndone(step)) ?? null
}

/** What the rollbacks of the present steps have called. */
function rollbackCalls(draft: Draft, member: Member): RunbookStep[] {
  const isPresent = ({ originStepId, originAttempt }: Step) =>
    draft.steps.get(originStepId!)?.attempt === originAttempt
  return draft
    .siblings(member.id, 'rollback')
    .filter((row) => mayHaveRun(row) && isPresent(row))
    .flatMap((row) => runbookStepOf(draft, row) ?? [])
}

/** One of the calls is the inverse of the step's function, on the same worker, and no parameter names something else. */
function takesBack(draft: Draft, calls: readonly RunbookStep[], step: Step): boolean {
  const done = step.status === 'succeeded' ? runbookStepOf(draft, step) : null
  if (done === null) return false
  const undoneBy = draft.factsOf(done.workerId, done.function)?.undoneBy ?? []
  return calls.some(
    (call) =>
      sameName(call.workerId, done.workerId) &&
      undoneBy.some((name) => sameName(name, call.function)) &&
      Object.entries(call.params).every(
        ([name, value]) =>
          !Object.hasOwn(done.params, name) ||
          JSON.stringify(done.params[name]) === JSON.stringify(value),
      ),
  )
}

/** Runs a step and all later ones again for a member that has passed them or is under way. */
export function redoMember(draft: Draft, member: Member, fromStepId: number, why: string): Refusal {
  const from = draft.steps.get(fromStepId)
  const no = refuseRepair(draft, member) ?? refuseStart(draft, member, from)
  if (!no) startFrom(draft, member, from!, why)
  return no
}

function refuseStart(draft: Draft, member: Member, from: Step | undefined): Refusal {
  const ordered = stepsInOrder(draft, member)
  const start = from ? ordered.indexOf(from) : -1
  if (start < 0) return `member ${member.id} has no such step to start from`
  const notPassed = ordered.findIndex((step) => !isPassed(step.status))
  if (notPassed >= 0 && notPassed < start) {
    return `step ${from!.definition.stepName} comes after ${ordered[notPassed]!.definition.stepName}, which has not passed`
  }
  const polled = ordered.slice(start).find((step) => step.status === 'polling')
  return polled
    ? `step ${polled.definition.stepName} of member ${member.id} is polling; redo it when polling has ended`
    : null
}

function startFrom(draft: Draft, member: Member, from: Step, why: string): void {
  const ordered = stepsInOrder(draft, member)
  forgetUndone(draft, member)
  reactivate(draft, member, why)
  for (const step of ordered.slice(ordered.indexOf(from))) {
    draft.setWait(step, null)
    reopenStep(draft, step, why)
  }
  queueNextOfMember(draft, member)
}

/** A rollback that ended well has undone every step that shares it, the passed ones too: nothing is left of them to roll back. */
function forgetUndone(draft: Draft, member: Member): void {
  const steps = effectiveSteps(draft, member.id)
  const isUndone = new Set(
    steps
      .filter(({ status }) => isTakenBack(status))
      .map(({ definition }) => definition.onFailure?.toLowerCase()),
  )
  for (const step of steps) {
    const name = step.definition.onFailure?.toLowerCase()
    if (name !== undefined && step.mayHaveEffect && isUndone.has(name))
      draft.changeStep(step, { mayHaveEffect: false })
  }
}

function reactivate(draft: Draft, member: Member, why: string): void {
  if (member.status === 'failed') draft.transitionMember(member, 'retry', why, { failedAt: null })
}

/** Skips the step: the member continues after it. */
export function skipStep(draft: Draft, step: Step, why: string): Refusal {
  return pass(draft, step, why, () => {
    draft.transitionStep(step, 'skip', why, { completedAt: draft.now, retryAfter: null })
  })
}

/** Marks the step done by hand, with these outputs. */
export function markDone(
  draft: Draft,
  step: Step,
  why: string,
  outputs: Readonly<Record<string, Json>> = {},
): Refusal {
  return pass(draft, step, why, () => {
    draft.transitionStep(step, 'mark_done', why, {
      completedAt: draft.now,
      retryAfter: null,
      error: null,
    })
    if (Object.keys(outputs).length > 0) draft.addOutputs(step, outputs)
  })
}

/** Accepts a late success as the step's result. */
export function acceptLateResult(draft: Draft, step: Step, why: string): Refusal {
  const no = refuseLateResult(draft, step)
  if (no) return no
  const late = step.lateResult!
  return pass(draft, step, why, () => {
    draft.transitionStep(step, 'mark_done', `the late result was accepted: ${why}`, {
      completedAt: draft.now,
      retryAfter: null,
      error: null,
      result: late,
      lateResult: undefined,
    })
    takeOutputs(draft, step, late)
  })
}

export function refuseLateResult(draft: Draft, step: Step): Refusal {
  if (step.lateResult === undefined) return `step ${step.id} has no late result to accept`
  if (isTakenBack(step.status)) {
    return `step ${step.id} was ${step.status === 'undone' ? 'taken back' : 'rolled back'}, so its late result no longer holds`
  }
  return refusePass(draft, step)
}

/** Why the step cannot be skipped or marked done. */
export function refusePass(draft: Draft, step: Step): Refusal {
  if (isCompensation(step)) return refuseCompensation(draft, step)
  if (step.kind !== 'phase')
    return `step ${step.id} is an ${step.kind} step; only steps of members can be passed by hand`
  const member = draft.member(step.memberId!)
  const no = refuseRepair(draft, member)
  if (no) return no
  const isPending =
    step.status === 'pending' ||
    step.status === 'cancelled' ||
    step.status === 'undone' ||
    isFailed(step.status)
  if (!isPending) return `step ${step.definition.stepName} of member ${member.id} is ${step.status}`
  return firstNotPassed(draft, member.id) === step
    ? null
    : `step ${step.definition.stepName} is not the next step of member ${member.id}`
}

/** Passes the member's first step that is not passed, or a failed compensation step, and queues the next one. */
function pass(draft: Draft, step: Step, why: string, transition: () => void): Refusal {
  const no = refusePass(draft, step)
  if (no) return no
  if (step.kind === 'phase') forgetUndone(draft, draft.member(step.memberId!))
  draft.setWait(step, null)
  transition()
  if (step.kind !== 'phase') {
    passCompensation(draft, step)
    return null
  }
  const member = draft.member(step.memberId!)
  if (member.status === 'failed') {
    reactivate(draft, member, why)
    for (const later of stepsInOrder(draft, member)) {
      if (!isPassed(later.status)) reopenStep(draft, later, why)
    }
  }
  queueNextOfMember(draft, member)
  return null
}

export function setVariable(
  draft: Draft,
  member: Member,
  name: string,
  value: Json,
  why: string,
): void {
  draft.changeMember(member, { outputs: { ...member.outputs, [name]: value } })
  draft.note('variable_set', `${name} was set: ${why}`, { memberId: member.id })
}
