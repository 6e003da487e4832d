// Microsoft Graph: addresses, quotas and the shape of its refusals. Reads and writes have their own pace, and invitations a third
// one, as Microsoft documents its limits for one app in one tenant.
import type { Clock } from '../../clock.ts'
import type { Json } from '../../domain/json.ts'
import {
  ApiError,
  type ErrorDetail,
  type JsonObject,
  type RestAnswer,
  type RestApi,
  type RestRequest,
} from './api.ts'
import { ApiClient, type ClientOptions, type RetryDecision, type ServiceRefusal } from './client.ts'
import type { HttpAnswer } from './http.ts'
import { Gate, PaceLimit } from './limits.ts'

/** Calls a second, all slots of this process together. */
export interface GraphQuota {
  readonly unitsPerSec: number
  readonly writesPerSec: number
  readonly invitationsPerSec: number
}

export type GraphOptions = Pick<
  ClientOptions,
  'clock' | 'token' | 'policy' | 'random' | 'timeout' | 'onThrottled'
> & {
  /** `https://graph.microsoft.com`, without a version. */
  readonly url: string
  readonly quota: GraphQuota
}

/** What Microsoft's own clients allow a request. */
const TIMEOUT_MS = 100_000
/** 999 items a page: a million objects. */
const PAGES_MAX = 1_000
/** After a rest, so many seconds' worth may go at once. */
const BURST_SEC = 4

export class Graph implements RestApi {
  readonly #url: string
  readonly #client: ApiClient
  readonly #units: PaceLimit
  readonly #writes: PaceLimit
  readonly #invitations: PaceLimit

  constructor({ url, quota, ...options }: GraphOptions) {
    this.#url = url.replace(/\/+$/, '')
    this.#units = paceOf(options.clock, quota.unitsPerSec)
    this.#writes = paceOf(options.clock, quota.writesPerSec)
    this.#invitations = paceOf(options.clock, quota.invitationsPerSec)
    this.#client = new ApiClient({
      ...options,
      service: 'Microsoft Graph',
      gate: new Gate(options.clock),
      timeoutMs: TIMEOUT_MS,
      readRefusal: readODataRefusal,
      verdictOf,
    })
  }

  call(request: RestRequest): Promise<RestAnswer> {
    const { path, version = 'v1.0', query = {} } = request
    return this.#send(`${this.#url}/${version}${path}${queryText(query)}`, request)
  }

  async *list(request: Omit<RestRequest, 'method' | 'body'>): AsyncGenerator<JsonObject> {
    let answer = await this.call({ ...request, method: 'GET' })
    for (let page = 1; ; page++) {
      const body = objectOf(answer.body)
      for (const item of Array.isArray(body.value) ? body.value : []) yield objectOf(item)
      const next = body['@odata.nextLink']
      if (typeof next !== 'string') return
      this.#requireOwn(next, page)
      answer = await this.#send(next, { ...request, method: 'GET' })
    }
  }

  urlOf(path: string): string {
    return `${this.#url}/v1.0${path}`
  }

  #send(url: string, request: RestRequest): Promise<RestAnswer> {
    const { method, body = null, headers = {}, signal, units = 1 } = request
    const isRead = request.isRead ?? method === 'GET'
    const isInvitation = request.path === '/invitations'
    return this.#client.call({
      method,
      url,
      body,
      headers,
      signal,
      isIdempotent: request.isIdempotent ?? (isRead || method !== 'POST'),
      pace: async () => {
        await this.#units.take(units, signal)
        if (!isRead) await this.#writes.take(1, signal)
        if (isInvitation) await this.#invitations.take(1, signal)
      },
    })
  }

  /** The token goes with the request: never to an address that only an answer named. */
  #requireOwn(next: string, page: number): void {
    if (page < PAGES_MAX && next.startsWith(`${this.#url}/`)) return
    const message = `Microsoft Graph gave a next page that is not followed: ${
      page < PAGES_MAX ? 'it is at another address' : `there were ${PAGES_MAX} before it`
    }.`
    throw new ApiError({ status: null, code: 'NextPageRefused', message })
  }
}

const paceOf = (clock: Clock, perSec: number): PaceLimit =>
  new PaceLimit(clock, { perSec, burst: Math.max(1, perSec * BURST_SEC) })

/** `$` stays readable, as in Microsoft's documentation. */
export function queryText(query: Readonly<Record<string, string>>): string {
  const parts = Object.entries(query).map(
    ([name, value]) =>
      `${encodeURIComponent(name).replaceAll('%24', '$')}=${encodeURIComponent(value)}`,
  )
  return parts.length > 0 ? `?${parts.join('&')}` : ''
}

export const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** The shape of errors in OData: Graph's, Key Vault's and many others'. */
export function readODataRefusal({ text }: HttpAnswer, body: Json): ServiceRefusal {
  const error = objectOf(objectOf(body).error)
  const details = Array.isArray(error.details) ? error.details.map(objectOf) : []
  return {
    code: textOf(error.code) || 'Unexplained',
    message: textOf(error.message) || text.slice(0, REASON_CHARS_MAX) || 'without a reason.',
    details: details.map(detailOf),
  }
}

const REASON_CHARS_MAX = 300

const detailOf = (detail: JsonObject): ErrorDetail => ({
  code: textOf(detail.code),
  target: typeof detail.target === 'string' ? detail.target : null,
  message: textOf(detail.message),
})

function verdictOf(status: number, { code }: ServiceRefusal): RetryDecision | null {
  // Two changes of one object at the same time: neither this one nor a part of it was done.
  return status === 409 && code === 'Directory_ConcurrencyViolation' ? 'again' : null
}
