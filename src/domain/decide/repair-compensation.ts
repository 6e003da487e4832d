// An operator's repair of a failed rollback or cleanup step: retry, skip, mark done. The others of its sequence have run already, for
// a failed one does not stop the next. Refused once what it would reverse has started again.
import { isUnsettled, type Step } from '../state/facts.ts'
import { isFailed } from '../state/transitions.ts'
import { onCompensationEnd } from './compensation.ts'
import type { Draft } from './draft.ts'
import type { Refusal } from './membership.ts'
import { queueNextOfMember } from './next.ts'
import { reopenStep } from './reopen-step.ts'

export function refuseCompensation(draft: Draft, step: Step): Refusal {
  const { stepName } = step.definition
  if (step.memberId === null) return `step ${step.id} belongs to the batch, not to a member`
  const member = draft.member(step.memberId)
  if (!isFailed(step.status))
    return `step ${stepName} of member ${member.id} is ${step.status}, not failed`
  if ((draft.stepsOfMember.get(member.id) ?? []).some(isUnsettled))
    return `member ${member.id} has an unsettled job`
  if (step.kind === 'removal') {
    const isCurrent = member.status === 'removed' && member.removalNumber === step.removalNumber
    return isCurrent ? null : `member ${member.id} is back, so step ${stepName} is no longer needed`
  }
  if (step.kind === 'undo') return null
  if (member.status === 'removed') return `member ${member.id} is removed; its cleanup counts`
  const origin = draft.steps.get(step.originStepId!)
  const isCurrent = origin?.attempt === step.originAttempt && isFailed(origin!.status)
  return isCurrent
    ? null
    : `step ${origin?.definition.stepName ?? step.originStepId} has started again, so its rollback no longer counts`
}

/** An undo that failed ended the ones after it: they continue together. */
const refuseAlone = ({ batch }: Draft, { kind, memberId }: Step): Refusal =>
  kind === 'undo' ? `undo the member again instead: batch undo ${batch.id} id:${memberId}` : null

/** Sends the failed step again. */
export function retryCompensation(draft: Draft, step: Step, why: string): Refusal {
  const no = refuseCompensation(draft, step) ?? refuseAlone(draft, step)
  if (no) return no
  reopenStep(draft, step, why)
  queueNextOfMember(draft, draft.member(step.memberId!))
  return null
}

/** The step was passed by hand: its sequence may have ended well after all. */
export function passCompensation(draft: Draft, step: Step): void {
  onCompensationEnd(draft, step)
  queueNextOfMember(draft, draft.member(step.memberId!))
}
