// The client of the admin API that the package exports (`matoolkit/client`): typed by the table of routes, on `fetch` alone, for Node 20 and
// browsers. Reads are repeated when the server is busy or the connection breaks; so is what creates something, with a key that lets the
// server do it once. Any other change is sent once.
import { pathAndQuery } from './address.ts'
import { AdminApiError, problemIn } from './api-error.ts'
import type { Answer, Endpoint, ListEndpoint, ListedRow, RequestOf } from './endpoints.ts'
import { CHANGE_TIMEOUT_MS, READ_TIMEOUT_MS, repeated } from './repeat.ts'
import { CREATING, READING } from './repeatable.ts'

export { AdminApiError, type ApiErrorCode, type Fault, type Problem } from './api-error.ts'
export type {
  Answer,
  ChangeEndpoint,
  Endpoint,
  ListEndpoint,
  ListedRow,
  ReadEndpoint,
  RequestOf,
} from './endpoints.ts'
export type { ApiCode, Endpoints } from './table.ts'

export interface MatoolkitOptions {
  /** Of the API, such as `https://matoolkit.contoso.example`; a path of a proxy is kept. */
  readonly url: string
  /** The access token, or a function that gets one. It is called again with `true` when the last one was refused. */
  readonly token: string | ((isRefused: boolean) => string | null | Promise<string | null>)
  /** Names your program in the audit of reads: letters, digits, `.`, `/`, `-` and blanks. */
  readonly via?: string | undefined
  /** Instead of the global one: for proxies and tests. */
  readonly fetch?: typeof fetch | undefined
  /** Between two attempts, instead of a timer. */
  readonly wait?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** The etag of what you saw: the change is refused with STATE_CHANGED when it is another by now. */
  readonly ifMatch?: string | undefined
  /** Your own, for a request that may be repeated after your program has stopped. Without it each creating call gets a fresh one. */
  readonly idempotencyKey?: string | undefined
  /** Another content type than JSON, such as `text/csv`. */
  readonly accept?: string | undefined
}

type Arguments<E extends Endpoint> =
  Record<string, never> extends RequestOf<E>
    ? [given?: RequestOf<E>, options?: RequestOptions]
    : [given: RequestOf<E>, options?: RequestOptions]

export interface Tagged<T> {
  readonly answer: T
  /** For `ifMatch` of a later change; null if the endpoint has none. */
  readonly etag: string | null
}

export interface MatoolkitClient {
  /** The answer. Throws an AdminApiError when the API refuses. */
  call<E extends Endpoint>(endpoint: E, ...given: Arguments<E>): Promise<Answer<E>>
  /** The answer with the tag of its state. */
  tagged<E extends Endpoint>(endpoint: E, ...given: Arguments<E>): Promise<Tagged<Answer<E>>>
  /** Every row of a list, page after page. */
  each<E extends ListEndpoint>(
    endpoint: E,
    ...given: Arguments<E>
  ): AsyncGenerator<ListedRow<E>, void, void>
  /** The whole response, for files and streams. */
  raw<E extends Endpoint>(endpoint: E, ...given: Arguments<E>): Promise<Response>
}

interface Parts {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

type Passed = [parts?: Parts, call?: RequestOptions]

export function matoolkit(options: MatoolkitOptions): MatoolkitClient {
  const send = (endpoint: string, parts: Parts = {}, call: RequestOptions = {}) =>
    request(options, endpoint, parts, call)
  return {
    call: async (endpoint, ...given) => bodyOf(await send(endpoint, ...(given as Passed))),
    tagged: async (endpoint, ...given) => {
      const response = await send(endpoint, ...(given as Passed))
      return { answer: await bodyOf(response), etag: response.headers.get('etag') }
    },
    each: (endpoint, ...given) => rowsOf(send, endpoint, ...(given as Passed)),
    raw: (endpoint, ...given) => send(endpoint, ...(given as Passed)),
  }
}

const PAGE_ROWS = 500

async function* rowsOf<R>(
  send: (endpoint: string, parts: Parts, call?: RequestOptions) => Promise<Response>,
  endpoint: string,
  parts: Parts = {},
  call?: RequestOptions,
): AsyncGenerator<R, void, void> {
  let cursor: string | null = null
  do {
    const query = { limit: PAGE_ROWS, ...parts.query, ...(cursor !== null && { cursor }) }
    const page: Record<string, unknown> = await bodyOf(
      await send(endpoint, { ...parts, query }, call),
    )
    yield* Object.values(page).find((value) => Array.isArray(value)) as R[]
    cursor = page.next as string | null
  } while (cursor !== null)
}

async function bodyOf<T>(response: Response): Promise<T> {
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return (isJson ? await response.json() : await response.text()) as T
}

async function request(
  options: MatoolkitOptions,
  endpoint: string,
  parts: Parts,
  call: RequestOptions,
): Promise<Response> {
  const [method, path] = endpoint.split(' ') as [string, string]
  const { token: given, wait = timer, fetch: send = fetch } = options
  const isRead = method === 'GET' || READING.has(endpoint)
  const key = CREATING.has(endpoint) ? (call.idempotencyKey ?? crypto.randomUUID()) : undefined
  const headers = headersOf(parts, { ...call, idempotencyKey: key }, options.via)
  const url = `${options.url.replace(/\/+$/, '')}${pathAndQuery(path, parts)}`
  const { body } = parts
  const token = async (isRefused: boolean) => (typeof given === 'string' ? given : given(isRefused))
  const once = (bearer: string | null) => {
    const timeout = AbortSignal.timeout(isRead ? READ_TIMEOUT_MS : CHANGE_TIMEOUT_MS)
    if (bearer !== null) headers.set('authorization', `Bearer ${bearer}`)
    return send(url, {
      method,
      headers,
      redirect: 'error',
      signal: call.signal ? AbortSignal.any([call.signal, timeout]) : timeout,
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
  }
  const isRepeatable = isRead || key !== undefined
  const { signal } = call
  const rules = { isRepeatable, signal, once, token, wait, responseOf: (one: Response) => one }
  const response = await repeated(rules, await token(false)).catch((cause: unknown) => {
    if (call.signal?.aborted) throw cause
    throw unreachable(options.url, cause)
  })
  if (response.ok) return response
  throw new AdminApiError(response.status, await problemIn(response))
}

function headersOf({ body }: Parts, call: RequestOptions, via: string | undefined): Headers {
  const headers = new Headers({ accept: call.accept ?? 'application/json' })
  if (body !== undefined && !(body instanceof FormData)) {
    headers.set('content-type', 'application/json')
  }
  if (call.ifMatch !== undefined) headers.set('if-match', call.ifMatch)
  if (call.idempotencyKey !== undefined) headers.set('idempotency-key', call.idempotencyKey)
  if (via !== undefined) headers.set('x-matoolkit-via', via)
  return headers
}

const unreachable = (url: string, cause: unknown): AdminApiError =>
  new AdminApiError(
    0,
    { code: 'UNREACHABLE', detail: `The API at ${url} does not answer.` },
    { cause },
  )

function timer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(handle)
      reject(signal!.reason)
    }
    const handle = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
