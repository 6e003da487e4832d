// How much one caller may ask. A budget refills evenly; it is kept as the one moment at which it is full again, so a caller
// costs one number. Callers beyond the limit of the table push out those who asked longest ago, who are full again anyway.
import { MatoolkitError } from '../errors.ts'

const CALLERS_MAX = 10_000
const MINUTE_MS = 60_000

export interface Budget {
  /** Throws RATE_LIMITED when the caller's budget is spent; else takes one from it. */
  spend(caller: string, now: Date): void
  /** Throws RATE_LIMITED when the budget is spent, and takes nothing. */
  require(caller: string, now: Date): void
}

/** `perMinute` at once, and as many again in each minute. */
export function budgetOf(perMinute: number): Budget {
  const stepMs = MINUTE_MS / perMinute
  const fullAtMs = new Map<string, number>()
  const nextFull = (caller: string, now: Date) => {
    const fullAt = Math.max(fullAtMs.get(caller) ?? 0, +now) + stepMs
    const waitMs = fullAt - MINUTE_MS - +now
    if (waitMs > 0) {
      throw new MatoolkitError('RATE_LIMITED', { perMinute, seconds: Math.ceil(waitMs / 1_000) })
    }
    return fullAt
  }
  return {
    require: (caller, now) => void nextFull(caller, now),
    spend: (caller, now) => {
      const fullAt = nextFull(caller, now)
      // Deleted first, so that the map's order is that of the last request.
      fullAtMs.delete(caller)
      fullAtMs.set(caller, fullAt)
      if (fullAtMs.size > CALLERS_MAX) fullAtMs.delete(fullAtMs.keys().next().value!)
    },
  }
}
