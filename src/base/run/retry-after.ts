// How long a service asks us to wait before the next request.

/** A longer pause is a mistake: the job would reach its deadline long before. */
const MOST_MS = 3_600_000

/**
 * `Retry-After` in seconds, fractions included, or as a date; null when there is none. A date is read against the service's own `Date`
 * header, so that a machine whose clock is wrong does not return early.
 */
export function retryAfterMs(headers: Headers, now: Date): number | null {
  const text = headers.get('retry-after')?.trim()
  if (!text) return null
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : untilMs(text, headers, now)
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MOST_MS)
}

function untilMs(text: string, headers: Headers, now: Date): number {
  const theirNowMs = Date.parse(headers.get('date') ?? '')
  return Date.parse(text) - (Number.isNaN(theirNowMs) ? +now : theirNowMs)
}
