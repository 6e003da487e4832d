// Rate limit per caller, as a token bucket. A bucket refills evenly and is stored as the moment at which it is full again: one number
// per caller. A full table drops the callers idle for longest, whose buckets are full anyway.
import { MatoolkitError } from '../../base/errors/errors.ts'

const CALLERS_MAX = 10_000
const SPANS_MS = { 'a minute': 60_000, 'an hour': 3_600_000 }

export interface RateLimit {
  /** Takes one token and says how many are left; throws RATE_LIMITED when there was none. */
  spend(caller: string, now: Date): TokensLeft
}

export interface TokensLeft {
  readonly max: number
  readonly left: number
  /** Until there is one more. */
  readonly seconds: number
}

/** A burst of `max`, refilled once per span. */
export function createRateLimit(max: number, span: keyof typeof SPANS_MS = 'a minute'): RateLimit {
  const spanMs = SPANS_MS[span]
  const stepMs = spanMs / max
  const fullAtMs = new Map<string, number>()
  return {
    spend: (caller, now) => {
      const fullAt = Math.max(fullAtMs.get(caller) ?? 0, +now) + stepMs
      const waitMs = fullAt - spanMs - +now
      if (waitMs > 0) {
        throw new MatoolkitError('RATE_LIMITED', { max, span, seconds: Math.ceil(waitMs / 1_000) })
      }
      // Deleted first: the map stays ordered by last request.
      fullAtMs.delete(caller)
      fullAtMs.set(caller, fullAt)
      if (fullAtMs.size > CALLERS_MAX) fullAtMs.delete(fullAtMs.keys().next().value!)
      return {
        max,
        left: Math.floor(Math.abs(waitMs) / stepMs),
        seconds: Math.ceil(stepMs / 1_000),
      }
    },
  }
}
