// A ramp: a phase starts for a share of its members, and for the next share once the former has ended, soaked, and failed within the
// limit. Steps are written only for the shares that have started, so nobody of a later share has a job. Members are taken in the order
// of their ids; who joins meanwhile comes last.

import { countText } from '../../base/text/count-text.ts'
import { phaseNamed } from '../runbook/steps.ts'
import { openSteps, type Phase } from '../state/facts.ts'
import type { Draft } from './draft.ts'

/** A share to start: how many members have started with it; null for the last one, which takes everybody. */
export interface ShareToStart {
  readonly share: number
  readonly members: number | null
}

const membersIn = (percent: number, members: number): number => Math.ceil((members * percent) / 100)

/** The first share after `current` (null: none) that adds a member. One that would take everybody is the last. */
export function shareAfter(
  percents: readonly number[],
  current: number | null,
  members: number,
): ShareToStart {
  const started = current === null ? 0 : membersIn(percents[current]!, members)
  const next = percents.findIndex(
    (percent, share) => share > (current ?? -1) && membersIn(percent, members) > started,
  )
  const count = next === -1 ? members : membersIn(percents[next]!, members)
  return count >= members
    ? { share: percents.length - 1, members: null }
    : { share: next, members: count }
}

/** `share 1 of 3 (5 %)`. */
export function shareText({ rampPercents, rampShare }: Phase): string {
  const share = rampShare ?? 0
  return `share ${share + 1} of ${rampPercents!.length} (${rampPercents![share]} %)`
}

/** A further share follows the one that has started. */
const isRamping = ({ status, rampThrough }: Phase): boolean =>
  status === 'dispatched' && rampThrough !== null

const rampOf = (draft: Draft, phase: Phase) =>
  phaseNamed(draft.runbooks.get(phase.runbookVersion), phase.name)?.ramp ?? null

/** Why no further share may start: more have failed than the ramp allows, beyond those that a resume acknowledged; null when none. */
export function rampFailure(draft: Draft, phase: Phase): string | null {
  if (!isRamping(phase)) return null
  const limit =
    rampOf(draft, phase)?.maxFailedPercent ??
    draft.runbooks.get(phase.runbookVersion)?.safeguards.maxFailedPercent ??
    0
  const { failed, total } = phase.members
  if ((failed - phase.fuseAcknowledged) * 100 <= limit * total) return null
  return `${failed} of ${total} members failed by the end of ${shareText(phase)} of phase ${phase.name}: more than ${limit} %`
}

/** The share has no open step left: the next one waits for the soak. */
export function endShare(draft: Draft, phase: Phase): void {
  const soakEndsAt = draft.later(rampOf(draft, phase)?.soakSec ?? 0)
  const { total, passed, failed } = phase.members
  draft.changePhase(phase, { soakEndsAt })
  draft.note(
    'share_ended',
    `${shareText(phase)}: ${passed} of ${countText(total, 'member')} passed, ${failed} failed; the next share may start at ${soakEndsAt.toISOString()}`,
    { phaseId: phase.id },
  )
}

/** A member of the share has work again: after its end the share soaks again. */
export function reopenShare(draft: Draft, phase: Phase): void {
  draft.changePhase(phase, { soakEndsAt: null })
  draft.note('share_reopened', `${shareText(phase)} has ${openSteps(phase)} open steps again`, {
    phaseId: phase.id,
  })
}

/** Records the share; its members' steps are written next. `through` is the id of its last member, null for everybody. */
export function startShare(
  draft: Draft,
  phase: Phase,
  { share, through }: { readonly share: number; readonly through: number | null },
): void {
  draft.changePhase(phase, { rampShare: share, rampThrough: through, soakEndsAt: null })
  const rest = through === null ? ', with everyone who is left' : ''
  draft.note('share_started', `${shareText(phase)}${rest}`, { phaseId: phase.id })
}
