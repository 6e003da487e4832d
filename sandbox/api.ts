// From request to response: API, caller, injected fault, the tenant's response, and its shape on the wire. Only a slow fault
// takes time; a request's changes happen at once.

import type { CallIds, SandboxCall, SandboxResponse } from './call.ts'
import { controlResponse } from './control.ts'
import { discoveryResponse } from './discovery.ts'
import { cmdletNameOf, invokeCommand } from './exchange/cmdlets.ts'
import type { Faults, InjectedFault } from './faults.ts'
import { graphResponse } from './graph/dispatch.ts'
import { guidOf, hashOf } from './identity.ts'
import type { Json, JsonObject } from './json.ts'
import { decoded } from './path.ts'
import {
  type Admission,
  type ExceededQuota,
  QuotaUse,
  type Workload,
  workloadOf,
} from './quotas.ts'
import { CmdletRefusal, cmdletErrorBody, GraphRefusal, graphRefusalResponse } from './refusal.ts'
import {
  type SignedInCaller,
  type TokenAudience,
  TokenService,
  unauthorised,
} from './token-service.ts'
import type { World } from './world.ts'

export interface IncomingRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** Null cuts the connection without a response. */
export type OutgoingResponse = SandboxResponse | null

const TOKEN_PATH = /^\/([^/]+)\/oauth2\/v2\.0\/token$/
const EXCHANGE_PATH = /^\/adminapi\/beta\/([^/]+)\/InvokeCommand$/i

interface ReceivedRequest {
  readonly incoming: IncomingRequest
  readonly ids: CallIds
  readonly at: string
}

interface ApiRequest extends ReceivedRequest {
  readonly api: TokenAudience
  readonly body: JsonObject
  readonly cmdlet: string | null
}

export class SandboxApis {
  readonly #world: World
  readonly #faults: Faults
  readonly #signIn: TokenService
  readonly #controlToken: string
  readonly #use = new QuotaUse()
  /** When each throttled workload reopens for a tenant. */
  readonly #closedUntilMs = new Map<string, number>()
  #requests = 0

  constructor(world: World, faults: Faults, controlToken: string) {
    this.#controlToken = controlToken
    this.#world = world
    this.#faults = faults
    this.#signIn = new TokenService(world)
  }

  async respond(incoming: IncomingRequest, aborted: AbortSignal): Promise<OutgoingResponse> {
    const { pathname } = incoming.url
    if (pathname.startsWith('/_sandbox/')) {
      this.#world.advance(this.#world.clock.now())
      return controlResponse(this.#world, this.#faults, incoming, this.#controlToken)
    }
    const discovered = discoveryResponse(incoming.url, (name) => this.#world.tenant(name))
    if (discovered) return discovered
    this.#requests += 1
    const ids = {
      requestId: guidOf('request', this.#requests),
      clientRequestId: incoming.headers['client-request-id'] ?? null,
    }
    const received = { incoming, ids, at: this.#world.clock.now().toISOString() }
    const tenantName = TOKEN_PATH.exec(pathname)?.[1]
    if (tenantName !== undefined) return this.#tokenResponse(received, tenantName, aborted)
    return this.#apiResponse(received, EXCHANGE_PATH.test(pathname) ? 'exchange' : 'graph', aborted)
  }

  async #tokenResponse(
    received: ReceivedRequest,
    tenantName: string,
    aborted: AbortSignal,
  ): Promise<OutgoingResponse> {
    const { incoming, ids } = received
    const { method, url, text } = incoming
    const { clock } = this.#world
    const request = { method, path: url.pathname, cmdlet: null, words: '', isApi: false }
    const fault = this.#faults.next(request)
    if (fault?.kind === 'slow') await clock.wait(fault.delaySec * 1000, aborted)
    const form = new URLSearchParams(text)
    const name = decoded(tenantName)
    const response =
      fault === null || fault.kind === 'slow'
        ? this.#signIn.token(name, url, form, clock.now(), ids.requestId)
        : tokenFault(fault)
    this.#record(received, { cmdlet: null, tenantId: null, fault }, response)
    return response
  }

  async #apiResponse(
    received: ReceivedRequest,
    api: TokenAudience,
    aborted: AbortSignal,
  ): Promise<OutgoingResponse> {
    const { incoming, ids } = received
    const body = bodyOf(incoming.text)
    const request: ApiRequest = {
      ...received,
      api,
      body: body ?? {},
      cmdlet: api === 'exchange' ? cmdletNameOf(body ?? {}) : null,
    }
    const { clock } = this.#world
    let signed: SignedInCaller | null = null
    let fault: InjectedFault | null = null
    let response: OutgoingResponse
    let admission: Admission | null = null
    try {
      const { headers, url } = incoming
      signed = this.#signIn.check(headers.authorization, api, url.origin, clock.now())
      fault = this.#faultOf(request, signed)
      if (fault === null || fault.kind === 'slow') {
        admission = this.#admit(request, signed)
        if ('exceeded' in admission) fault = { kind: 'throttle', ...this.#retryAfter() }
      }
      const takesSec = this.#takesSec(fault)
      if (takesSec > 0) await clock.wait(takesSec * 1000, aborted)
      if (body === null) throw unreadable()
      const exceeded = admission && 'exceeded' in admission ? admission.exceeded : null
      response = this.#withFault(request, signed, fault, exceeded)
    } catch (error) {
      response = this.#refused(request, signed, error)
    } finally {
      if (admission && 'leave' in admission) admission.leave()
    }
    if (response && admission && 'charge' in admission)
      response = { ...response, headers: { ...admission.charge(response), ...response.headers } }
    const { cmdlet } = request
    this.#record(received, { cmdlet, tenantId: signed?.tenant.id ?? null, fault }, response)
    return response && this.#withHeaders(response, ids)
  }

  #admit({ incoming, api }: ApiRequest, { tenant }: SignedInCaller): Admission {
    const path = decoded(incoming.url.pathname)
    const { method } = incoming
    const call = { workload: workloadOf(api, path), tenantId: tenant.id, method, path }
    return this.#use.admit(call, this.#faults.settings.quotas, this.#world.clock.now())
  }

  #retryAfter(): { readonly retryAfterSec: number } {
    const { retryAfterSec } = this.#faults.settings.quotas
    return { retryAfterSec }
  }

  /** A refusal comes at once. */
  #takesSec(fault: InjectedFault | null): number {
    const { callSec } = this.#faults.settings.quotas
    if (fault?.kind === 'slow') return fault.delaySec + callSec
    return fault === null ? callSec : 0
  }

  #faultOf(
    { incoming, api, cmdlet }: ApiRequest,
    { tenant }: SignedInCaller,
  ): InjectedFault | null {
    const { method, url, text } = incoming
    const path = decoded(url.pathname)
    const key = `${workloadOf(api, path)} ${tenant.id}`
    const nowMs = +this.#world.clock.now()
    const leftMs = (this.#closedUntilMs.get(key) ?? 0) - nowMs
    if (leftMs > 0) return { kind: 'throttle', retryAfterSec: Math.ceil(leftMs / 1000) }
    const words = `${url.pathname}${url.search}${hashOf(text)}`
    const fault = this.#faults.next({ method, path, cmdlet, words, isApi: true })
    if (fault?.kind === 'throttle') this.#closedUntilMs.set(key, nowMs + fault.retryAfterSec * 1000)
    return fault
  }

  #withFault(
    request: ApiRequest,
    signed: SignedInCaller,
    fault: InjectedFault | null,
    exceeded: ExceededQuota | null,
  ): OutgoingResponse {
    switch (fault?.kind) {
      case 'throttle': {
        const workload = workloadOf(request.api, decoded(request.incoming.url.pathname))
        return throttled(workload, exceeded ?? 'units', signed, fault.retryAfterSec)
      }
      case 'error':
        throw new GraphRefusal(fault.status, ...SERVER_ERRORS[fault.status])
      case 'expired-token':
        this.#signIn.end(signed.token)
        throw unauthorised('Lifetime validation failed, the token is expired.')
      case 'drop-before':
        return null
      case 'drop-after':
        this.#handleUnheard(request, signed)
        return null
      case 'error-after':
        this.#handleUnheard(request, signed)
        throw new GraphRefusal(fault.status, ...SERVER_ERRORS[fault.status])
      default:
        return this.#handle(request, signed)
    }
  }

  /** The caller does not learn how it ended. */
  #handleUnheard(request: ApiRequest, signed: SignedInCaller): void {
    try {
      this.#handle(request, signed)
    } catch (error) {
      if (!isRefusal(error)) throw error
    }
  }

  #handle(request: ApiRequest, signed: SignedInCaller): SandboxResponse {
    const now = this.#world.clock.now()
    this.#world.advance(now)
    const { incoming, ids, api, body } = request
    const { method, url, headers } = incoming
    const { tenant, application } = signed
    const call: SandboxCall = {
      world: this.#world,
      tenant,
      application,
      method,
      url,
      headers,
      body,
      now,
      params: {},
      ids,
    }
    if (api === 'graph') return graphResponse(call)
    const named = EXCHANGE_PATH.exec(url.pathname)![1]!
    if (this.#world.tenant(decoded(named)) !== tenant)
      throw new GraphRefusal(403, 'Forbidden', 'The token is for another tenant.')
    return invokeCommand(call)
  }

  #refused(request: ApiRequest, signed: SignedInCaller | null, error: unknown): SandboxResponse {
    const { api, ids } = request
    const now = this.#world.clock.now()
    const recorded = isRefusal(error) && signed ? this.#recorded(request, signed, error) : null
    if (recorded) return recorded
    if (error instanceof CmdletRefusal) {
      const mark = `Ex${ids.requestId.slice(0, 6).toUpperCase()}`
      const headers = error.exception === '' ? {} : { 'x-exceptiontype': error.exception }
      return { status: error.status, headers, body: cmdletErrorBody(error, mark) }
    }
    if (!(error instanceof GraphRefusal)) throw error
    const response = graphRefusalResponse(error, now, ids)
    return error.status === 401 ? { ...response, headers: challenge(api) } : response
  }

  /** The "not found" of a recorded tenant. */
  #recorded(
    { incoming, cmdlet }: ApiRequest,
    { tenant }: SignedInCaller,
    { missing }: Refusal,
  ): SandboxResponse | null {
    const { replay } = this.#world
    if (replay === null || missing === null) return null
    const { method, url } = incoming
    const call = cmdlet ?? `${method} ${url.pathname.replace(/^\/(?:v1\.0|beta)/, '')}`
    return replay.missing({ call, identity: missing, organization: tenant.initialDomain })
  }

  #withHeaders(
    response: SandboxResponse,
    { requestId, clientRequestId }: CallIds,
  ): SandboxResponse {
    const ids = { 'request-id': requestId, 'client-request-id': clientRequestId ?? requestId }
    return { ...response, headers: { ...ids, ...response.headers } }
  }

  #record(
    { incoming: { method, url }, ids, at }: ReceivedRequest,
    {
      fault,
      ...rest
    }: { cmdlet: string | null; tenantId: string | null; fault: InjectedFault | null },
    response: OutgoingResponse,
  ): void {
    this.#world.journal.addRequest({
      at,
      method,
      path: `${url.pathname}${url.search}`,
      ...rest,
      status: response?.status ?? null,
      fault: fault?.kind ?? null,
      ...ids,
    })
  }
}

function throttled(
  workload: Workload,
  exceeded: ExceededQuota,
  { tenant, application }: SignedInCaller,
  retryAfterSec: number,
): SandboxResponse {
  const headers = { 'retry-after': String(retryAfterSec) }
  const refused = (code: string, message: string, more: Record<string, string> = {}) => ({
    status: 429,
    headers: { ...headers, ...more },
    body: { error: { code, message, innerError: { code: '429', status: '429' } } },
  })
  // Exchange sends plain text instead of JSON.
  if (workload === 'exchange') return { status: 429, headers, body: CONCURRENCY_REACHED }
  if (workload.startsWith('mail '))
    return refused('ApplicationThrottled', MAILBOX_CONCURRENCY_REACHED)
  if (workload === 'invitations') return refused('TooManyRequests', RETRY_LATER)
  const [limit, information] =
    exceeded === 'writes'
      ? ['Write', 'WriteLimitExceeded']
      : ['ReadWrite', 'ResourceUnitLimitExceeded']
  return refused('TooManyRequests', RETRY_LATER, {
    'x-ms-throttle-scope': `Tenant_Application/${limit}/${application.clientId}/${tenant.id}`,
    'x-ms-throttle-information': information,
  })
}

const RETRY_LATER = 'Please retry again later.'
const MAILBOX_CONCURRENCY_REACHED = 'Application is over its MailboxConcurrency limit.'
const CONCURRENCY_REACHED =
  'You have reached the maximum number of concurrent requests per tenant. Please wait and try again'

const SERVER_ERRORS: Readonly<
  Record<429 | 500 | 502 | 503 | 504, readonly [code: string, message: string]>
> = {
  429: ['TooManyRequests', 'Too many requests.'],
  500: ['InternalServerError', 'An unexpected error occurred.'],
  502: ['BadGateway', 'The upstream service did not answer.'],
  503: ['ServiceUnavailable', 'The service is temporarily unavailable.'],
  504: ['GatewayTimeout', 'The upstream service did not answer in time.'],
}

const challenge = (api: TokenAudience): Record<string, string> => ({
  'www-authenticate': `Bearer realm="", authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize", client_id="${api}", error="invalid_token"`,
})

function tokenFault(fault: InjectedFault): OutgoingResponse {
  if (fault.kind === 'throttle')
    return {
      status: 429,
      headers: { 'retry-after': String(fault.retryAfterSec) },
      body: { error: 'temporarily_unavailable', error_description: 'AADSTS90055: Server is busy.' },
    }
  if (fault.kind !== 'error') return null
  return {
    status: fault.status,
    body: {
      error: 'temporarily_unavailable',
      error_description: 'AADSTS90033: A transient error has occurred.',
    },
  }
}

type Refusal = GraphRefusal | CmdletRefusal
const isRefusal = (error: unknown): error is Refusal =>
  error instanceof GraphRefusal || error instanceof CmdletRefusal

const unreadable = (): GraphRefusal =>
  new GraphRefusal(
    400,
    'BadRequest',
    'Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.',
  )

/** Null unless it is a JSON object. */
function bodyOf(text: string): JsonObject | null {
  if (text === '') return {}
  try {
    const value = JSON.parse(text) as Json
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
