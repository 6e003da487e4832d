// How fast a batch goes, from its last events.

export interface BatchPace {
  /** Steps passed among the events that were looked at. */
  readonly passed: number
  /** When the first of those events was; null when there was none. */
  readonly since: Date | null
  /** There were more events than were looked at: `since` is then where the look began. */
  readonly isCut: boolean
}

export const PACE_WINDOW_MS = 15 * 60_000
/** Shorter looks would make a chunk of 500 results look like a minute's work. */
const LOOK_MIN_MS = 10_000

export interface Throughput {
  readonly stepsPerMin: number
  readonly overSec: number
}

export function throughputOf({ passed, since, isCut }: BatchPace, now: Date): Throughput {
  const lookMs = since === null ? 0 : +now - +since
  const overMs = isCut ? Math.max(lookMs, LOOK_MIN_MS) : Math.max(lookMs, 60_000)
  return {
    stepsPerMin: Math.round((passed / overMs) * 60_000 * 10) / 10,
    overSec: Math.round(overMs / 1_000),
  }
}
