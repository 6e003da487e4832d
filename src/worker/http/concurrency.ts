// How many calls a quota bears at once, learned from its answers: one more a round while calls wait and are answered, half of what was
// sent after a refusal. Pure: what is known and what happened give what is known next.

export interface Concurrency {
  /** Calls that may go at once. Each answer adds a fraction; the whole part counts. */
  readonly limit: number
  /** The most calls that the service was seen to bear when it last refused one. */
  readonly borne: number
  /** When it last refused one. */
  readonly refusedAtMs: number
}

/** How close the service says we are to its limit. */
type Pressure = 'none' | 'near' | 'over'

export interface Answered {
  readonly pressure: Pressure
  /** Others wait for a place: only a limit that is felt has a reason to grow. */
  readonly isFelt: boolean
  readonly atMs: number
}

export interface Refused {
  /** The most calls at once since the overload before. */
  readonly peak: number
  /** Calls still under way: the service found room for them. */
  readonly left: number
  /** One overload is answered with many refusals; only the first of them halves. */
  readonly isFirst: boolean
  readonly atMs: number
}

/** For so long after a refusal the limit grows back only to what was borne. Then it looks for more. */
const REMEMBERED_MS = 120_000
/** Graph tells of its use from here on. */
const NEAR = 0.8

export const concurrencyOf = (start: number): Concurrency => ({
  limit: start,
  borne: Infinity,
  refusedAtMs: -Infinity,
})

export function afterAnswer(
  known: Concurrency,
  { pressure, isFelt, atMs }: Answered,
  max: number,
): Concurrency {
  const { limit, borne, refusedAtMs } = known
  if (pressure === 'over') return { ...known, limit: Math.max(1, limit - 1 / limit) }
  if (pressure === 'near' || !isFelt) return known
  const isRemembered = atMs - refusedAtMs < REMEMBERED_MS
  if (isRemembered && Math.floor(limit) >= borne) return known
  return { ...known, limit: Math.min(max, limit + 1 / limit) }
}

export function afterRefusal(
  known: Concurrency,
  { peak, left, isFirst, atMs }: Refused,
): Concurrency {
  // Half of what was sent: half of a limit that was never reached would change nothing.
  const limit = isFirst ? Math.max(1, Math.min(known.limit, peak) / 2) : known.limit
  // Of many refusals the last tells best how many found room.
  const seen = isFirst ? left : Math.min(known.borne, left)
  return { limit, borne: Math.max(Math.floor(limit), seen), refusedAtMs: atMs }
}

/**
 * `x-ms-throttle-limit-percentage`: 0.8 to 1.8 of the limit, sent from 0.8 on. Source: learn.microsoft.com/graph/throttling-limits, identity
 * and access; others report that they never saw it, so nothing depends on it.
 * `Rate-Limit-Remaining`: calls left, sent by Exchange. Only observed, and its period is unconfirmed: it slows growth and closes nothing.
 */
export function pressureIn(headers: Headers, limit: number): Pressure {
  const used = Number(headers.get('x-ms-throttle-limit-percentage') ?? 0)
  const left = Number(headers.get('rate-limit-remaining') ?? Infinity)
  if (used >= 1 || left <= 0) return 'over'
  return used >= NEAR || left < limit ? 'near' : 'none'
}
