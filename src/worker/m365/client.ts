// Calls to one API of one tenant, all the care included: a token, the limits and the gate before it leaves, a verdict on what
// came back, and repeating where that is right. Repeated are: what the service says it has not done (too many requests, busy,
// a concurrent change), as often as the policy allows; what nobody knows to be done, only if it is idempotent; a refused token,
// once. Everything else fails at once. All waiting is on the clock and ends with the caller's signal.
import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { Json } from '../../domain/json.ts'
import { SignInFault } from '../../sign-in/token.ts'
import { ApiError, type ApiFailure, type ErrorDetail, type RestAnswer } from './api.ts'
import { type HttpAnswer, Lost, sendHttp } from './http.ts'
import type { Gate, LaneLimit } from './limits.ts'
import { retryAfterMs } from './retry-after.ts'

export interface RetryPolicy {
  /** How often a call is sent at most. */
  readonly attempts: number
  readonly baseSec: number
  readonly maxSec: number
}

/** What the service gave as its reason. */
export interface ServiceRefusal {
  readonly code: string
  readonly message: string
  readonly details: readonly ErrorDetail[]
}

/**
 * `throttled`, `again`: not done, may be sent again; the first closes the gate. `unsure`: it may have been done.
 * `unauthorised`: the token was not accepted. `final`: the answer is no.
 */
export type RetryDecision = 'throttled' | 'again' | 'unsure' | 'unauthorised' | 'final'

export interface ClientOptions {
  /** Whom sentences name. */
  readonly service: string
  readonly clock: Clock
  /** A token; another one than `refused`. Null where nobody asks for one. */
  readonly token: ((refused?: string) => Promise<string>) | null
  readonly gate: Gate
  readonly lanes?: LaneLimit
  readonly policy: RetryPolicy
  /** How long one request may take, on the real clock: servers do not run faster because a demonstration does. */
  readonly timeoutMs: number
  /** What the body of an answer that is no success says. */
  readRefusal(answer: HttpAnswer, body: Json): ServiceRefusal
  /** Where the service means something else by a status than others do; null where it does not. */
  verdictOf?(status: number, refusal: ServiceRefusal): RetryDecision | null
  /** Told whenever the gate closes, and for how long. */
  readonly onThrottled?: (service: string, sec: number) => void
  /** From 0 up to 1, for the jitter. */
  random(): number
  /** Aborts after so many real milliseconds. */
  timeout(ms: number): AbortSignal
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
  /** Waits for the quota of this call. */
  pace(): Promise<unknown>
}

/** The part that jitter adds at most. */
const JITTER = 0.3

/** How an attempt ended without an answer to give back. */
interface Setback {
  readonly failure: ApiFailure
  readonly verdict: RetryDecision
  readonly waitMs: number | null
}

export class ApiClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  async call(request: ClientRequest): Promise<RestAnswer> {
    const { policy, clock, gate, service, onThrottled } = this.#options
    const requestId = randomUUID()
    let refused: string | undefined
    for (let attempt = 1; ; attempt++) {
      const got = await this.#token(request.signal, refused)
      const token = 'failure' in got ? null : got.token
      const outcome = 'failure' in got ? got : await this.#attempt(request, token, requestId)
      if ('body' in outcome) return outcome
      const { verdict, failure } = outcome
      const waitMs = outcome.waitMs ?? this.#backoffMs(attempt)
      if (verdict === 'throttled') {
        gate.closeFor(waitMs)
        onThrottled?.(service, waitMs / 1_000)
      }
      const isLast = attempt >= policy.attempts || verdict === 'final'
      const isRefusedAgain = verdict === 'unauthorised' && (refused !== undefined || token === null)
      const mayBeDone = verdict === 'unsure' && !request.isIdempotent
      if (isLast || isRefusedAgain || mayBeDone) throw this.#error(failure, attempt, mayBeDone)
      if (verdict === 'unauthorised') refused = token ?? undefined
      else if (verdict !== 'throttled') await clock.wait(waitMs, request.signal)
    }
  }

  async #token(
    signal: AbortSignal,
    refused: string | undefined,
  ): Promise<{ readonly token: string | null } | Setback> {
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
      return { failure, verdict: isFinal ? 'final' : 'again', waitMs: null }
    }
  }

  async #attempt(
    request: ClientRequest,
    token: string | null,
    requestId: string,
  ): Promise<RestAnswer | Setback> {
    const { gate, lanes, timeoutMs, timeout } = this.#options
    const { signal } = request
    if (lanes && !(await lanes.enter(signal))) throw signal.reason
    try {
      await request.pace()
      await gate.pass(signal)
      signal.throwIfAborted()
      const timeUp = timeout(timeoutMs)
      const body = request.body === null ? null : JSON.stringify(request.body)
      const headers = {
        accept: 'application/json',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        'client-request-id': requestId,
        ...request.headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      }
      const answer = await sendHttp({
        method: request.method,
        url: request.url,
        headers,
        body,
        signal: AbortSignal.any([signal, timeUp]),
        isAlone: !request.isIdempotent,
        ...(request.lookup ? { lookup: request.lookup } : {}),
      }).catch((error: unknown) => {
        signal.throwIfAborted()
        return this.#lost(error, timeUp)
      })
      return 'failure' in answer ? answer : this.#judge(answer)
    } finally {
      lanes?.leave()
    }
  }

  #lost(error: unknown, timeUp: AbortSignal): Setback {
    const { service, timeoutMs } = this.#options
    if (!(error instanceof Lost)) throw error
    const [code, reason] = timeUp.aborted
      ? ['Timeout', `did not answer within ${timeoutMs / 1_000} s`]
      : ['ConnectionLost', `cannot be reached: ${error.message}`]
    const failure = { status: null, code, message: `${service} ${reason}.` }
    return { failure, verdict: error.wasSent ? 'unsure' : 'again', waitMs: null }
  }

  #judge(answer: HttpAnswer): RestAnswer | Setback {
    const { service, clock, readRefusal, verdictOf } = this.#options
    const { status, headers } = answer
    const body = bodyOf(answer.text)
    if (status >= 200 && status < 300) return { status, headers, body }
    const refusal = readRefusal(answer, body)
    const verdict = verdictOf?.(status, refusal) ?? verdictOfStatus(status)
    const waitMs = retryAfterMs(headers, clock.now())
    const requestId = headers.get('request-id') ?? headers.get('x-ms-request-id')
    const named = requestId ? ` (request id ${requestId})` : ''
    const failure: ApiFailure = {
      ...refusal,
      status,
      message: `${service} answered ${status} ${refusal.code}: ${refusal.message}${named}`,
      requestId,
      isThrottled: verdict === 'throttled',
      retryAfterSec: waitMs === null ? null : waitMs / 1_000,
    }
    return { failure, verdict, waitMs }
  }

  #error(failure: ApiFailure, attempts: number, isOutcomeUnknown: boolean): ApiError {
    const unknown = isOutcomeUnknown
      ? ' It may have been done all the same: look in the tenant before it is repeated.'
      : ''
    return new ApiError({
      ...failure,
      message: failure.message + unknown,
      attempts,
      isOutcomeUnknown,
    })
  }

  /** The pause after the n-th attempt, when the service names none. */
  #backoffMs(attempt: number): number {
    const { policy, random } = this.#options
    const sec = Math.min(policy.baseSec * 2 ** (attempt - 1), policy.maxSec)
    return sec * 1_000 * (1 + random() * JITTER)
  }
}

function verdictOfStatus(status: number): RetryDecision {
  if (status === 429 || status === 503) return 'throttled'
  if (status === 401) return 'unauthorised'
  if (status === 408 || status === 500 || status === 502 || status === 504) return 'unsure'
  return 'final'
}

/** Null for nothing, the text itself for what is no JSON. */
function bodyOf(text: string): Json {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** A token that is slow to come must not keep a job that is over. */
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
