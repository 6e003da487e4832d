// Whether a phase is forecast to miss its time. A phase before the cut-over must end before T-0: until then people move from phase to
// phase one by one, and a delay is made up for. From T-0 on a phase must end before the next one is due. A miss begins when the p50 is
// late and ends when the p90 is in time; between the two it stays as it is, so that it does not come and go.
import { durationText } from '../../base/text/duration.ts'
import type { Phase } from '../state/facts.ts'
import type { ForecastFacts, PhaseForecast } from './forecast.ts'
import { isTail } from './running.ts'

export interface Deadline {
  readonly at: Date
  /** `T-0`, or `phase check`. */
  readonly of: string
}

/** A miss that people were told of. */
export interface KnownMiss {
  readonly phaseId: number
  readonly deadline: Date
  readonly since: Date
}

export interface Miss {
  readonly deadline: Date
  readonly deadlineOf: string
  /** By the p50, or at least; 0 when only the p90 is late. */
  readonly bySec: number
  /** Since when people know; null: it was found just now. */
  readonly since: Date | null
  /** A sentence without its full stop; times in UTC. */
  readonly text: string
}

/** Less is not worth a word: phases are looked for once a second, and the forecast is no better than that. */
const MARGIN_MS = 60_000
/** A phase to come is told so long before it is due: earlier its figures are those of the rehearsal, which has told them. */
export const AHEAD_MS = 24 * 3_600_000

const NOT_COMING: readonly Phase['status'][] = ['superseded', 'skipped', 'cancelled']

/** Null for the last phase, and for a manual batch, which has no times. */
export function deadlineOf(
  phase: Phase,
  phases: readonly Phase[],
  { isManual, batchStartTime }: Pick<ForecastFacts['batch'], 'isManual' | 'batchStartTime'>,
): Deadline | null {
  if (isManual) return null
  if (phase.offsetMinutes > 0) return batchStartTime && { at: batchStartTime, of: 'T-0' }
  const next = phases.find(
    ({ status, offsetMinutes }) =>
      offsetMinutes < phase.offsetMinutes && !NOT_COMING.includes(status),
  )
  return next?.dueAt ? { at: next.dueAt, of: `phase ${next.name}` } : null
}

/** `isHeld`: a hold stops the phase. People know of it, so it begins no miss. */
export function missOf(
  facts: ForecastFacts,
  forecast: Omit<PhaseForecast, 'miss'>,
  isHeld: boolean,
): Miss | null {
  const { phases, batch } = facts
  const phase = phases.find(({ id }) => id === forecast.phaseId)!
  const deadline = deadlineOf(phase, phases, batch)
  if (deadline === null) return null
  const told = facts.misses.get(phase.id)
  // A batch that was given another date is judged again.
  const known = told && +told.deadline === +deadline.at ? told : null
  const by = `${deadline.of} (${deadline.at.toISOString()})`
  const miss = (bySec: number, text: string): Miss => ({
    deadline: deadline.at,
    deadlineOf: deadline.of,
    bySec,
    since: known?.since ?? null,
    text: `phase ${phase.name} ${text}`,
  })
  const lateMs = (at: Date) => +at - +deadline.at
  const { endsAt, p90, because } = forecast
  if (endsAt === null || p90 === null) {
    const least = lateMs(earliestEnd(facts))
    if (least > MARGIN_MS && (known || (!isHeld && isLateNow(phase))))
      return miss(
        Math.round(least / 1_000),
        `misses ${by} by at least ${durationText(least)}: ${because}`,
      )
    return known && miss(0, `was forecast to miss ${by}; now it is unknown: ${because}`)
  }
  const late = lateMs(endsAt)
  if (late > MARGIN_MS && (known || isTold(facts, phase, forecast)))
    return miss(Math.round(late / 1_000), `will miss ${by} by ${durationText(late)}: ${because}`)
  if (!known || lateMs(p90) <= 0) return null
  return miss(0, `may still miss ${by}; 90 % sure by ${p90.toISOString()}: ${because}`)
}

/** Work that waits for a change window cannot end before it opens. */
const earliestEnd = ({ batch, now }: ForecastFacts): Date =>
  batch.windowClosedAt !== null && batch.windowOpensAt !== null && batch.windowOpensAt > now
    ? batch.windowOpensAt
    : now

/** No forecast is needed: more than the last few steps are open. */
const isLateNow = (phase: Phase): boolean => phase.status === 'dispatched' && !isTail(phase)

/** The pace of other phases is too weak to wake somebody. */
const isTold = (
  { now }: ForecastFacts,
  { status, dueAt }: Phase,
  { source }: Pick<PhaseForecast, 'source'>,
) =>
  source !== 'other_phases' &&
  (status === 'dispatched' || (dueAt !== null && +dueAt - +now <= AHEAD_MS))

/** Why a miss that people were told of is over. `p90` is that of the forecast; null without one. */
export function clearedText(
  phase: Phase,
  told: KnownMiss & { readonly deadlineOf: string },
  deadline: Deadline | null,
  p90: Date | null,
): string {
  const { name, status, completedAt } = phase
  const by = `${told.deadlineOf} (${told.deadline.toISOString()})`
  if (completedAt !== null) {
    const late = +completedAt - +told.deadline
    const when = late > 0 ? `${durationText(late)} after ${by}` : `in time for ${by}`
    return status === 'completed' || status === 'failed'
      ? `phase ${name} ended ${when}`
      : `phase ${name} was ${status}`
  }
  if (deadline === null || +deadline.at !== +told.deadline)
    return `phase ${name} has another time than ${by} now`
  return `phase ${name} is forecast to end in time for ${by}, 90 % sure by ${(p90 ?? told.deadline).toISOString()}`
}
