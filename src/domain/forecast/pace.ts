// A batch's throughput, from its last events: passed steps per minute of work, and how much it varied. Time without a running phase,
// and time before the last hold ended, does not count.
import { openSteps, type Phase, sumSteps } from '../state/facts.ts'
import { STEP_STATUSES } from '../state/transitions.ts'

export interface BatchPace {
  /** Steps of phases that passed within the events read, since the last resume or reopening among them. */
  readonly passed: number
  /** The same in each of `PACE_PARTS` equal parts of the time that was read, oldest first. */
  readonly parts: readonly number[]
  /** The last resume or reopening among the events read; null without one. */
  readonly restartedAt: Date | null
  /** The oldest event read, when there were more than the limit; null when all of the window were read. */
  readonly readSince: Date | null
}

export const PACE_WINDOW_MS = 15 * 60_000
export const PACE_PARTS = 15
/** Shorter spans say little: one step after a second is not 60 a minute. */
const SPAN_MIN_MS = 60_000
/** With so many events that not all were read, a shorter span does. */
const SPAN_OF_MANY_MIN_MS = 10_000

export interface Throughput {
  readonly stepsPerMin: number
  readonly overSec: number
}

/** How even the pace was: the standard deviation of its samples, as a share of their mean. */
export interface PaceSpread {
  readonly variation: number
  readonly samples: number
  readonly sampleMs: number
}

const readFrom = ({ restartedAt, readSince }: BatchPace, now: Date): number =>
  Math.max(+now - PACE_WINDOW_MS, +(restartedAt ?? 0), +(readSince ?? 0))

export function throughputOf(pace: BatchPace, phases: readonly Phase[], now: Date): Throughput {
  const leastMs = pace.readSince === null ? SPAN_MIN_MS : SPAN_OF_MANY_MIN_MS
  const overMs = Math.max(workedMs(phases, readFrom(pace, now), +now), leastMs)
  return { stepsPerMin: rate(pace.passed, overMs), overSec: Math.round(overMs / 1_000) }
}

const rate = (steps: number, ms: number): number => Math.round((steps / ms) * 60_000 * 10) / 10

/** `12.5 steps a minute`. */
export const rateText = (stepsPerMin: number): string =>
  `${stepsPerMin} ${stepsPerMin === 1 ? 'step' : 'steps'} a minute`

/** With fewer samples nobody knows how even the pace is: it counts as uneven. */
const SAMPLES_MIN = 3
const UNEVEN = 1

export function spreadOf(pace: BatchPace, phases: readonly Phase[], now: Date): PaceSpread {
  const from = readFrom(pace, now)
  const sampleMs = Math.max(1, +now - from) / PACE_PARTS
  const rates = pace.parts.flatMap((steps, part) => {
    const begin = from + part * sampleMs
    const worked = workedMs(phases, begin, begin + sampleMs)
    return worked < sampleMs / 2 ? [] : [steps / worked]
  })
  return { variation: variationOf(rates), samples: rates.length, sampleMs }
}

function variationOf(rates: readonly number[]): number {
  const mean = rates.reduce((sum, one) => sum + one, 0) / rates.length
  if (rates.length < SAMPLES_MIN || mean === 0) return UNEVEN
  const squares = rates.reduce((sum, one) => sum + (one - mean) ** 2, 0)
  return Math.sqrt(squares / (rates.length - 1)) / mean
}

/** Steps per minute of the phases that have ended, over the time that they ran; 0 when none has. */
export function paceOfEnded(phases: readonly Phase[], now: Date): number {
  const ended = phases.filter(
    ({ dispatchedAt, completedAt }) => dispatchedAt !== null && completedAt !== null,
  )
  const steps = ended.reduce(
    (sum, phase) => sum + sumSteps(phase.steps, STEP_STATUSES) - openSteps(phase),
    0,
  )
  return steps === 0 ? 0 : rate(steps, Math.max(workedMs(ended, 0, +now), SPAN_MIN_MS))
}

/** How long a phase was running between the two times. Phases that ran at the same time count once. */
function workedMs(phases: readonly Phase[], from: number, to: number): number {
  const spans = phases
    .flatMap(({ dispatchedAt, completedAt }) =>
      dispatchedAt === null ? [] : [[+dispatchedAt, Math.min(to, +(completedAt ?? to))] as const],
    )
    .sort(([a], [b]) => a - b)
  let worked = 0
  let reached = from
  for (const [begin, end] of spans) {
    worked += Math.max(0, end - Math.max(begin, reached))
    reached = Math.max(reached, end)
  }
  return worked
}
