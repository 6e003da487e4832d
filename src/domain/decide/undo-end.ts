// The end of an undo step, and of the undo.

import { countText } from '../../base/text/count-text.ts'
import { sameName } from '../../base/text/same-name.ts'
import type { Step } from '../state/facts.ts'
import { isOpen, isPassed } from '../state/transitions.ts'
import { cancelStep } from './cancel.ts'
import type { Draft } from './draft.ts'

/** After an undo step: once everything that its origin changed is taken back, a failure counts as rolled back. A failed undo step ends the undo. */
export function onUndoEnd(draft: Draft, step: Step): void {
  const rows = draft.siblings(step.memberId, 'undo')
  if (!isPassed(step.status)) return stopUndo(draft, step, rows)
  for (const origin of originsOf(draft, step)) {
    const own = rows.filter((row) => isUndoOf(draft, row, origin))
    if (!own.every(({ status }) => isPassed(status))) continue
    if (['undone', 'cancelled', 'failed'].includes(origin.status))
      draft.changeStep(origin, { mayHaveEffect: false })
    if (origin.status === 'failed')
      draft.transitionStep(origin, 'roll_back', 'what it changed was undone', {
        completedAt: draft.now,
      })
  }
  if (rows.some(({ status }) => isOpen(status))) return
  draft.note('undone', 'everything that was to be undone is undone', subjectOf(step))
}

/** What the undo step takes back: its origin, or, when that ran in another wave, the steps of its name here. */
function originsOf(draft: Draft, row: Step): Step[] {
  const origin = draft.steps.get(row.originStepId!)
  if (origin) return [origin]
  return draft.siblings(row.memberId, 'phase').filter((step) => isUndoOf(draft, row, step))
}

const isUndoOf = (draft: Draft, row: Step, step: Step): boolean =>
  row.originStepId === step.id ||
  (!draft.steps.has(row.originStepId!) &&
    sameName(row.definition.stepName, step.definition.stepName))

function stopUndo(draft: Draft, step: Step, rows: readonly Step[]): void {
  const failed = `the undo of step ${step.definition.stepName} failed`
  const left = rows.filter(({ status }) => isOpen(status))
  for (const row of left) cancelStep(draft, row, `${failed} before`)
  const rest = left.length > 0 ? `; ${countText(left.length, 'change')} before it stay` : ''
  draft.note('undo_incomplete', `${failed}${rest}`, subjectOf(step))
}

const subjectOf = ({ memberId }: Step) => (memberId === null ? {} : { memberId })
