// The calls to Databricks and what they answer. Each is tried again a few times when the service is busy or the line breaks: they
// all only read. Tokens go to the workspace alone; links to storage carry their own right and get nothing from us.
import type { Clock } from '../../clock.ts'
import { SourceFault } from './fault.ts'
import { causeOf } from './token.ts'

/** The values of a row. */
export type DatabricksResponse = readonly (string | null)[]

export interface StatementResult {
  readonly data_array?: readonly DatabricksResponse[]
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
const TRIES = 4
const PAUSE_FIRST_MS = 1_000
const PAUSE_MOST_MS = 30_000
const START_TIMEOUT_MS = 30_000
const START_GRACE_MS = 1_000
const CANCEL_TIMEOUT_MS = 5_000
/** A chunk is some 20 MiB at most; a body beyond this is none of ours. */
const BODY_BYTES_MAX = 128 * 1024 * 1024
const BUSY = [429, 502, 503, 504]

export class DatabricksApi {
  readonly #options: DatabricksApiOptions
  #hasAnswered = false
  /** As last used: whoever started a statement can also cancel it, and there is no time to ask for another token. */
  #authorization = ''

  constructor(options: DatabricksApiOptions) {
    this.#options = options
  }

  get<T>(path: string): Promise<T> {
    return this.#call<T>(path, { method: 'GET', signal: this.#options.signal })
  }

  /** Begun, it is given a moment even when all is to end: a statement whose id never reached us could not be cancelled. */
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

  /** As well as it can: it is asked when something has ended already, the signal above all. */
  async cancel(statementId: string): Promise<void> {
    try {
      await fetch(`${this.#options.host}${STATEMENTS}/${encodeURIComponent(statementId)}/cancel`, {
        method: 'POST',
        headers: { authorization: this.#authorization },
        signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS),
        redirect: 'error',
      })
    } catch {
      // The statement ends by itself at the warehouse's own timeout.
    }
  }

  async download(link: ExternalLink): Promise<readonly DatabricksResponse[]> {
    const response = await this.#tried(() =>
      fetch(link.external_link, {
        headers: { ...link.http_headers },
        signal: this.#options.signal,
      }),
    )
    // The address itself is a secret for as long as it works.
    if (!response.ok)
      throw new SourceFault('dropped', `the storage answered ${response.status} for a part`)
    return this.#bodyOf<readonly DatabricksResponse[]>(response)
  }

  async #call<T>(path: string, init: RequestInit): Promise<T> {
    const { host, authorize } = this.#options
    const response = await this.#tried(async () => {
      this.#authorization = await authorize()
      const headers = { authorization: this.#authorization, 'content-type': 'application/json' }
      return fetch(`${host}${STATEMENTS}${path}`, { ...init, headers, redirect: 'error' })
    })
    if (!response.ok) throw await this.#faultOf(response)
    this.#hasAnswered = true
    return this.#bodyOf<T>(response)
  }

  async #tried(send: () => Promise<Response>): Promise<Response> {
    const { clock, signal } = this.#options
    for (let attempt = 1; ; attempt++) {
      const response = await this.#sent(send)
      const isLast = attempt === TRIES
      if (response instanceof SourceFault) {
        if (isLast) throw response
      } else if (isLast || !BUSY.includes(response.status)) return response
      await clock.wait(pauseMsAfter(response, attempt), signal)
      signal.throwIfAborted()
    }
  }

  async #sent(send: () => Promise<Response>): Promise<Response | SourceFault> {
    try {
      return await send()
    } catch (error) {
      this.#options.signal.throwIfAborted()
      if (error instanceof SourceFault) throw error
      return new SourceFault(this.#hasAnswered ? 'dropped' : 'unreachable', causeOf(error), error)
    }
  }

  async #bodyOf<T>(response: Response): Promise<T> {
    const parts: Uint8Array[] = []
    let bytes = 0
    try {
      for await (const part of response.body ?? []) {
        bytes += part.byteLength
        if (bytes > BODY_BYTES_MAX) break
        parts.push(part)
      }
    } catch (error) {
      this.#options.signal.throwIfAborted()
      throw new SourceFault('dropped', causeOf(error), error)
    }
    if (bytes > BODY_BYTES_MAX)
      throw new SourceFault('truncated', `an answer has more than ${BODY_BYTES_MAX} bytes`)
    try {
      return JSON.parse(Buffer.concat(parts).toString('utf8')) as T
    } catch {
      throw new SourceFault('dropped', 'an answer is no JSON')
    }
  }

  async #faultOf(response: Response): Promise<SourceFault> {
    const answer = await this.#bodyOf<{ message?: string; error_code?: string }>(response).catch(
      () => null,
    )
    const said = answer?.message ?? answer?.error_code ?? 'without a reason'
    const reason = `Databricks answered ${response.status}: ${said}`
    if (response.status === 401 || response.status === 403)
      return new SourceFault('sign_in', reason)
    const isOurs = response.status < 500 && !BUSY.includes(response.status)
    return new SourceFault(isOurs ? 'refused' : 'unreachable', reason)
  }
}

function pauseMsAfter(response: Response | SourceFault, attempt: number): number {
  const asked =
    response instanceof SourceFault ? 0 : Number(response.headers.get('retry-after') ?? 0)
  const pauseMs = asked > 0 ? asked * 1000 : PAUSE_FIRST_MS * 2 ** (attempt - 1)
  return Math.min(pauseMs, PAUSE_MOST_MS)
}
