// The calls of a worker to the API: one request each, with a time limit and the worker's credential. Whatever goes wrong on the way is an
// outage (WORKER_API_UNREACHABLE, WORKER_CREDENTIAL_REFUSED): nothing is lost, and the caller tries again. Only what the API says about a message itself
// is that message's fault.
import {
  type ErrorCode,
  type ErrorDetails,
  MatoolkitError,
  messageOf,
} from '../../base/errors/errors.ts'
import { readText } from '../../base/run/read-answer.ts'
import type { ApiAccess } from '../worker-gateway.ts'

export interface CallOptions {
  readonly signal: AbortSignal
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 30_000
/** A hundred jobs of 256 KB. */
const ANSWER_BYTES_MAX = 32_000_000

/** What the API may say about a message: no retry can cure it. */
const ABOUT_MESSAGES: ReadonlySet<string> = new Set<ErrorCode>([
  'MESSAGE_TOO_LARGE',
  'MESSAGE_BODY_INVALID',
  'MESSAGE_ID_INVALID',
])

interface Answered {
  readonly status: number
  readonly body: unknown
}

export class ApiCalls {
  readonly #access: ApiAccess

  constructor(access: ApiAccess) {
    this.#access = access
  }

  /** The answer of the API. A call whose credential is refused is made once more: it may have been replaced. */
  async post<Body>(path: string, body: object, options: CallOptions): Promise<Body> {
    const send = (token: string) => this.#send(path, token, JSON.stringify(body), options)
    const token = await this.#access.token(false)
    const first = await send(token)
    if (first.status !== 401) return this.#bodyOf<Body>(first)
    const renewed = await this.#access.token(true)
    return this.#bodyOf<Body>(renewed === token ? first : await send(renewed))
  }

  async get<Body>(path: string, options: CallOptions): Promise<Body> {
    const token = await this.#access.token(false)
    return this.#bodyOf<Body>(await this.#send(path, token, null, options))
  }

  async #send(
    path: string,
    token: string,
    body: string | null,
    { signal, timeoutMs = TIMEOUT_MS }: CallOptions,
  ): Promise<Answered> {
    try {
      const response = await fetch(this.#access.apiUrl + path, {
        method: body === null ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== null && { 'content-type': 'application/json' }),
        },
        ...(body !== null && { body }),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
      const text = await readText(response, ANSWER_BYTES_MAX)
      return { status: response.status, body: parsed(text) }
    } catch (error) {
      throw this.#unreachable(reasonOf(error), error)
    }
  }

  #unreachable(reason: string, cause?: unknown): MatoolkitError {
    return new MatoolkitError(
      'WORKER_API_UNREACHABLE',
      { url: this.#access.apiUrl, reason },
      { cause },
    )
  }

  #bodyOf<Body>({ status, body }: Answered): Body {
    if (status === 200 && body !== undefined) return body as Body
    const { code = '', detail = '', details = {} } = (body ?? {}) as Problem
    if (ABOUT_MESSAGES.has(code)) throw new MatoolkitError(code as ErrorCode, details)
    const what = detail === '' ? `it answered with status ${status}` : `it says: ${detail}`
    if (status === 401 || status === 403)
      throw new MatoolkitError('WORKER_CREDENTIAL_REFUSED', {
        url: this.#access.apiUrl,
        reason: what,
      })
    throw this.#unreachable(what)
  }
}

interface Problem {
  readonly code?: string
  readonly detail?: string
  readonly details?: ErrorDetails
}

/** Undefined if the text is not JSON: a proxy answers in HTML. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** fetch hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } }
  if (name === 'TimeoutError') return 'the request timed out'
  return cause?.message || cause?.code || messageOf(error)
}
