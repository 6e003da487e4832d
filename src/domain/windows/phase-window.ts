// Whether a phase is due inside its change windows, and if not, when its changes really begin. For plans, before anything runs.

import { type FactsOf, mayChangeTenant } from '../runbook/function-facts.ts'
import type { RunbookPhase } from '../runbook/model.ts'
import { type ChangeWindows, stateOfAll, withOverride } from './change-windows.ts'

export interface PhaseWindow {
  /** Its changes begin when the phase does. */
  readonly isOpen: boolean
  /** Of an open window; null when it does not close. */
  readonly closesAt: Date | null
  /** Of a closed one: its changes begin then. Null when none opens within a year. */
  readonly opensAt: Date | null
  /** The zone in which the times are told. */
  readonly timeZone: string
  /** Of a freeze on that day. */
  readonly freezeReason: string | null
}

export interface WindowFacts {
  /** They must all be open: the system's and the runbook's. */
  readonly windows: readonly ChangeWindows[]
  /** Of an existing batch. */
  readonly overrideUntil?: Date | null
  /** Of a phase: when it begins. */
  readonly at: Date | null
}

/** Null without windows and without a time. */
export function windowAt({ windows, overrideUntil = null, at }: WindowFacts): PhaseWindow | null {
  if (windows.length === 0 || at === null) return null
  const state = withOverride((then) => stateOfAll(windows, then), overrideUntil, at)
  const { until } = state
  const { timeZone } = windows.at(-1)!
  return state.isOpen
    ? { isOpen: true, closesAt: until, opensAt: null, timeZone, freezeReason: null }
    : {
        isOpen: false,
        closesAt: null,
        opensAt: until,
        timeZone: state.timeZone,
        freezeReason: state.freezeReason,
      }
}

/** Null also for a phase that only reads. */
export const phaseWindow = (
  { steps }: Pick<RunbookPhase, 'steps'>,
  factsOf: FactsOf,
  facts: WindowFacts,
): PhaseWindow | null =>
  steps.some((step) => mayChangeTenant(factsOf(step.workerId, step.function)))
    ? windowAt(facts)
    : null
