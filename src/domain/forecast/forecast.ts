// The one forecast of when phases and a batch end, as a p50 and a p90: half of such nights end by the first, nine of ten by the second.
// Each phase starts at its time and after the previous one; a running one continues at the pace of the last minutes, one to come takes as
// long as in the last rehearsal. Where that would be a guess, or a hold stops the work, it gives the reason instead.
import { countText } from '../../base/text/count-text.ts'
import { holdsOnAll } from '../decide/held.ts'
import { type Batch, openSteps, type Phase } from '../state/facts.ts'
import { type Hold, type HoldsOnBatch, nameOfHeld } from '../state/holds.ts'
import { windowText } from '../windows/window-text.ts'
import { endOfComing } from './coming.ts'
import { type KnownMiss, type Miss, missOf } from './miss.ts'
import { type NightForecast, nightOf } from './night.ts'
import type { WindowAt } from './open-time.ts'
import { type PaceSpread, paceOfEnded, rateText, type Throughput } from './pace.ts'
import type { Rehearsed } from './rehearsed.ts'
import { endOfRunning, isTail } from './running.ts'

export interface ForecastFacts {
  readonly batch: Pick<
    Batch,
    | 'endedAt'
    | 'heldAt'
    | 'heldBy'
    | 'heldReason'
    | 'id'
    | 'isManual'
    | 'membersActive'
    | 'status'
    | 'windowClosedAt'
  > & { readonly windowOpensAt: Date | null; readonly batchStartTime: Date | null }
  readonly holds: HoldsOnBatch
  /** Workers of the batch's steps that are not done. */
  readonly workerIds: ReadonlySet<string>
  /** In order of time. */
  readonly phases: readonly Phase[]
  /** Steps per active member in a phase that has not begun. */
  readonly stepsPerMember: (phaseName: string) => number
  /** Between the shares of its ramp; 0 without one. */
  readonly soakMs: (phaseName: string) => number
  /** That the batch may use of the phase's busiest worker; null: nobody knows. */
  readonly slots: (phaseName: string) => number | null
  /** Recent rate of passed steps. */
  readonly pace: Throughput
  readonly spread: PaceSpread
  /** The last rehearsal of the runbook; null: none. */
  readonly rehearsed: Rehearsed | null
  /** Null: always open. */
  readonly windowAt: WindowAt | null
  /** What people were told, by phase. */
  readonly misses: ReadonlyMap<number, KnownMiss>
  readonly now: Date
}

/** What the figures rest on: the phase's own pace, that of other phases of the batch, a rehearsal; or no step is open. */
export const FORECAST_SOURCES = ['pace', 'other_phases', 'rehearsal', 'no_steps'] as const
export type ForecastSource = (typeof FORECAST_SOURCES)[number]

export interface PhaseForecast {
  readonly phaseId: number
  readonly phaseName: string
  /** Of a phase to come, when its start can be told. */
  readonly startsAt: Date | null
  /** The p50. */
  readonly endsAt: Date | null
  readonly p90: Date | null
  readonly source: ForecastSource | null
  /** What the figures rest on, or why there are none. Times in UTC. */
  readonly because: string
  readonly miss: Miss | null
}

export interface Forecast {
  /** The p50. */
  readonly endsAt: Date | null
  readonly p90: Date | null
  /** Times in UTC. */
  readonly because: string
  /** A hold stops the batch, or people or steps without which it cannot end. */
  readonly heldSince: Date | null
  /** The end of the phases at work and of those that follow without a long pause; null when none is open. */
  readonly night: NightForecast | null
  /** The phases that have not ended, in order of time. */
  readonly phases: PhaseForecast[]
}

/** When a phase ends, in milliseconds, or why nobody can tell. */
export type FoundEnd =
  | {
      readonly p50: number
      readonly p90: number
      readonly source: ForecastSource
      readonly because: string
    }
  | { readonly whyNot: string }

const isRunning = ({ status }: Phase): boolean => status === 'dispatched'
const isOpen = (phase: Phase): boolean => isRunning(phase) || phase.status === 'pending'

export function forecastBatch(facts: ForecastFacts): Forecast {
  const { batch, phases } = facts
  if (batch.endedAt !== null) {
    const because = `it ended at ${batch.endedAt.toISOString()}`
    const end = { endsAt: batch.endedAt, p90: batch.endedAt, because }
    return { ...end, heldSince: null, night: null, phases: [] }
  }
  const stop = stopOf(facts)
  const ofPhases = stop?.isForAll
    ? phases
        .filter(isOpen)
        .map((phase) => ({ phase, startsAt: null, end: { whyNot: stop.because } }))
    : endsOf(facts)
  const found = ofPhases.map(({ phase, startsAt, end }) =>
    phaseForecast(facts, phase, startsAt, end),
  )
  const isHeld = stop?.isForAll === true && stop.heldSince !== null
  const withMisses = found.map((one) => ({ ...one, miss: missOf(facts, one, isHeld) }))
  const night = nightOf(
    withMisses.map((one, at) => ({ ...one, isTail: isTail(ofPhases[at]!.phase) })),
    facts.now,
  )
  if (stop) {
    const { because, heldSince } = stop
    return { endsAt: null, p90: null, because, heldSince, night, phases: withMisses }
  }
  return { ...endOfBatch(facts, ofPhases), heldSince: null, night, phases: withMisses }
}

interface EndOfPhase {
  readonly phase: Phase
  readonly startsAt: number | null
  readonly end: FoundEnd
}

const phaseForecast = (
  { now }: ForecastFacts,
  { id, name }: Phase,
  startsAt: number | null,
  end: FoundEnd,
): Omit<PhaseForecast, 'miss'> => {
  const common = { phaseId: id, phaseName: name, startsAt: dateOf(startsAt) }
  if ('whyNot' in end)
    return { ...common, endsAt: null, p90: null, source: null, because: end.whyNot }
  const p50 = Math.max(+now, end.p50)
  const p90 = new Date(Math.round(Math.max(p50, end.p90)))
  return { ...common, endsAt: dateOf(p50), p90, source: end.source, because: end.because }
}

const dateOf = (ms: number | null): Date | null => (ms === null ? null : new Date(Math.round(ms)))

/** One after the other: a phase starts no earlier than the previous one ends. */
function endsOf(facts: ForecastFacts): EndOfPhase[] {
  const reached = { p50: +facts.now, p90: +facts.now }
  const pace = paceOfRest(facts)
  let openBefore = 0
  let blockedBy: string | null = null
  return facts.phases.filter(isOpen).map((phase) => {
    const coming = isRunning(phase) ? null : endOfComing(facts, phase, reached, pace, blockedBy)
    const end = coming?.end ?? endOfRunning(facts, phase, openBefore)
    if (isRunning(phase)) openBefore += openSteps(phase)
    if ('whyNot' in end) {
      // The last few steps of a phase do not keep the next one from its time.
      if (!isTail(phase)) blockedBy ??= phase.name
      return { phase, startsAt: coming?.startsAt ?? null, end }
    }
    reached.p50 = Math.max(reached.p50, end.p50)
    reached.p90 = Math.max(reached.p90, end.p90)
    return { phase, startsAt: coming?.startsAt ?? null, end: { ...end, ...reached } }
  })
}

interface RestPace {
  readonly stepsPerMin: number
  readonly isRecent: boolean
}

/** For phases that nobody rehearsed: the recent pace, else that of the phases before. */
const paceOfRest = ({ pace, phases, now }: ForecastFacts): RestPace =>
  pace.stepsPerMin > 0
    ? { stepsPerMin: pace.stepsPerMin, isRecent: true }
    : { stepsPerMin: paceOfEnded(phases, now), isRecent: false }

function endOfBatch(
  facts: ForecastFacts,
  ofPhases: readonly EndOfPhase[],
): Pick<Forecast, 'endsAt' | 'p90' | 'because'> {
  const toCome = ofPhases.some(({ phase }) => !isRunning(phase))
  for (const { phase, end } of ofPhases)
    if ('whyNot' in end && !(isTail(phase) && toCome))
      return { endsAt: null, p90: null, because: end.whyNot }
  const known = ofPhases.flatMap(({ end }) => ('whyNot' in end ? [] : [end]))
  const latest = (times: readonly number[]) => dateOf(Math.max(+facts.now, ...times))
  return {
    endsAt: latest(known.map(({ p50 }) => p50)),
    p90: latest(known.map(({ p90 }) => p90)),
    because: restText(facts, ofPhases),
  }
}

function restText(facts: ForecastFacts, ofPhases: readonly EndOfPhase[]): string {
  const open = ofPhases.reduce((sum, { phase }) => sum + stepsLeft(facts, phase), 0)
  if (open === 0) return 'no one has a step left'
  const left = `${countText(open, 'step')} left`
  const { stepsPerMin, isRecent } = paceOfRest(facts)
  const isRehearsed = ofPhases.some(({ end }) => 'source' in end && end.source === 'rehearsal')
  const rehearsal = isRehearsed ? `the rehearsal at ${facts.rehearsed!.at.toISOString()}` : ''
  if (stepsPerMin === 0 || (!isRecent && isRehearsed)) return `${left}, as in ${rehearsal}`
  const at = `${left} at ${rateText(stepsPerMin)}`
  if (!isRecent) return `${at}, the pace of the phases before`
  return isRehearsed ? `${at}, later phases as in ${rehearsal}` : at
}

const stepsLeft = ({ batch, stepsPerMember }: ForecastFacts, phase: Phase): number =>
  isRunning(phase) ? openSteps(phase) : batch.membersActive * stepsPerMember(phase.name)

interface Stop {
  readonly because: string
  readonly heldSince: Date | null
  /** False: everybody but the held members carries on. */
  readonly isForAll: boolean
}

function stopOf(facts: ForecastFacts): Stop | null {
  const { batch, holds } = facts
  const [held] = holdsInTheWay(facts)
  if (held) {
    const what = held.scope === 'batch' ? '' : `${nameOfHeld(held)} is `
    const because = `${what}held since ${held.heldAt.toISOString()}`
    return { because, heldSince: held.heldAt, isForAll: true }
  }
  const [first] = holds.members.values()
  if (first) {
    // Walls show it: it names nobody.
    const who = countText(holds.members.size, 'member is', 'members are')
    const because = `${who} held since ${first.heldAt.toISOString()}`
    const isForAll = batch.membersActive <= holds.members.size
    return { because, heldSince: first.heldAt, isForAll }
  }
  // The pace says nothing about the time until the window opens.
  if (batch.windowClosedAt === null) return null
  const because = `steps wait for ${windowText(batch.windowOpensAt)}`
  return { because, heldSince: null, isForAll: true }
}

/** Those of the whole batch first. */
function holdsInTheWay({ batch, holds, workerIds }: ForecastFacts): Hold[] {
  const ofWorkers = [...holds.workers.values()].filter(({ target }) => workerIds.has(target))
  return [...holdsOnAll(batch, holds), ...ofWorkers]
}
