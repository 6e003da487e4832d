// One request to the API. A refusal becomes an ApiError with the API's own code and sentence; an API that does not answer one with the
// code UNREACHABLE.
import { pathAndQuery } from '../../../src/api/client/address.ts'
import { AdminApiError as ApiError, problemIn } from '../../../src/api/client/api-error.ts'
import { accessToken, forgetSession } from '../sign-in/session.ts'
import type { Answer, Endpoint, RequestOf } from './routes.ts'
import { followServerClock } from './server-clock.ts'

export { AdminApiError as ApiError } from '../../../src/api/client/api-error.ts'

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** The state that the person saw: a change is refused when it is another by now. */
  readonly ifMatch?: string | undefined
  /** Makes a repeated request harmless. */
  readonly idempotencyKey?: string | undefined
  readonly accept?: string | undefined
}

interface Parts {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
}

export async function call<E extends Endpoint>(
  endpoint: E,
  given: RequestOf<E>,
  options: CallOptions = {},
): Promise<Answer<E>> {
  const answer = await request(endpoint, given as Parts, options)
  return (await answer.json()) as Answer<E>
}

/** For streams, files and state tags: the whole answer. */
export async function request(
  endpoint: Endpoint,
  parts: Parts,
  options: CallOptions,
): Promise<Response> {
  const [method, path] = endpoint.split(' ') as [string, string]
  const { body } = parts
  const isForm = body instanceof FormData
  const headers = new Headers({ accept: options.accept ?? 'application/json' })
  const token = await accessToken()
  if (token !== null) headers.set('authorization', `Bearer ${token}`)
  if (body !== undefined && !isForm) headers.set('content-type', 'application/json')
  if (options.ifMatch !== undefined) headers.set('if-match', options.ifMatch)
  if (options.idempotencyKey !== undefined) headers.set('idempotency-key', options.idempotencyKey)
  const answer = await fetchOrExplain(addressOf(path, parts), {
    method,
    headers,
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    ...(options.signal && { signal: options.signal }),
  })
  followServerClock(answer.headers)
  if (answer.ok) return answer
  if (answer.status === 401) forgetSession()
  throw new ApiError(answer.status, await problemIn(answer))
}

async function fetchOrExplain(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init)
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiError(0, {
      code: 'UNREACHABLE',
      detail: 'The API does not answer. What you see may be out of date.',
    })
  }
}

/** Relative: the page may be shown under a path of a proxy. An empty filter is none. */
export function addressOf(path: string, { params, query = {} }: Parts): string {
  const chosen = Object.entries(query).filter(([, value]) => value !== '')
  const found = pathAndQuery(path, { params, query: Object.fromEntries(chosen) })
  return new URL(`.${found}`, document.baseURI).href
}
