// When a running phase ends: at the pace of the last minutes, as far as that says something; otherwise as in the rehearsal.
import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import { shareText } from '../decide/ramp.ts'
import { openSteps, type Phase } from '../state/facts.ts'
import type { ForecastFacts, FoundEnd } from './forecast.ts'
import { endOfWork } from './open-time.ts'
import { type PaceSpread, paceOfEnded, rateText } from './pace.ts'
import { stepsIn } from './progress.ts'
import { rehearsedMs } from './rehearsed.ts'

/** With a smaller share of the steps ended, or open, the pace says nothing: the last few are slow. */
const PACE_FROM_SHARE = 0.05
/** Nothing measures how far a rehearsal is off: its report calls a phase tight that takes half of its time, and so does this. */
export const REHEARSAL_P90 = 2

/** Only the last few steps are open. */
export function isTail(phase: Phase): boolean {
  const { total, ended } = stepsIn(phase)
  return phase.expandedAt !== null && total > ended && total - ended < total * PACE_FROM_SHARE
}

/** `openBefore`: open steps of the running phases before this one, which are done first. */
export function endOfRunning(facts: ForecastFacts, phase: Phase, openBefore: number): FoundEnd {
  const whyNoPace = whyPaceIsSilent(phase, facts.pace.stepsPerMin)
  if (whyNoPace === null && openSteps(phase) === 0) {
    const at = +facts.now
    return { p50: at, p90: at, source: 'no_steps', because: 'no one has a step left' }
  }
  const rehearsed = byRehearsal(facts, phase)
  if (whyNoPace !== null) {
    if (rehearsed === null) return byPhasesBefore(facts, phase, openBefore) ?? { whyNot: whyNoPace }
    if (rehearsed.p50 > +facts.now) return rehearsed
    return { whyNot: `${whyNoPace}; ${rehearsed.because}, and it has run longer` }
  }
  const byPace = paceEnd(facts, phase, openBefore)
  if ('whyNot' in byPace || rehearsed === null) return byPace
  if (isBlind(phase) && rehearsed.p50 > byPace.p50)
    return { ...rehearsed, p90: Math.max(rehearsed.p90, byPace.p90) }
  return { ...byPace, p90: Math.max(byPace.p90, rehearsed.p50) }
}

/** The pace does not see what is to come: nobody is through the last steps, or more steps wait for polls than run. */
const isBlind = ({ members, steps }: Phase): boolean =>
  members.passed + members.failed === 0 || steps.polling > steps.dispatched

/** Null when the pace tells the end. */
function whyPaceIsSilent(phase: Phase, stepsPerMin: number): string | null {
  const { total, ended } = stepsIn(phase)
  const open = total - ended
  if (phase.rampThrough !== null)
    return `phase ${phase.name} has started for ${shareText(phase)} of its members`
  if (phase.expandedAt === null) return `phase ${phase.name} has just started`
  if (open === 0) return null
  if (isTail(phase))
    return `the last ${countText(open, 'step')} of phase ${phase.name} ${open === 1 ? 'is' : 'are'} open`
  if (stepsPerMin === 0)
    return `no step passed lately and ${countText(open, 'step is', 'steps are')} open`
  return ended < total * PACE_FROM_SHARE ? `phase ${phase.name} has just started` : null
}

/** A phase that passes nothing for longer is not just beginning. */
const BEGINS_MS = 10 * 60_000

/** In its first minutes a phase has no pace of its own: that of the phases before, and it may take three times as long. */
function byPhasesBefore(facts: ForecastFacts, phase: Phase, openBefore: number): KnownEnd | null {
  const { phases, windowAt, now } = facts
  const isBeginning = phase.rampThrough === null && +now - +phase.dispatchedAt! < BEGINS_MS
  const stepsPerMin = isBeginning && !isTail(phase) ? paceOfEnded(phases, now) : 0
  if (stepsPerMin === 0) return null
  const open = phase.expandedAt === null ? stepsOfAll(facts, phase) : openSteps(phase)
  const ms = ((openBefore + open) / stepsPerMin) * 60_000
  const p50 = endOfWork(+now, ms, windowAt)
  const p90 = endOfWork(+now, ms * FACTOR_MAX, windowAt)
  if (p50 === null || p90 === null) return null
  const because = `${countText(open, 'step')} left at ${rateText(stepsPerMin)}, the pace of the phases before`
  return { p50, p90, source: 'other_phases', because }
}

/** While its steps are being written. */
const stepsOfAll = ({ batch, stepsPerMember }: ForecastFacts, { name }: Phase): number =>
  batch.membersActive * stepsPerMember(name)

type KnownEnd = Extract<FoundEnd, { readonly p50: number }>

function byRehearsal(facts: ForecastFacts, phase: Phase): KnownEnd | null {
  const { rehearsed, batch, windowAt, slots } = facts
  const isWhole = phase.expandedAt !== null
  const members = isWhole ? phase.members.total : batch.membersActive
  const ms = rehearsedMs(rehearsed, phase.name, members, slots(phase.name))
  if (ms === null) return null
  const from = +phase.dispatchedAt!
  const p50 = endOfWork(from, ms, windowAt)
  if (p50 === null) return null
  const p90 = endOfWork(from, ms * REHEARSAL_P90, windowAt) ?? p50
  return { p50, p90, source: 'rehearsal', because: rehearsalText(facts, ms, members) }
}

export const rehearsalText = ({ rehearsed }: ForecastFacts, ms: number, members: number): string =>
  `the rehearsal at ${rehearsed!.at.toISOString()} makes it ${durationText(ms)} for ${countText(members, 'member')}`

function paceEnd(facts: ForecastFacts, phase: Phase, openBefore: number): FoundEnd {
  const { pace, windowAt, now } = facts
  const open = openSteps(phase)
  const restMs = ((openBefore + open) / pace.stepsPerMin) * 60_000
  const lastMs = memberMs(phase, pace.stepsPerMin, now)
  const slowMs = slowRestMs(facts, phase, restMs)
  const p50 = endOfWork(+now, restMs + lastMs * LAST_P50, windowAt)
  const p90 = endOfWork(+now, slowMs + lastMs * LAST_P90, windowAt)
  if (p50 === null || p90 === null)
    return { whyNot: `the change windows leave no time for ${countText(open, 'step')}` }
  const behind =
    openBefore === 0 ? '' : ` behind ${openBefore.toLocaleString('en')} of earlier phases`
  const last = lastMs < 60_000 ? '' : `, and ${durationText(lastMs)} for the last members`
  const because = `${countText(open, 'step')} left${behind} at ${rateText(pace.stepsPerMin)}, the pace of the last ${durationText(pace.overSec * 1_000)}${last}`
  return { p50, p90, source: 'pace', because }
}

/** By the spread of the recent pace, or by the pace since the phase's start if that was slower: throttling comes back. */
function slowRestMs({ pace, spread, now }: ForecastFacts, phase: Phase, restMs: number): number {
  const sinceStart = (stepsIn(phase).ended / (+now - +phase.dispatchedAt!)) * 60_000
  const slower = Math.min(FACTOR_MAX, pace.stepsPerMin / sinceStart)
  return restMs * Math.max(slowFactor(spread, restMs), slower)
}

/** How often a member's time is added, for those who are on their way when nobody is left to start: the slowest of them are slow. */
const [LAST_P50, LAST_P90] = [1, 4]

/**
 * How long a member is on its way through the phase, with its waits: as many steps as are in progress end within the time that one takes
 * (Little's law). No longer than the phase has run.
 */
function memberMs(phase: Phase, stepsPerMin: number, now: Date): number {
  const { steps, members, dispatchedAt } = phase
  if (members.total === 0) return 0
  const stepMs = ((steps.dispatched + steps.polling) / stepsPerMin) * 60_000
  return Math.min(stepMs * (stepsIn(phase).total / members.total), +now - +dispatchedAt!)
}

/** Of a normal distribution: nine of ten lie below the mean and so many deviations. */
const NINE_OF_TEN = 1.28
/** No pace is so even that less would be honest; and with a larger factor than 3, more work could end earlier. */
const [FACTOR_MIN, FACTOR_MAX] = [1.1, 3]

/**
 * How many times longer the rest takes on a slow night. The error of the pace comes from the few samples that it was measured with, and
 * from the samples that are still to come.
 */
export function slowFactor({ variation, samples, sampleMs }: PaceSpread, restMs: number): number {
  if (restMs === 0) return FACTOR_MIN
  const error = variation * Math.sqrt(1 / Math.max(1, samples) + sampleMs / restMs)
  const slow = 1 - NINE_OF_TEN * error
  return slow <= 1 / FACTOR_MAX ? FACTOR_MAX : Math.max(FACTOR_MIN, 1 / slow)
}

/** Ends of the running phases by their pace alone, for a view that shows nothing else of the forecast. */
export function phaseEnds(
  phases: readonly Phase[],
  stepsPerMin: number,
  now: Date,
): ReadonlyMap<number, Date> {
  let open = 0
  const ends = phases
    .filter(({ status }) => status === 'dispatched')
    .flatMap((phase): [number, Date][] => {
      open += openSteps(phase)
      if (whyPaceIsSilent(phase, stepsPerMin) !== null) return []
      if (open === 0) return [[phase.id, now]]
      const restMs = (open / stepsPerMin) * 60_000 + memberMs(phase, stepsPerMin, now) * LAST_P50
      return [[phase.id, new Date(+now + Math.round(restMs))]]
    })
  return new Map(ends)
}
