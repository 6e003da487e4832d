// Corrections of what people were told. A member was told a start time by a step with `notify`; when that time is no longer true, the step is
// done again and sends the correction that its message names. The time told stands in a row of its own (sent_messages), so the state
// decides and not the event: two new dates in a row give one correction, and a return to the former date gives none.
import { isUnsettled, type Member, type Step } from '../state/facts.ts'
import { runbookStepOf } from './definitions.ts'
import type { Draft } from './draft.ts'
import { isEffective, queueNextOfMember } from './next.ts'
import { reopenStep } from './reopen-step.ts'

/** A job ended well: if it was a message, its member has it. */
export function noteSentMessage(draft: Draft, step: Step): void {
  if (step.memberId === null || !runbookStepOf(draft, step)?.notify) return
  draft.sentMessages.push(step)
  draft.setCorrection(step, null)
}

/** The start time that a member was sent last, and by which step. */
export interface SentStartTime {
  readonly memberId: number
  readonly stepId: number
  readonly startTime: Date
  readonly sentAt: Date
}

/**
 * Does the step again that told the member a time which is no longer true. `later`: not now, because a job is out or queued. `never`: the
 * step is history, and its phase, run again, tells the member anyway.
 */
export function correct(draft: Draft, sent: SentStartTime): 'done' | 'later' | 'never' {
  const member = draft.member(sent.memberId)
  const step = draft.steps.get(sent.stepId)
  if (!step || !isEffective(draft, draft.phase(step.phaseId!))) return 'never'
  if (!isFree(draft, member)) return 'later'
  reopenStep(
    draft,
    step,
    `the member was told ${sent.startTime.toISOString()}, and the start is ${draft.batch.startTime?.toISOString()}`,
    'correct',
  )
  draft.setCorrection(step, sent)
  queueNextOfMember(draft, member)
  return 'done'
}

/** No job is out, and no poll waits for a slot: the correction may go between two polls, and never together with one. */
const isFree = (draft: Draft, { id }: Member): boolean =>
  (draft.stepsOfMember.get(id) ?? []).every(
    (step) => !isUnsettled(step) && !(step.status === 'polling' && step.wait?.kind === 'slot'),
  )

/** The time that the step corrects is true again: nobody needs to be told. */
export const isNeedless = ({ batch }: Draft, { correctsTime }: Step): boolean =>
  correctsTime !== null && +correctsTime === +(batch.startTime ?? 0)

/** The step has passed without its message. What the member was told stands in its row as before. */
export function endCorrection(draft: Draft, step: Step, why: string): void {
  draft.setWait(step, null)
  draft.setCorrection(step, null)
  draft.transitionStep(step, 'need_no_correction', why, { completedAt: draft.now })
}

/** A member who moves takes passed steps along, and what they told: the new batch corrects it. */
export function endCorrections(draft: Draft, memberId: number): void {
  for (const step of draft.stepsOfMember.get(memberId) ?? [])
    if (step.correctsTime !== null && step.status === 'pending')
      endCorrection(draft, step, 'the member moves, and the other batch corrects what it was told')
}
