// Microsoft Graph: URLs, quotas and the shape of its errors. Reads, writes and invitations have separate rates, as Microsoft
// documents its limits per app and tenant; each service behind it has a quota of its own.
import type { Clock } from '../../base/run/clock.ts'
import type { JsonObject } from '../../base/text/json.ts'
import {
  ApiError,
  queryText,
  type RestApi,
  type RestRequest,
  type RestResponse,
} from '../../worker/http/api.ts'
import {
  ApiClient,
  type ClientOptions,
  type RetryDecision,
  type ServiceRefusal,
} from '../../worker/http/client.ts'
import { PaceLimit } from '../../worker/http/limits.ts'
import { objectOf, readODataRefusal } from '../../worker/http/refusal.ts'
import type { ThrottleOptions, ThrottleState } from '../../worker/http/throttle.ts'
import { GraphWorkloads } from './graph-workloads.ts'

/** Calls per second, shared by all slots of this process. */
export interface GraphQuota {
  readonly unitsPerSec: number
  readonly writesPerSec: number
  readonly invitationsPerSec: number
}

export type GraphOptions = Pick<
  ClientOptions,
  'clock' | 'token' | 'policy' | 'random' | 'timeout' | 'onAnswer' | 'send'
> &
  Pick<ThrottleOptions, 'isAdaptive' | 'onGate'> & {
    /** `https://graph.microsoft.com`, without a version. */
    readonly url: string
    readonly quota: GraphQuota
    /** Processes that share the app's quotas; default: 1. */
    readonly replicas?: number
  }

/** The timeout of Microsoft's own clients. */
const TIMEOUT_MS = 100_000
/** 999 items a page: a million objects. */
const PAGES_MAX = 1_000
/** After a pause, this many seconds' worth of calls may go at once. */
const BURST_SEC = 4

export class Graph implements RestApi {
  readonly #url: string
  readonly #client: ApiClient
  readonly #workloads: GraphWorkloads
  readonly #units: PaceLimit
  readonly #writes: PaceLimit
  readonly #invitations: PaceLimit

  constructor({ url, quota, replicas = 1, isAdaptive = true, onGate, ...options }: GraphOptions) {
    const { clock } = options
    this.#workloads = new GraphWorkloads({
      clock,
      replicas,
      isAdaptive,
      ...(onGate ? { onGate } : {}),
    })
    this.#url = url.replace(/\/+$/, '')
    this.#units = paceOf(options.clock, quota.unitsPerSec)
    this.#writes = paceOf(options.clock, quota.writesPerSec)
    this.#invitations = paceOf(options.clock, quota.invitationsPerSec)
    this.#client = new ApiClient({
      ...options,
      service: 'Microsoft Graph',
      throttle: this.#workloads.of('/'),
      timeoutMs: TIMEOUT_MS,
      readRefusal: readODataRefusal,
      decideRetry,
    })
  }

  call(request: RestRequest): Promise<RestResponse> {
    const { path, version = 'v1.0', query = {} } = request
    return this.#send(`${this.#url}/${version}${path}${queryText(query)}`, request)
  }

  async *list(request: Omit<RestRequest, 'method' | 'body'>): AsyncGenerator<JsonObject> {
    let response = await this.call({ ...request, method: 'GET' })
    for (let page = 1; ; page++) {
      const body = objectOf(response.body)
      for (const item of Array.isArray(body.value) ? body.value : []) yield objectOf(item)
      const next = body['@odata.nextLink']
      if (typeof next !== 'string') return
      this.#requireOwnHost(next, page)
      response = await this.#send(next, { ...request, method: 'GET' })
    }
  }

  throttles(): ThrottleState[] {
    return this.#workloads.states()
  }

  urlOf(path: string): string {
    return `${this.#url}/v1.0${path}`
  }

  #send(url: string, request: RestRequest): Promise<RestResponse> {
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
      isRead,
      throttle: this.#workloads.of(request.path),
      pace: async () => {
        await this.#units.take(units, signal)
        if (!isRead) await this.#writes.take(1, signal)
        if (isInvitation) await this.#invitations.take(1, signal)
      },
    })
  }

  /** Each request carries the token, so a page link to another host is refused. */
  #requireOwnHost(next: string, page: number): void {
    if (page < PAGES_MAX && next.startsWith(`${this.#url}/`)) return
    const message = `Microsoft Graph returned a next page that is not followed: ${
      page < PAGES_MAX ? 'it is on another host' : `${PAGES_MAX} pages came before it`
    }.`
    throw new ApiError({ status: null, code: 'NextPageRefused', message })
  }
}

const paceOf = (clock: Clock, perSec: number): PaceLimit =>
  new PaceLimit(clock, { perSec, burst: Math.max(1, perSec * BURST_SEC) })

function decideRetry(status: number, { code }: ServiceRefusal): RetryDecision | null {
  // Two concurrent changes of one object: nothing of this one was done.
  return status === 409 && code === 'Directory_ConcurrencyViolation' ? 'again' : null
}
