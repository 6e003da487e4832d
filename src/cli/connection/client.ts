// The client of the admin API. Reads are retried when the server is busy or the connection breaks; a change is sent once, unless an
// idempotency key makes a retry safe. Every refusal is thrown as an ApiRefusal. `--debug` logs the traffic without secrets.
import { randomUUID } from 'node:crypto'
import { pathAndQuery } from '../../api/client/address.ts'
import { CHANGE_TIMEOUT_MS, READ_TIMEOUT_MS, repeated } from '../../api/client/repeat.ts'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { redact } from '../../base/log/redact.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Json } from '../../base/text/json.ts'
import { ApiRefusal, isProblem } from './api-refusal.ts'

export interface ApiClientOptions {
  readonly apiUrl: string
  /** The access token to send, null if there is none. `isRefused`: the last one was refused, get another. */
  token(isRefused: boolean): Promise<string | null>
  readonly clock: Clock
  /** Why this may be the wrong API; null when it is certain. Changes are then refused with INSTANCE_UNCLEAR. */
  readonly doubt?: string | null
  /** Receives a line per request and response, without secrets. */
  readonly debug?: (line: string) => void
  /** Receives a text while a request takes longer than a second, and an empty one at its end. */
  readonly progress?: (text: string) => void
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface RequestBody {
  readonly query?: Query
  readonly body?: Json
  readonly form?: FormData
  /** Sent as If-Match: the API refuses the change if the state has changed. */
  readonly ifMatch?: string | null
  /** Sends an idempotency key: the server applies the change once, however often it is sent. */
  readonly isKeyed?: boolean
  /** Changes nothing, although it is no GET. */
  readonly isRead?: boolean
  /** Statuses other than 2xx that are no refusals. */
  readonly accepts?: readonly number[]
  readonly signal?: AbortSignal
  /** What asks on the caller's behalf, such as a tool of an assistant; the audit of a read names it. */
  readonly via?: string
}

export interface ApiResponse<Body = Json> {
  readonly status: number
  readonly body: Body
  readonly text: string
  readonly etag: string | null
}

const QUIET_MS = 1_000
const MB = 1_000_000

interface Payload {
  readonly headers: Record<string, string>
  readonly body?: string | ReadableStream<Uint8Array>
  readonly duplex?: 'half'
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export class AdminApiClient {
  readonly apiUrl: string
  readonly #options: ApiClientOptions

  constructor(options: ApiClientOptions) {
    this.#options = options
    this.apiUrl = options.apiUrl
  }

  get = <Body = Json>(
    path: string,
    query?: Query,
    send: RequestBody = {},
  ): Promise<ApiResponse<Body>> =>
    this.#request<Body>('GET', path, { ...send, ...(query && { query }) })
  post = <Body = Json>(path: string, send: RequestBody = {}): Promise<ApiResponse<Body>> =>
    this.#request<Body>('POST', path, send)
  put = <Body = Json>(path: string, send: RequestBody = {}): Promise<ApiResponse<Body>> =>
    this.#request<Body>('PUT', path, send)
  delete = <Body = Json>(path: string, send: RequestBody = {}): Promise<ApiResponse<Body>> =>
    this.#request<Body>('DELETE', path, send)

  /** A response that is read as it arrives, until `signal` aborts or the server ends it. */
  async stream(
    path: string,
    query: Query,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const token = await this.#options.token(false)
    if (token === null) await this.#refusal()
    const url = urlOf(this.apiUrl, path, query)
    this.#options.debug?.(`> GET ${url}, as a stream`)
    const open = (bearer: string | null) =>
      fetch(url, {
        headers: { ...(bearer !== null && { authorization: `Bearer ${bearer}` }) },
        redirect: 'error',
        signal,
      })
    let response = await open(token)
    if (response.status === 401) {
      // The token may have expired on the way.
      await response.body?.cancel()
      response = await open(await this.#options.token(true))
    }
    if (!response.ok || response.body === null) {
      this.#answerOf({ response, text: await response.text() }, {})
    }
    return response.body as ReadableStream<Uint8Array>
  }

  /** A file, read as it arrives. Throws API_UNREACHABLE when the connection breaks: nobody takes a part for the whole. */
  async *download(path: string, query: Query): AsyncGenerator<Uint8Array> {
    const { progress } = this.#options
    let received = 0
    try {
      for await (const bytes of await this.stream(path, query, new AbortController().signal)) {
        received += bytes.length
        if (received > MB) progress?.(`Received ${Math.floor(received / MB)} MB …`)
        yield bytes
      }
    } catch (error) {
      if (error instanceof ApiRefusal || error instanceof MatoolkitError) throw error
      const details = { url: this.apiUrl, reason: reasonOf(error) }
      throw new MatoolkitError('API_UNREACHABLE', details, { cause: error })
    } finally {
      progress?.('')
    }
  }

  async #request<Body>(
    method: Method,
    path: string,
    send: RequestBody,
  ): Promise<ApiResponse<Body>> {
    const { clock, progress, doubt = null } = this.#options
    if (doubt !== null && method !== 'GET' && !send.isRead) {
      throw new MatoolkitError('INSTANCE_UNCLEAR', { doubt })
    }
    const done = new AbortController()
    if (progress) {
      void clock.wait(QUIET_MS, done.signal).then(() => {
        if (!done.signal.aborted) progress(`Waiting for ${new URL(this.apiUrl).host} …`)
      })
    }
    try {
      return await this.#repeat<Body>(method, path, send)
    } finally {
      done.abort()
      progress?.('')
    }
  }

  async #repeat<Body>(method: Method, path: string, send: RequestBody): Promise<ApiResponse<Body>> {
    const { clock, token } = this.#options
    const key = send.isKeyed ? { 'idempotency-key': randomUUID() } : {}
    const first = await token(false)
    if (first === null && !isAnonymous(path)) return this.#refusal<Body>()
    const found = await repeated(
      {
        isRepeatable: method === 'GET' || send.isKeyed === true,
        signal: send.signal,
        accepts: send.accepts,
        token,
        once: (bearer) => this.#once(method, path, send, key, bearer),
        responseOf: ({ response }) => response,
        wait: (ms, signal) => clock.wait(ms, signal),
        isFinal: isRefusedConnection,
      },
      first,
    )
    return this.#answerOf<Body>(found, send)
  }

  /**
   * The API's own answer to a caller without a token. The request itself is not sent: it would be refused, and may name people to
   * a program that is no matoolkit.
   */
  async #refusal<Body>(): Promise<ApiResponse<Body>> {
    const found = await this.#once('GET', '/api/me', {}, {}, null)
    if (!found.response.ok) return this.#answerOf<Body>(found, {})
    throw new MatoolkitError('API_NOT_UNDERSTOOD', {
      url: this.apiUrl,
      status: found.response.status,
    })
  }

  async #once(
    method: Method,
    path: string,
    send: RequestBody,
    key: Readonly<Record<string, string>>,
    token: string | null,
  ): Promise<{ response: Response; text: string }> {
    const { debug, clock } = this.#options
    const url = urlOf(this.apiUrl, path, send.query)
    const timeout = AbortSignal.timeout(method === 'GET' ? READ_TIMEOUT_MS : CHANGE_TIMEOUT_MS)
    const { headers, ...payload } = this.#payloadOf(send)
    const startedMs = +clock.now()
    debug?.(`> ${method} ${url}${send.body === undefined ? '' : ` ${masked(send.body)}`}`)
    try {
      const response = await fetch(url, {
        method,
        headers: {
          ...key,
          ...headers,
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(send.ifMatch && { 'if-match': send.ifMatch }),
          ...(send.via && { 'x-matoolkit-via': send.via }),
        },
        redirect: 'error',
        signal: send.signal ? AbortSignal.any([send.signal, timeout]) : timeout,
        ...payload,
      })
      const text = await response.text()
      const ms = +clock.now() - startedMs
      debug?.(`< ${response.status} in ${ms} ms, request ${response.headers.get('x-request-id')}`)
      return { response, text }
    } catch (error) {
      debug?.(`< ${reasonOf(error)}`)
      const details = { url: this.apiUrl, reason: reasonOf(error) }
      throw new MatoolkitError('API_UNREACHABLE', details, { cause: error })
    }
  }

  #payloadOf({ body, form }: RequestBody): Payload {
    if (body !== undefined) {
      return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    }
    if (!form) return { headers: {} }
    const whole = new Response(form)
    const counted = whole.body!.pipeThrough(this.#countingTo(bytesIn(form)))
    const headers = { 'content-type': whole.headers.get('content-type')! }
    return { headers, body: counted, duplex: 'half' }
  }

  /** Passes bytes through and reports the progress. */
  #countingTo(total: number): TransformStream<Uint8Array, Uint8Array> {
    const { progress } = this.#options
    let sent = 0
    return new TransformStream({
      transform: (bytes, controller) => {
        sent = Math.min(total, sent + bytes.length)
        progress?.(`Sending ${barText(sent, total)}`)
        controller.enqueue(bytes)
      },
    })
  }

  #answerOf<Body>(
    { response, text }: { response: Response; text: string },
    send: RequestBody,
  ): ApiResponse<Body> {
    const { status, headers } = response
    const isJson = /json/.test(headers.get('content-type') ?? '')
    const body = isJson ? parsed(text) : text
    if (response.ok || send.accepts?.includes(status)) {
      return { status, body: body as Body, text, etag: headers.get('etag') }
    }
    if (isProblem(body)) throw new ApiRefusal(body)
    throw new MatoolkitError('API_NOT_UNDERSTOOD', { url: this.apiUrl, status })
  }
}

/** Paths that the API answers without a token. */
const isAnonymous = (path: string): boolean =>
  /^\/api\/(?:health|ready|sign-in|openapi\.json)$/.test(path)

const urlOf = (apiUrl: string, path: string, query: Query = {}): string =>
  `${apiUrl}${pathAndQuery(path, { query })}`

const bytesIn = (form: FormData): number =>
  [...form.values()].reduce((sum, part) => sum + (typeof part === 'string' ? 0 : part.size), 0)

const BAR_CELLS = 30

function barText(sent: number, total: number): string {
  const share = total === 0 ? 1 : sent / total
  const full = Math.floor(share * BAR_CELLS)
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)} ${Math.floor(share * 100)} %`
}

/** Undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const BODY_SHOWN_MAX = 2_000
const masked = (body: Json): string => JSON.stringify(redact(body)).slice(0, BODY_SHOWN_MAX)

/** Not retried: a person waits for the answer. */
const isRefusedConnection = (error: unknown): boolean =>
  error instanceof MatoolkitError && error.details.reason === CONNECTION_REFUSED

const CONNECTION_REFUSED = 'connection refused'

/** fetch hides the reason in the cause. */
export function reasonOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } }
  if (name === 'TimeoutError') return 'the request timed out'
  const code = cause?.code ?? ''
  if (code === 'ECONNREFUSED') return CONNECTION_REFUSED
  if (code === 'ENOTFOUND') return 'unknown host'
  if (code === 'EAI_AGAIN') return 'the host name cannot be resolved; check the network'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'the connection timed out'
  // OpenSSL's own message names one of its source files.
  if (code === 'EPROTO' || code.startsWith('ERR_SSL'))
    return 'the server does not use TLS; try http'
  return cause?.message || code || messageOf(error)
}
