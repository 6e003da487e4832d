// Calls to Databricks. Each is retried a few times when the service is busy or the connection breaks: all of them only read.
// Tokens go to the workspace alone; storage links carry their own authorisation.
import type { Clock } from '../../base/run/clock.ts'
import { fetchFault } from '../../base/run/fetch-fault.ts'
import { AnswerTooLong, dropBody, readJson } from '../../base/run/read-answer.ts'
import { retryAfterMs } from '../../base/run/retry-after.ts'
import { SourceFault } from './fault.ts'

/** The values of a row. */
export type DatabricksRow = readonly (string | null)[]

export interface StatementResult {
  readonly data_array?: readonly DatabricksRow[]
  readonly next_chunk_index?: number
  readonly external_links?: readonly ExternalLink[]
}

export interface ExternalLink {
  readonly external_link: string
  readonly http_headers?: Readonly<Record<string, string>>
  readonly next_chunk_index?: number
}

export interface DatabricksStatement {
  readonly statement_id: string
  readonly status?: {
    readonly state: string
    readonly error?: { readonly error_code?: string; readonly message?: string }
  }
  readonly manifest?: {
    readonly schema?: {
      readonly columns?: readonly { name: string; position: number; type_name: string }[]
    }
    readonly total_row_count?: number
    readonly truncated?: boolean
  }
  readonly result?: StatementResult
}

export interface DatabricksApiOptions {
  readonly host: string
  authorize(): Promise<string>
  readonly clock: Clock
  readonly signal: AbortSignal
}

const STATEMENTS = '/api/2.0/sql/statements'
const ATTEMPTS_MAX = 4
const PAUSE_FIRST_MS = 1_000
const PAUSE_MOST_MS = 30_000
const START_TIMEOUT_MS = 30_000
const START_GRACE_MS = 1_000
const CANCEL_TIMEOUT_MS = 5_000
/** A chunk has at most about 20 MiB; larger bodies are refused. */
const BODY_BYTES_MAX = 128 * 1024 * 1024
const BUSY = [429, 502, 503, 504]

export class DatabricksApi {
  readonly #options: DatabricksApiOptions
  #hasResponded = false
  /** The last used header: it can cancel what it started, and there is no time for another token. */
  #authorization = ''

  constructor(options: DatabricksApiOptions) {
    this.#options = options
  }

  get<T>(path: string): Promise<T> {
    return this.#call<T>(path, { method: 'GET', signal: this.#options.signal })
  }

  /** Gets a short grace on abort: a statement whose id never arrived could not be cancelled. */
  start(body: object): Promise<DatabricksStatement> {
    const overdue = new AbortController()
    const soon = () => void setTimeout(() => overdue.abort(), START_GRACE_MS).unref()
    this.#options.signal.addEventListener('abort', soon, { once: true })
    const signal = AbortSignal.any([overdue.signal, AbortSignal.timeout(START_TIMEOUT_MS)])
    return this.#call<DatabricksStatement>('', {
      method: 'POST',
      body: JSON.stringify(body),
      signal,
    })
  }

  /** Best effort: called when something already ended, often the signal. */
  async cancel(statementId: string): Promise<void> {
    try {
      const address = `${this.#options.host}${STATEMENTS}/${encodeURIComponent(statementId)}/cancel`
      const answer = await fetch(address, {
        method: 'POST',
        headers: { authorization: this.#authorization },
        signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS),
        redirect: 'error',
      })
      await dropBody(answer)
    } catch {
      // The warehouse's own timeout ends the statement.
    }
  }

  async download(link: ExternalLink): Promise<readonly DatabricksRow[]> {
    const response = await this.#sendWithRetries(() =>
      fetch(link.external_link, {
        headers: { ...link.http_headers },
        signal: this.#options.signal,
      }),
    )
    // The URL is a secret while it works.
    if (!response.ok)
      throw new SourceFault('dropped', `the storage returned ${response.status} for a chunk`)
    return this.#bodyOf<readonly DatabricksRow[]>(response)
  }

  async #call<T>(path: string, init: RequestInit): Promise<T> {
    const { host, authorize } = this.#options
    const response = await this.#sendWithRetries(async () => {
      this.#authorization = await authorize()
      const headers = { authorization: this.#authorization, 'content-type': 'application/json' }
      return fetch(`${host}${STATEMENTS}${path}`, { ...init, headers, redirect: 'error' })
    })
    if (!response.ok) throw await this.#faultOf(response)
    this.#hasResponded = true
    return this.#bodyOf<T>(response)
  }

  async #sendWithRetries(send: () => Promise<Response>): Promise<Response> {
    const { clock, signal } = this.#options
    for (let attempt = 1; ; attempt++) {
      const response = await this.#send(send)
      const isLast = attempt === ATTEMPTS_MAX
      if (response instanceof SourceFault) {
        if (isLast) throw response
      } else if (isLast || !BUSY.includes(response.status)) return response
      await clock.wait(pauseMsAfter(response, attempt, clock.now()), signal)
      signal.throwIfAborted()
    }
  }

  async #send(send: () => Promise<Response>): Promise<Response | SourceFault> {
    try {
      return await send()
    } catch (error) {
      this.#options.signal.throwIfAborted()
      if (error instanceof SourceFault) throw error
      return new SourceFault(
        this.#hasResponded ? 'dropped' : 'unreachable',
        fetchFault(error),
        error,
      )
    }
  }

  async #bodyOf<T>(response: Response): Promise<T> {
    try {
      return (await readJson(response, BODY_BYTES_MAX)) as T
    } catch (error) {
      this.#options.signal.throwIfAborted()
      if (error instanceof AnswerTooLong)
        throw new SourceFault('truncated', `a response has more than ${BODY_BYTES_MAX} bytes`)
      if (error instanceof SyntaxError) throw new SourceFault('dropped', 'a response is not JSON')
      throw new SourceFault('dropped', fetchFault(error), error)
    }
  }

  async #faultOf(response: Response): Promise<SourceFault> {
    const body = await this.#bodyOf<{ message?: string; error_code?: string }>(response).catch(
      () => null,
    )
    const message = body?.message ?? body?.error_code ?? 'no reason given'
    const reason = `Databricks returned ${response.status}: ${message}`
    if (response.status === 401 || response.status === 403)
      return new SourceFault('sign_in', reason)
    const isOurs = response.status < 500 && !BUSY.includes(response.status)
    return new SourceFault(isOurs ? 'refused' : 'unreachable', reason)
  }
}

function pauseMsAfter(response: Response | SourceFault, attempt: number, now: Date): number {
  const told = response instanceof SourceFault ? null : retryAfterMs(response.headers, now)
  return Math.min(told || PAUSE_FIRST_MS * 2 ** (attempt - 1), PAUSE_MOST_MS)
}
