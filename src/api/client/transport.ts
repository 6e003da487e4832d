// The one way of a request to the API, for the package, the command line and the dashboard: address, token, time limit, repeats, and a
// refusal as an error. It runs on `fetch` alone; who needs a proxy, a progress bar or a log of the traffic passes a `fetch` of their own.
import { pathAndQuery } from './address.ts'
import { AdminApiError, problemIn } from './api-error.ts'
import { CREATING, READING, WITHOUT_TOKEN } from './endpoint-kinds.ts'
import type { Endpoint } from './endpoints.ts'
import { type Reply, repeated } from './repeat.ts'

const READ_TIMEOUT_MS = 60_000
const CHANGE_TIMEOUT_MS = 15 * 60_000

export interface MatoolkitOptions {
  /** Of the API, such as `https://matoolkit.contoso.example`; a path of a proxy is kept. */
  readonly url: string
  /**
   * The access token, or a function that gets one. It is called again with `true` when the last one was refused. Without a token no
   * request is sent but one that says so: it would be refused, and may name people.
   */
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
  readonly ifMatch?: string | null | undefined
  /** Your own, for a request that may be repeated after your program has stopped. Without it each creating call gets a fresh one. */
  readonly idempotencyKey?: string | undefined
  /** Another content type than JSON, such as `text/csv`. */
  readonly accept?: string | undefined
  /** Statuses other than 2xx that are answers and no refusals. */
  readonly accepts?: readonly number[] | undefined
  /** As in the options of the client, for this request. */
  readonly via?: string | undefined
}

export interface Parts {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
}

/** Sends a request. `isRaw` leaves the body to the caller; the time limit then ends when it begins. */
export type Send = (
  endpoint: Endpoint,
  parts: Parts,
  options: RequestOptions,
  isRaw: boolean,
) => Promise<Reply>

/** Whether the request changes nothing. */
export const isReading = (endpoint: Endpoint): boolean =>
  endpoint.startsWith('GET ') || READING.has(endpoint)

/** Throws an AdminApiError for a refusal, and one with status 0 when there is no answer. */
export function transport(options: MatoolkitOptions): Send {
  const { wait = timer, token: given } = options
  const token = async (isRefused: boolean) =>
    (typeof given === 'string' ? given : await given(isRefused)) || null
  const send: Send = async (endpoint, parts, call, isRaw) => {
    const isAnonymous = WITHOUT_TOKEN.has(endpoint)
    const first = isAnonymous ? null : await token(false)
    if (first === null && !isAnonymous) throw await refusalWithoutToken(options)
    const key = CREATING.has(endpoint) ? (call.idempotencyKey ?? crypto.randomUUID()) : undefined
    const keyed = { ...call, idempotencyKey: key }
    const { signal, accepts } = call
    const found = await repeated(
      {
        isRepeatable: isReading(endpoint) || key !== undefined,
        signal,
        accepts,
        token,
        wait,
        once: (bearer) => sendOnce(options, endpoint, parts, keyed, isRaw, bearer),
      },
      first,
    )
    if (isAccepted(found, call)) return found
    throw refusalOf(found)
  }
  return send
}

async function refusalWithoutToken(options: MatoolkitOptions): Promise<AdminApiError> {
  return refusalOf(await sendOnce(options, 'GET /api/me', {}, {}, false, null))
}

const isAccepted = ({ response }: Reply, { accepts }: RequestOptions): boolean =>
  response.ok || accepts?.includes(response.status) === true

const refusalOf = ({ response, text }: Reply): AdminApiError =>
  new AdminApiError(response.status, problemIn(text))

async function sendOnce(
  options: MatoolkitOptions,
  endpoint: Endpoint,
  parts: Parts,
  call: RequestOptions,
  isRaw: boolean,
  token: string | null,
): Promise<Reply> {
  const [method, path] = endpoint.split(' ') as [string, string]
  const { fetch: send = fetch, url, via } = options
  const { body } = parts
  const limit = timeLimit(isReading(endpoint) ? READ_TIMEOUT_MS : CHANGE_TIMEOUT_MS)
  try {
    const response = await send(`${url.replace(/\/+$/, '')}${pathAndQuery(path, parts)}`, {
      method,
      headers: headersOf(body, { via, ...call }, token),
      redirect: 'error',
      signal: call.signal ? AbortSignal.any([call.signal, limit.signal]) : limit.signal,
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
    const isLeft = isRaw && isAccepted({ response, text: null }, call)
    return { response, text: isLeft ? null : await response.text() }
  } catch (cause) {
    if (call.signal?.aborted) throw cause
    const detail = `The API at ${url} does not answer.`
    throw new AdminApiError(0, { code: 'UNREACHABLE', detail }, { cause })
  } finally {
    limit.end()
  }
}

function headersOf(body: unknown, call: RequestOptions, token: string | null): Headers {
  const headers = new Headers({ accept: call.accept ?? 'application/json' })
  const { ifMatch, idempotencyKey, via } = call
  if (token !== null) headers.set('authorization', `Bearer ${token}`)
  if (body !== undefined && !(body instanceof FormData)) {
    headers.set('content-type', 'application/json')
  }
  if (ifMatch) headers.set('if-match', ifMatch)
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
  if (via !== undefined) headers.set('x-matoolkit-via', via)
  return headers
}

/** Not AbortSignal.timeout, which would cut a stream that has begun. */
function timeLimit(ms: number): { readonly signal: AbortSignal; end(): void } {
  const control = new AbortController()
  const expired = new DOMException('The request timed out.', 'TimeoutError')
  const handle = setTimeout(() => control.abort(expired), ms)
  return { signal: control.signal, end: () => clearTimeout(handle) }
}

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
