// A batch's throughput, from its last events.

export interface BatchPace {
  /** Passed steps among the events. */
  readonly passed: number
  /** The time of the first event; null without events. */
  readonly since: Date | null
  /** There were more events than the limit: `since` is the oldest one read. */
  readonly isCut: boolean
}

export const PACE_WINDOW_MS = 15 * 60_000
/** In a shorter window a chunk of 500 results would count as a minute's work. */
const SPAN_MIN_MS = 10_000

export interface Throughput {
  readonly stepsPerMin: number
  readonly overSec: number
}

export function throughputOf({ passed, since, isCut }: BatchPace, now: Date): Throughput {
  const spanMs = since === null ? 0 : +now - +since
  const overMs = isCut ? Math.max(spanMs, SPAN_MIN_MS) : Math.max(spanMs, 60_000)
  return {
    stepsPerMin: Math.round((passed / overMs) * 60_000 * 10) / 10,
    overSec: Math.round(overMs / 1_000),
  }
}
