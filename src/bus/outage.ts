// An outage as one process sees it: the database refuses for the moment. Everything that shares it waits together and tries again with
// growing pauses. Its beginning, a new cause and its end are told once each.

import { outageOf } from '../base/errors/transient.ts'
import type { Log } from '../base/log/log.ts'
import type { Clock } from '../base/run/clock.ts'

export interface OutageChange {
  /** Null when the outage is over. */
  readonly why: string | null
  /** The failure that began it or changed its cause. */
  readonly error: unknown
  /** How long it has lasted. */
  readonly seconds: number
}

export interface Outage {
  /** Returns false, and does nothing, when the error says something about the message instead. */
  note(error: unknown): boolean
  /** Something was written: it is over. */
  end(): void
  /** Something was read. A full disk allows that, so it is over only without a failure for some time. */
  endIfQuiet(): void
  /** Resolves at the next try; at once without an outage. */
  pause(stopping: AbortSignal): Promise<void>
  /** How long the current pause is. */
  pauseMs(): number
  /** Null when all is well. */
  why(): string | null
}

const PAUSE_MIN_MS = 250
const PAUSE_MAX_MS = 10_000
/** Longer than the longest pause of any loop that notes failures. */
const QUIET_MS = 45_000

/** For those who only report errors: one for each outage and cause. */
export const reportingTo =
  (onError: (error: unknown) => void) =>
  ({ why, error }: OutageChange): void => {
    if (why !== null) onError(error)
  }

export function logOutage(log: Log, who: string, { why, error: err, seconds }: OutageChange): void {
  if (why === null) log.warn({ seconds }, `${who} continues: what it waited for works again`)
  else log.warn({ err, why }, `${who} waits: ${why}. Nothing is lost; it will continue`)
}

interface Ongoing {
  readonly since: number
  why: string
  failedAt: number
  pauseMs: number
  nextTryAt: number
}

export function makeOutage(clock: Clock, onChange: (change: OutageChange) => void): Outage {
  let ongoing: Ongoing | null = null
  const nowMs = () => clock.now().getTime()
  const end = () => {
    if (!ongoing) return
    const seconds = Math.round((nowMs() - ongoing.since) / 1_000)
    ongoing = null
    onChange({ why: null, error: null, seconds })
  }
  return {
    note: (error) => {
      const why = outageOf(error)
      if (why === null) return false
      const now = nowMs()
      const before = ongoing
      ongoing = failedAgain(before, why, now)
      if (before?.why !== why)
        onChange({ why, error, seconds: Math.round((now - ongoing.since) / 1_000) })
      return true
    },
    end,
    endIfQuiet: () => {
      if (ongoing && nowMs() - ongoing.failedAt >= QUIET_MS) end()
    },
    pause: async (stopping) => {
      const waitMs = ongoing ? ongoing.nextTryAt - nowMs() : 0
      if (waitMs > 0) await clock.wait(waitMs, stopping)
    },
    pauseMs: () => ongoing?.pauseMs ?? 0,
    why: () => ongoing?.why ?? null,
  }
}

/** Failures before the next try belong to the same try: only a try that fails makes the pause longer. */
function failedAgain(before: Ongoing | null, why: string, now: number): Ongoing {
  if (!before) {
    return { since: now, why, failedAt: now, pauseMs: PAUSE_MIN_MS, nextTryAt: now + PAUSE_MIN_MS }
  }
  if (now < before.nextTryAt) return { ...before, why, failedAt: now }
  const pauseMs = Math.min(before.pauseMs * 2, PAUSE_MAX_MS)
  return { ...before, why, failedAt: now, pauseMs, nextTryAt: now + pauseMs }
}
