// The shares of a ramp as people see them: which are through, which soaks and until when, which are to come.
import { countText } from '../../base/text/count-text.ts'
import type { Phase } from '../state/facts.ts'

export const SHARE_STATES = ['done', 'running', 'soaking', 'to_come', 'not_run'] as const
export type ShareState = (typeof SHARE_STATES)[number]

export interface RampShare {
  /** Of the members; each share includes those before it. */
  readonly percent: number
  readonly state: ShareState
}

type Ramping = Pick<Phase, 'status' | 'rampPercents' | 'rampShare' | 'soakEndsAt'>

/** In their order. A share that would add nobody is passed over, and counts as done. */
export const rampShares = (phase: Ramping): RampShare[] =>
  (phase.rampPercents ?? []).map((percent, share) => ({ percent, state: stateOf(phase, share) }))

function stateOf({ status, rampShare, soakEndsAt }: Ramping, share: number): ShareState {
  if (status === 'completed') return 'done'
  const isToCome = status === 'pending' || status === 'dispatched'
  if (rampShare === null || share > rampShare) return isToCome ? 'to_come' : 'not_run'
  if (share < rampShare || !isToCome) return 'done'
  return soakEndsAt === null ? 'running' : 'soaking'
}

/** As the program has it, or as the API answers it. */
export interface ShownRamp {
  readonly shares: readonly RampShare[]
  readonly soakEndsAt: string | null
  readonly maxFailedPercent: number
}

const STATE_TEXTS: Readonly<Record<Exclude<ShareState, 'soaking'>, string>> = {
  done: 'done',
  running: 'runs',
  to_come: 'to come',
  not_run: 'not run',
}

/** `5 % done`, `25 % soaks until 2026-03-02T23:30:00.000Z`. */
export const shareStateText = ({ percent, state }: RampShare, soakEndsAt: string | null): string =>
  `${percent} % ${state === 'soaking' ? `soaks until ${soakEndsAt}` : STATE_TEXTS[state]}`

/** `0 of 5 members failed so far, 2 % may`: counted among the members who have started. */
export const shareLimitText = (
  { maxFailedPercent }: Pick<ShownRamp, 'maxFailedPercent'>,
  { failed, total }: { readonly failed: number; readonly total: number },
): string =>
  total === 0
    ? `at most ${maxFailedPercent} % may fail`
    : `${failed} of ${countText(total, 'member')} failed so far, ${maxFailedPercent} % may`

/** The whole ramp in one line, without a full stop. */
export const rampStateText = (
  ramp: ShownRamp,
  members: { readonly failed: number; readonly total: number },
): string =>
  `${ramp.shares.map((share) => shareStateText(share, ramp.soakEndsAt)).join(', ')}; ${shareLimitText(ramp, members)}`
