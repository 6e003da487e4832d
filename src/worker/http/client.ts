// Calls to one API of one tenant: token, rate limits and throttle before each request, a retry decision after it. What the service
// says it has not done (throttled, concurrent change) is retried as often as the policy allows; what it may have done (busy, a
// lost answer), only if idempotent; a refused token, once. Everything else fails at once. Waiting is on the clock and ends with the caller's
// signal.

import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../../base/run/clock.ts'
import { retryAfterMs } from '../../base/run/retry-after.ts'
import { SignInFault } from '../../base/sign-in/token.ts'
import type { Json } from '../../base/text/json.ts'
import { owningJob } from '../jobs/owning-job.ts'
import {
  ApiError,
  type ApiFailure,
  type ErrorDetail,
  type RestResponse,
  UNKNOWN_OUTCOME,
} from './api.ts'
import { ConnectionLost, type HttpResponse, sendHttp } from './http.ts'
import type { Throttle } from './throttle.ts'

export interface RetryPolicy {
  /** Maximum number of attempts. */
  readonly attempts: number
  readonly baseSec: number
  readonly maxSec: number
}

/** `Retry-After` wins over the pauses. */
export const RETRY_POLICY: RetryPolicy = { attempts: 5, baseSec: 2, maxSec: 120 }

/** The reason the service gave. */
export interface ServiceRefusal {
  readonly code: string
  readonly message: string
  readonly details: readonly ErrorDetail[]
  /** It says that there is no such object. */
  readonly isMissing: boolean
}

/**
 * `throttled`, `again`: not done, safe to retry. `busy`, `unsure`: it may have been done. `throttled` and `busy` also close the
 * gate of the call's quota. `unauthorised`: the token was refused. `final`: retrying will not help.
 */
export type RetryDecision = 'throttled' | 'busy' | 'again' | 'unsure' | 'unauthorised' | 'final'

export interface ClientOptions {
  /** The name used in error messages. */
  readonly service: string
  readonly clock: Clock
  /** Returns a token other than `refused`. Null where the API needs none. */
  readonly token: ((refused?: string) => Promise<string>) | null
  /** The quota of calls that name none. */
  readonly throttle: Throttle
  readonly policy: RetryPolicy
  /** Timeout of one request in real time: servers run no faster when a demonstration does. */
  readonly timeoutMs: number
  /** Reads the reason from an error response. */
  readRefusal(response: HttpResponse, body: Json): ServiceRefusal
  /** Overrides the default decision for a status; null keeps it. */
  decideRetry?(status: number, refusal: ServiceRefusal): RetryDecision | null
  /** Sees every answer as it came. */
  readonly onAnswer?: (response: HttpResponse) => void
  /** From 0 to 1, for jitter. */
  random(): number
  /** Aborts after this many real milliseconds. */
  timeout(ms: number): AbortSignal
  /** A rehearsal answers in the process; default: HTTP. */
  readonly send?: typeof sendHttp
}

export interface ClientRequest {
  readonly method: string
  readonly url: string
  /** Null for none. */
  readonly body: Json
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly isIdempotent: boolean
  readonly lookup?: LookupFunction
  /** The quota that the call counts against; default: the client's. */
  readonly throttle?: Throttle
  /** Changes nothing; default: false. */
  readonly isRead?: boolean
  /** Waits until the quota allows this call. */
  pace(): Promise<unknown>
}

/** Jitter adds up to this fraction. */
const JITTER = 0.3

/** A failed attempt and what to do about it. */
interface FailedAttempt {
  readonly failure: ApiFailure
  readonly decision: RetryDecision
  readonly waitMs: number | null
}

export class ApiClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  async call(request: ClientRequest): Promise<RestResponse> {
    const { policy, clock } = this.#options
    const requestId = randomUUID()
    let refused: string | undefined
    for (let attempt = 1; ; attempt++) {
      const signedIn = await this.#token(request.signal, refused)
      const token = 'failure' in signedIn ? null : signedIn.token
      const outcome =
        'failure' in signedIn ? signedIn : await this.#attempt(request, token, requestId, attempt)
      if ('body' in outcome) return outcome
      const { decision, failure } = outcome
      const waitMs = outcome.waitMs ?? this.#backoffMs(attempt)
      const isLast = attempt >= policy.attempts || decision === 'final'
      const isRefusedAgain =
        decision === 'unauthorised' && (refused !== undefined || token === null)
      const mayBeDone = ['busy', 'unsure'].includes(decision) && !request.isIdempotent
      if (isLast || isRefusedAgain || mayBeDone) throw this.#error(failure, attempt, mayBeDone)
      if (decision === 'unauthorised') refused = token ?? undefined
      else if (!isGateClosedBy(decision)) await clock.wait(waitMs, request.signal)
    }
  }

  async #token(
    signal: AbortSignal,
    refused: string | undefined,
  ): Promise<{ readonly token: string | null } | FailedAttempt> {
    const { token, service } = this.#options
    if (!token) return { token: null }
    try {
      return { token: await orAborted(token(refused), signal) }
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof SignInFault)) throw error
      const isFinal = error.kind === 'sign_in'
      const code = isFinal ? 'SignInRefused' : 'SignInUnreachable'
      const message = `No token for ${service}: ${error.message}`
      const failure = { status: null, code, message }
      return { failure, decision: isFinal ? 'final' : 'again', waitMs: null }
    }
  }

  async #attempt(
    request: ClientRequest,
    token: string | null,
    requestId: string,
    attempt: number,
  ): Promise<RestResponse | FailedAttempt> {
    const { timeoutMs, timeout, send = sendHttp } = this.#options
    const { signal, throttle = this.#options.throttle, isRead = false } = request
    await request.pace()
    const passage = await throttle.enter(signal, isRead ? 'read' : 'write')
    try {
      const timeUp = timeout(timeoutMs)
      const body = request.body === null ? null : JSON.stringify(request.body)
      const headers = {
        accept: 'application/json',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        'client-request-id': requestId,
        ...request.headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      }
      const startedAt = this.#options.clock.now()
      const response = await send({
        method: request.method,
        url: request.url,
        headers,
        body,
        signal: AbortSignal.any([signal, timeUp]),
        isOnNewConnection: !request.isIdempotent,
        ...(request.lookup ? { lookup: request.lookup } : {}),
      }).catch((error: unknown) => {
        signal.throwIfAborted()
        return this.#lost(error, timeUp)
      })
      this.#trace(request, attempt, startedAt, response)
      if ('failure' in response) return response
      this.#options.onAnswer?.(response)
      const judged = this.#judge(response)
      if ('failure' in judged && isGateClosedBy(judged.decision)) {
        const waitMs = judged.waitMs ?? this.#backoffMs(attempt)
        passage.refused(waitMs, response.headers.get('x-ms-throttle-scope'))
        return judged
      }
      if (response.status < 500) passage.answered(response.headers)
      return judged
    } finally {
      passage.leave()
    }
  }

  #trace(
    { method, url }: ClientRequest,
    attempt: number,
    startedAt: Date,
    response: HttpResponse | FailedAttempt,
  ): void {
    const trace = owningJob()?.trace
    if (!trace) return
    const [status, error] =
      'failure' in response ? [null, response.failure.code] : [response.status, null]
    const endedAt = this.#options.clock.now()
    trace.call({ method, url, attempt, status, startedAt, endedAt, error })
  }

  #lost(error: unknown, timeUp: AbortSignal): FailedAttempt {
    const { service, timeoutMs } = this.#options
    if (!(error instanceof ConnectionLost)) throw error
    const [code, reason] = timeUp.aborted
      ? ['Timeout', `did not respond within ${timeoutMs / 1_000} s`]
      : ['ConnectionLost', `cannot be reached: ${error.message}`]
    const failure = { status: null, code, message: `${service} ${reason}.` }
    return { failure, decision: error.wasSent ? 'unsure' : 'again', waitMs: null }
  }

  #judge(response: HttpResponse): RestResponse | FailedAttempt {
    const { service, clock, readRefusal, decideRetry } = this.#options
    const { status, headers } = response
    const body = bodyOf(response.text)
    if (status >= 200 && status < 300) return { status, headers, body }
    const refusal = readRefusal(response, body)
    const waitMs = retryAfterMs(headers, clock.now())
    const decision = decideRetry?.(status, refusal) ?? decideByStatus(status, waitMs !== null)
    const requestId = headers.get('request-id') ?? headers.get('x-ms-request-id')
    const named = requestId ? ` (request id ${requestId})` : ''
    const failure: ApiFailure = {
      ...refusal,
      status,
      message: `${service} returned ${status} ${refusal.code}: ${refusal.message}${named}`,
      requestId,
      isThrottled: isGateClosedBy(decision),
      retryAfterSec: waitMs === null ? null : waitMs / 1_000,
    }
    return { failure, decision, waitMs }
  }

  #error(failure: ApiFailure, attempts: number, isOutcomeUnknown: boolean): ApiError {
    const unknown = isOutcomeUnknown ? ` ${UNKNOWN_OUTCOME}` : ''
    return new ApiError({
      ...failure,
      message: failure.message + unknown,
      attempts,
      isOutcomeUnknown,
    })
  }

  #backoffMs(attempt: number): number {
    const { policy, random } = this.#options
    return pauseMs(policy, attempt, random())
  }
}

/** The pause after the n-th attempt when the service names none; `chance` is from 0 to 1. */
export function pauseMs(policy: RetryPolicy, attempt: number, chance: number): number {
  const sec = Math.min(policy.baseSec * 2 ** (attempt - 1), policy.maxSec)
  return sec * 1_000 * (1 + chance * JITTER)
}

const isGateClosedBy = (decision: RetryDecision): boolean =>
  decision === 'throttled' || decision === 'busy'

/**
 * Microsoft documents a throttled request as failed, and its response by Retry-After (Graph, "Throttling guidance"). A 429
 * without it, and every 503, may come from anything between here and the service, after the effect.
 */
function decideByStatus(status: number, hasRetryAfter: boolean): RetryDecision {
  if (status === 429 && hasRetryAfter) return 'throttled'
  if (status === 429 || status === 503) return 'busy'
  if (status === 401) return 'unauthorised'
  if (status === 408 || status === 500 || status === 502 || status === 504) return 'unsure'
  return 'final'
}

/** Null for an empty body, the text itself if it is not JSON. */
function bodyOf(text: string): Json {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** A slow token must not keep an aborted job waiting. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const stop = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
