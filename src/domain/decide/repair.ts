// An operator's repairs of one member: retry, redo, skip, mark done, set a variable, accept a late result.
// Each refuses, with a reason, while a compensation or a job of the member is open. Phases and batch reopen as needed (finish.ts).
import { isUnsettled, type Member, type Step } from '../facts.ts'
import type { Json } from '../json.ts'
import { isFailed, isPassed } from '../transitions.ts'
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
import { takeOutputs } from './settle.ts'

function refusal(draft: Draft, member: Member): Refusal {
  if (draft.batch.status === 'cancelled')
    return `batch ${draft.batch.id} is cancelled; clone it instead`
  if (member.status === 'removed') return `member ${member.id} is removed; add it again instead`
  if (isCompensationOpen(draft, member))
    return `member ${member.id} has an unfinished rollback or cleanup`
  if ((draft.stepsOfMember.get(member.id) ?? []).some(isUnsettled)) {
    return `member ${member.id} has an unsettled job`
  }
  return null
}

/** The member's phase steps in the order they run. */
function stepsInOrder(draft: Draft, member: Member): Step[] {
  const rank = new Map(phaseOrder(draft.phases).map((phase, place) => [phase.id, place]))
  return effectiveSteps(draft, member.id).sort(
    (a, b) =>
      rank.get(a.phaseId!)! - rank.get(b.phaseId!)! ||
      a.definition.stepIndex - b.definition.stepIndex ||
      a.id - b.id,
  )
}

/** Retries a failed member from the step that failed, or from an earlier one (`fromStepId`), with all later steps. */
export function retryMember(
  draft: Draft,
  member: Member,
  why: string,
  fromStepId?: number,
): Refusal {
  const no = refusal(draft, member)
  if (no) return no
  if (member.status !== 'failed') return `member ${member.id} is ${member.status}, not failed`
  const failed = firstNotPassed(draft, member.id)
  if (!failed && fromStepId === undefined && hasPhaseToCome(draft)) {
    reactivate(draft, member, why)
    return null
  }
  if (!failed) return `member ${member.id} has no step left to retry`
  if (fromStepId === undefined && failed.status === 'rolled_back') {
    return `step ${failed.definition.stepName} of member ${member.id} was rolled back: name the step to start from`
  }
  const from = fromStepId === undefined ? failed : draft.steps.get(fromStepId)
  return startFrom(draft, member, from, why)
}

/** A phase is still pending. When a version reruns what failed, a member retried in time runs it with the others. */
const hasPhaseToCome = (draft: Draft): boolean =>
  draft.phases.some((phase) => phase.status === 'pending' && isEffective(draft, phase))

/** Runs a step and all later ones again for a member that has passed them or is under way. */
export function redoMember(draft: Draft, member: Member, fromStepId: number, why: string): Refusal {
  return refusal(draft, member) ?? startFrom(draft, member, draft.steps.get(fromStepId), why)
}

function startFrom(draft: Draft, member: Member, from: Step | undefined, why: string): Refusal {
  const ordered = stepsInOrder(draft, member)
  const start = from ? ordered.indexOf(from) : -1
  if (start < 0) return `member ${member.id} has no such step to start from`
  const notPassed = ordered.findIndex((step) => !isPassed(step.status))
  if (notPassed >= 0 && notPassed < start) {
    return `step ${from!.definition.stepName} comes after ${ordered[notPassed]!.definition.stepName}, which has not passed`
  }
  const polled = ordered.slice(start).find((step) => step.status === 'polling')
  if (polled) {
    return `step ${polled.definition.stepName} of member ${member.id} is polling; redo it when polling has ended`
  }
  reactivate(draft, member, why)
  for (const step of ordered.slice(start)) {
    draft.setWait(step, null)
    reopenStep(draft, step, why)
  }
  queueNextOfMember(draft, member)
  return null
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
  const late = step.lateResult
  if (late === undefined) return `step ${step.id} has no late result to accept`
  if (step.status === 'rolled_back') {
    return `step ${step.id} was rolled back, so its late result no longer holds`
  }
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

/** Passes the member's first step that is not passed, and queues the next one. */
function pass(draft: Draft, step: Step, why: string, transition: () => void): Refusal {
  if (step.kind !== 'phase')
    return `step ${step.id} is a ${step.kind} step; only phase steps can be passed by hand`
  const member = draft.member(step.memberId!)
  const no = refusal(draft, member)
  if (no) return no
  const isPending =
    step.status === 'pending' || step.status === 'cancelled' || isFailed(step.status)
  if (!isPending) return `step ${step.definition.stepName} of member ${member.id} is ${step.status}`
  if (firstNotPassed(draft, member.id) !== step) {
    return `step ${step.definition.stepName} is not the next step of member ${member.id}`
  }
  draft.setWait(step, null)
  transition()
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
