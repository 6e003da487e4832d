// Throttling that a custom or PowerShell function meets with a client of its own. Calls through `tenant` are repeated by their client; here
// only the words of an error tell. The function is called again inside the worker, as the standard calls are, and a failure says that it
// was throttled and how often it was tried. A function that declares that it must not run twice is not called again.
import { messageOf } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { ApiError } from '../http/api.ts'
import { pauseMs, RETRY_POLICY } from '../http/client.ts'

/** Wordings of Microsoft Graph and Exchange Online. A number counts only as a word: ids contain every number. */
const THROTTLED =
  /too ?many ?requests|\b429\b|throttl|rate ?limit|server ?(?:is )?(?:too )?busy|micro ?delay|backoff ?exception|too many concurrent/i

const RETRY_AFTER = /retry[- ]?after\W{1,3}(\d{1,4})\b/i

/** Clients name the status in various properties. */
interface Told {
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly retryAfterSec?: unknown
}

function isThrottling(error: unknown): boolean {
  if (!(error instanceof Error)) return THROTTLED.test(messageOf(error))
  const { status, statusCode } = error as Told
  return [status, statusCode].includes(429) || THROTTLED.test(`${error.name} ${error.message}`)
}

function retryAfterIn(error: unknown): number | null {
  const told = (error as Told | null)?.retryAfterSec
  if (typeof told === 'number' && told >= 0) return told
  const [, seconds] = RETRY_AFTER.exec(messageOf(error)) ?? []
  return seconds === undefined ? null : Number(seconds)
}

/** A function's own error, after all attempts. */
export class StillThrottled extends Error {
  override readonly name: string
  readonly attempts: number

  constructor(error: unknown, attempts: number) {
    super(messageOf(error), { cause: error })
    this.name = error instanceof Error ? error.name : 'Error'
    this.attempts = attempts
  }
}

export interface Repeating {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** It may run again although an earlier run ended half-way. */
  readonly mayRepeat: boolean
  /** Lends the job's slot while it waits; returns what to call when it continues. */
  readonly waits?: () => () => void
}

/** Throws what `run` throws, or StillThrottled. */
export async function repeatThrottled<Done>(
  run: () => Promise<Done>,
  { clock, signal, mayRepeat, waits }: Repeating,
): Promise<Done> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      // An `ApiError` has been repeated by its client.
      if (error instanceof ApiError || signal.aborted || !isThrottling(error)) throw error
      if (!mayRepeat || attempt >= RETRY_POLICY.attempts) throw new StillThrottled(error, attempt)
      const afterSec = retryAfterIn(error)
      const resume = waits?.()
      const waitMs =
        afterSec === null ? pauseMs(RETRY_POLICY, attempt, Math.random()) : afterSec * 1_000
      await clock.wait(waitMs, signal).finally(() => resume?.())
      signal.throwIfAborted()
    }
  }
}
