// A batch's throughput, from its last events: passed steps per minute of work. Time without a running phase, and time before the last
// hold ended, does not count.
import type { Phase } from './facts.ts'

export interface BatchPace {
  /** Steps of phases that passed within the events read, since the last resume or reopening among them. */
  readonly passed: number
  /** The last resume or reopening among the events read; null without one. */
  readonly restartedAt: Date | null
  /** The oldest event read, when there were more than the limit; null when all of the window were read. */
  readonly readSince: Date | null
}

export const PACE_WINDOW_MS = 15 * 60_000
/** Shorter spans say little: one step after a second is not 60 a minute. */
const SPAN_MIN_MS = 60_000
/** With so many events that not all were read, a shorter span does. */
const SPAN_OF_MANY_MIN_MS = 10_000

export interface Throughput {
  readonly stepsPerMin: number
  readonly overSec: number
}

export function throughputOf(
  { passed, restartedAt, readSince }: BatchPace,
  phases: readonly Phase[],
  now: Date,
): Throughput {
  const from = Math.max(+now - PACE_WINDOW_MS, +(restartedAt ?? 0), +(readSince ?? 0))
  const leastMs = readSince === null ? SPAN_MIN_MS : SPAN_OF_MANY_MIN_MS
  const overMs = Math.max(workedMs(phases, from, now), leastMs)
  return {
    stepsPerMin: Math.round((passed / overMs) * 60_000 * 10) / 10,
    overSec: Math.round(overMs / 1_000),
  }
}

/** How long a phase was running, of the time since `from`. Phases that ran at the same time count once. */
function workedMs(phases: readonly Phase[], from: number, now: Date): number {
  const spans = phases
    .flatMap(({ dispatchedAt, completedAt }) =>
      dispatchedAt === null ? [] : [[+dispatchedAt, +(completedAt ?? now)] as const],
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
