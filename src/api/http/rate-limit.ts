// Rate limit per caller, as a token bucket. A bucket refills evenly and is stored as the moment at which it is full again: one number
// per caller. A full table drops the callers idle for longest, whose buckets are full anyway.
import { MatoolkitError } from '../../base/errors/errors.ts'

const CALLERS_MAX = 10_000
const MINUTE_MS = 60_000

export interface RateLimit {
  /** Takes one token; throws RATE_LIMITED when none is left. */
  spend(caller: string, now: Date): void
}

/** A burst of `perMinute`, refilled once per minute. */
export function createRateLimit(perMinute: number): RateLimit {
  const stepMs = MINUTE_MS / perMinute
  const fullAtMs = new Map<string, number>()
  return {
    spend: (caller, now) => {
      const fullAt = Math.max(fullAtMs.get(caller) ?? 0, +now) + stepMs
      const waitMs = fullAt - MINUTE_MS - +now
      if (waitMs > 0) {
        throw new MatoolkitError('RATE_LIMITED', { perMinute, seconds: Math.ceil(waitMs / 1_000) })
      }
      // Deleted first: the map stays ordered by last request.
      fullAtMs.delete(caller)
      fullAtMs.set(caller, fullAt)
      if (fullAtMs.size > CALLERS_MAX) fullAtMs.delete(fullAtMs.keys().next().value!)
    },
  }
}
