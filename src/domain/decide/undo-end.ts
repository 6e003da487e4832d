// The end of an undo step, and of the undo.
import { countText } from '../../base/text/count-text.ts'
import type { Step } from '../state/facts.ts'
import { isOpen, isPassed } from '../state/transitions.ts'
import { cancelStep } from './cancel.ts'
import type { Draft } from './draft.ts'

/** After an undo step: its origin counts as rolled back once everything that it changed is taken back. A failure ends the undo. */
export function onUndoEnd(draft: Draft, step: Step): void {
  const rows = draft.siblings(step.memberId, 'undo')
  if (!isPassed(step.status)) return stopUndo(draft, step, rows)
  const origin = draft.steps.get(step.originStepId!)
  const own = rows.filter(({ originStepId }) => originStepId === step.originStepId)
  if (origin?.status === 'failed' && own.every(({ status }) => isPassed(status))) {
    draft.changeStep(origin, { mayHaveEffect: false })
    draft.transitionStep(origin, 'roll_back', 'what it changed was undone', {
      completedAt: draft.now,
    })
  }
  if (rows.some(({ status }) => isOpen(status))) return
  draft.note('undone', 'everything that was to be undone is undone', subjectOf(step))
}

function stopUndo(draft: Draft, step: Step, rows: readonly Step[]): void {
  const failed = `the undo of step ${step.definition.stepName} failed`
  const left = rows.filter(({ status }) => isOpen(status))
  for (const row of left) cancelStep(draft, row, `${failed} before`)
  const rest = left.length > 0 ? `; ${countText(left.length, 'change')} before it stay` : ''
  draft.note('undo_incomplete', `${failed}${rest}`, subjectOf(step))
}

const subjectOf = ({ memberId }: Step) => (memberId === null ? {} : { memberId })
