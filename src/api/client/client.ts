// The client of the admin API, which is also a package of its own (`matoolkit-client`): typed by the table of routes, on `fetch` alone, for Node 20 and
// browsers. The command line and the dashboard are built on it too.
import { AdminApiError } from './api-error.ts'
import { WITHOUT_LIMIT } from './endpoint-kinds.ts'
import type { Answer, Endpoint, ListEndpoint, ListedRow, RequestOf } from './endpoints.ts'
import { listIn, partOf } from './pages.ts'
import type { Reply } from './repeat.ts'
import {
  type MatoolkitOptions,
  type Parts,
  type RequestOptions,
  type Send,
  transport,
} from './transport.ts'

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
export type { MatoolkitOptions, RequestOptions } from './transport.ts'

type Arguments<E extends Endpoint> =
  Record<string, never> extends RequestOf<E>
    ? [given?: RequestOf<E>, options?: RequestOptions | undefined]
    : [given: RequestOf<E>, options?: RequestOptions | undefined]

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

type Passed = [parts?: Parts | undefined, call?: RequestOptions | undefined]

export const matoolkit = (options: MatoolkitOptions): MatoolkitClient =>
  clientOver(transport(options))

/** A client whose requests go through `send`. */
export function clientOver(send: Send): MatoolkitClient {
  const whole = (endpoint: Endpoint, [parts = {}, call = {}]: Passed) =>
    send(endpoint, parts, call, false)
  return {
    call: async (endpoint, ...given) => bodyOf(await whole(endpoint, given as Passed)),
    tagged: async (endpoint, ...given) => {
      const found = await whole(endpoint, given as Passed)
      return { answer: bodyOf(found), etag: found.response.headers.get('etag') }
    },
    each: (endpoint, ...given) => {
      const [first = {} as RequestOf<typeof endpoint>, call] = given
      const rows = WITHOUT_LIMIT.has(endpoint) ? null : PAGE_ROWS
      return rowsOf(async (part) => bodyOf(await whole(endpoint, [part, call])), first, rows)
    },
    raw: async (endpoint, ...given) => {
      const [parts = {}, call = {}] = given as Passed
      return (await send(endpoint, parts, call, true)).response
    },
  }
}

const PAGE_ROWS = 500

async function* rowsOf<E extends ListEndpoint>(
  page: (given: RequestOf<E>) => Promise<Answer<E>>,
  given: RequestOf<E>,
  limit: number | null,
): AsyncGenerator<ListedRow<E>, void, void> {
  let cursor: string | null = null
  do {
    const found: Answer<E> & { readonly next: string | null } = await page(
      partOf(given, limit, cursor),
    )
    yield* listIn(found)[1]
    cursor = found.next
  } while (cursor !== null)
}

/** What is said to be JSON is read as JSON; anything else is a text. */
function bodyOf<T>({ response, text }: Reply): T {
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  try {
    return (isJson ? JSON.parse(text!) : text) as T
  } catch (cause) {
    const detail = 'The answer of the API is broken.'
    throw new AdminApiError(response.status, { detail }, { cause })
  }
}
