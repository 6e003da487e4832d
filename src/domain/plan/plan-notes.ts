// What a plan says about a phase besides its time and steps, a sentence each and without full stops: window, gate, ramp, point of no return.

import type { Gate, Ramp } from '../runbook/model.ts'
import type { PhaseWindow } from '../windows/phase-window.ts'
import { type AsJson, phaseWindowText } from '../windows/window-text.ts'
import { guardTexts } from './guard-text.ts'

/** As planned, or as the API answers it. */
export interface NotedPhase {
  readonly dueAt: Date | string | null
  readonly isOverdue: boolean
  readonly gate: Gate | null
  readonly ramp: Ramp | null
  readonly window: AsJson<PhaseWindow> | null
  readonly noReturnSteps: readonly string[]
}

export function planNotes({
  dueAt,
  isOverdue,
  window,
  noReturnSteps,
  ...guards
}: NotedPhase): string[] {
  return [
    ...(window ? [phaseWindowText(window, isOverdue ? null : dueAt)] : []),
    ...guardTexts(guards),
    ...(noReturnSteps.length > 0 ? [noReturnText(noReturnSteps)] : []),
  ]
}

/** `point of no return: complete-move`. */
const noReturnText = (steps: readonly string[]): string => `point of no return: ${steps.join(', ')}`
