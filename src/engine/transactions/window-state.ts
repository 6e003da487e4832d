// Whether a batch's change windows are open: those of the system and of its runbook together, or an override.
import type { Runbook } from '../../domain/runbook/read.ts'
import type { Batch } from '../../domain/state/facts.ts'
import {
  ALWAYS_OPEN,
  type ChangeWindows,
  stateOfAll,
  type WindowState,
  withOverride,
} from '../../domain/windows/change-windows.ts'
import type { Engine } from './engine.ts'

interface KnownState {
  readonly system: ChangeWindows | null
  readonly from: Date
  readonly state: WindowState
}

/** A runbook's state holds until its next change, so it is worked out a few times a day and not for every transaction. */
const states = new WeakMap<Pick<Runbook, 'windows'>, KnownState>()

type WithWindows = Pick<Engine, 'windows'>

/** The windows that must all be open. */
export const windowsFor = (
  { windows: system = null }: WithWindows,
  { windows }: Pick<Runbook, 'windows'>,
): ChangeWindows[] => [system, windows].filter((some) => some !== null)

/** False: always open. */
export const hasWindows = (engine: WithWindows, runbook: Pick<Runbook, 'windows'>): boolean =>
  windowsFor(engine, runbook).length > 0

const DAY_MS = 86_400_000

/** Windows that do not open within the horizon may do so later. */
function validUntil({ from, state: { isOpen, until } }: KnownState): number {
  if (until !== null) return +until
  return isOpen ? Infinity : +from + DAY_MS
}

function ownState(engine: WithWindows, runbook: Pick<Runbook, 'windows'>, now: Date): WindowState {
  const all = windowsFor(engine, runbook)
  if (all.length === 0) return ALWAYS_OPEN
  const system = engine.windows ?? null
  const known = states.get(runbook)
  const isCurrent =
    known !== undefined && known.system === system && known.from <= now && +now < validUntil(known)
  if (isCurrent) return known.state
  const state = stateOfAll(all, now)
  states.set(runbook, { system, from: now, state })
  return state
}

export const windowStateOf = (
  engine: WithWindows,
  runbook: Pick<Runbook, 'windows'>,
  { windowOverrideUntil }: Pick<Batch, 'windowOverrideUntil'>,
  now: Date,
): WindowState =>
  withOverride(
    (at) =>
      at === now ? ownState(engine, runbook, now) : stateOfAll(windowsFor(engine, runbook), at),
    windowOverrideUntil,
    now,
  )
