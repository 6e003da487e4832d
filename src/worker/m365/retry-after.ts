// How long a service asks us to stay away: `Retry-After` in seconds, also fractions, or as a date. Read against the service's own
// clock where its answer tells it, so that a machine whose clock is wrong does not come back early.

/** Longer is somebody's mistake; a job would have run into its deadline long before. */
const RETRY_AFTER_MAX_MS = 3_600_000

export function retryAfterMs(headers: Headers, now: Date): number | null {
  const text = headers.get('retry-after')?.trim()
  if (!text) return null
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : untilMs(text, headers, now)
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS)
}

function untilMs(text: string, headers: Headers, now: Date): number {
  const theirNowMs = Date.parse(headers.get('date') ?? '')
  return Date.parse(text) - (Number.isNaN(theirNowMs) ? +now : theirNowMs)
}
