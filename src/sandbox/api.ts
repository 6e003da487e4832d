// From a request to an answer: which API is meant, who calls, what goes wrong on purpose, what the tenant says, and the shape that
// API gives to it. Time passes only while a slow answer is waited for; everything a request changes, it changes in one go.
import type { Json, JsonObject } from '../domain/json.ts'
import type { CallIds, SandboxCall, SandboxResponse } from './call.ts'
import { controlAnswer } from './control.ts'
import { cmdletNameOf, invokeCommand } from './exchange/cmdlets.ts'
import type { Faults, InjectedFault } from './faults.ts'
import { GRAPH_ROUTES, type GraphRoute } from './graph/routes.ts'
import { guidOf, hashOf } from './identity.ts'
import { CmdletRefusal, cmdletErrorBody, GraphRefusal, graphErrorBody } from './refusal.ts'
import { type Signed, type TokenAudience, TokenService, unauthorised } from './token-service.ts'
import type { World } from './world.ts'

export interface Incoming {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** Null: the connection is to be cut without a word. */
export type Outgoing = SandboxResponse | null

const TOKEN_PATH = /^\/([^/]+)\/oauth2\/v2\.0\/token$/
const EXCHANGE_PATH = /^\/adminapi\/beta\/([^/]+)\/InvokeCommand$/i
const GRAPH_PATH = /^\/(v1\.0|beta)(\/.+)$/

interface Arrived {
  readonly incoming: Incoming
  readonly ids: CallIds
  readonly at: string
}

interface Asked extends Arrived {
  readonly api: TokenAudience
  readonly body: JsonObject
  readonly cmdlet: string | null
}

export class Apis {
  readonly #world: World
  readonly #faults: Faults
  readonly #signIn: TokenService
  /** Until when an API is closed to a tenant. */
  readonly #closedUntilMs = new Map<string, number>()
  #requests = 0

  constructor(world: World, faults: Faults) {
    this.#world = world
    this.#faults = faults
    this.#signIn = new TokenService(world)
  }

  async answer(incoming: Incoming, cut: AbortSignal): Promise<Outgoing> {
    const { pathname } = incoming.url
    if (pathname.startsWith('/_sandbox/')) {
      this.#world.settle(this.#world.clock.now())
      return controlAnswer(this.#world, this.#faults, incoming)
    }
    this.#requests += 1
    const ids = {
      requestId: guidOf('request', this.#requests),
      clientRequestId: incoming.headers['client-request-id'] ?? null,
    }
    const arrived = { incoming, ids, at: this.#world.clock.now().toISOString() }
    const tenantName = TOKEN_PATH.exec(pathname)?.[1]
    if (tenantName !== undefined) return this.#tokenAnswer(arrived, tenantName, cut)
    return this.#apiAnswer(arrived, EXCHANGE_PATH.test(pathname) ? 'exchange' : 'graph', cut)
  }

  async #tokenAnswer(arrived: Arrived, tenantName: string, cut: AbortSignal): Promise<Outgoing> {
    const { incoming, ids } = arrived
    const { method, url, text } = incoming
    const { clock } = this.#world
    const asked = { method, path: url.pathname, cmdlet: null, words: '', isApi: false }
    const fault = this.#faults.next(asked)
    if (fault?.kind === 'slow') await clock.wait(fault.delaySec * 1000, cut)
    const form = new URLSearchParams(text)
    const name = decoded(tenantName)
    const answer =
      fault === null || fault.kind === 'slow'
        ? this.#signIn.token(name, url, form, clock.now(), ids.requestId)
        : tokenFault(fault)
    this.#record(arrived, { cmdlet: null, tenantId: null, fault }, answer)
    return answer
  }

  async #apiAnswer(arrived: Arrived, api: TokenAudience, cut: AbortSignal): Promise<Outgoing> {
    const { incoming, ids } = arrived
    const body = bodyOf(incoming.text)
    const asked: Asked = {
      ...arrived,
      api,
      body: body ?? {},
      cmdlet: api === 'exchange' ? cmdletNameOf(body ?? {}) : null,
    }
    const { clock } = this.#world
    let signed: Signed | null = null
    let fault: InjectedFault | null = null
    let answer: Outgoing
    try {
      const { headers, url } = incoming
      signed = this.#signIn.check(headers.authorization, api, url.origin, clock.now())
      fault = this.#faultOf(asked, signed)
      if (fault?.kind === 'slow') await clock.wait(fault.delaySec * 1000, cut)
      if (body === null) throw unreadable()
      answer = this.#withFault(asked, signed, fault)
    } catch (error) {
      answer = this.#refused(asked, error)
    }
    const { cmdlet } = asked
    this.#record(arrived, { cmdlet, tenantId: signed?.tenant.id ?? null, fault }, answer)
    return answer && this.#withHeaders(answer, ids)
  }

  #faultOf({ incoming, api, cmdlet }: Asked, { tenant }: Signed): InjectedFault | null {
    const { method, url, text } = incoming
    const key = `${api} ${tenant.id}`
    const nowMs = +this.#world.clock.now()
    const leftMs = (this.#closedUntilMs.get(key) ?? 0) - nowMs
    if (leftMs > 0) return { kind: 'throttle', retryAfterSec: Math.ceil(leftMs / 1000) }
    const path = decoded(url.pathname)
    const words = `${url.pathname}${url.search}${hashOf(text)}`
    const fault = this.#faults.next({ method, path, cmdlet, words, isApi: true })
    if (fault?.kind === 'throttle') this.#closedUntilMs.set(key, nowMs + fault.retryAfterSec * 1000)
    return fault
  }

  #withFault(asked: Asked, signed: Signed, fault: InjectedFault | null): Outgoing {
    switch (fault?.kind) {
      case 'throttle':
        return throttled(asked.api, signed, fault.retryAfterSec)
      case 'error':
        throw new GraphRefusal(fault.status, ...SERVER_ERRORS[fault.status])
      case 'expired-token':
        this.#signIn.end(signed.token)
        throw unauthorised('Lifetime validation failed, the token is expired.')
      case 'drop-before':
        return null
      case 'drop-after':
        try {
          this.#handle(asked, signed)
        } catch (error) {
          if (!isRefusal(error)) throw error
        }
        return null
      default:
        return this.#handle(asked, signed)
    }
  }

  #handle(asked: Asked, signed: Signed): SandboxResponse {
    const now = this.#world.clock.now()
    this.#world.settle(now)
    const { incoming, ids, api, body } = asked
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
    if (api === 'graph') return graphAnswer(call)
    const named = EXCHANGE_PATH.exec(url.pathname)![1]!
    if (this.#world.tenant(decoded(named)) !== tenant)
      throw new GraphRefusal(403, 'Forbidden', 'The token is for another tenant.')
    return invokeCommand(call)
  }

  #refused({ api, ids }: Asked, error: unknown): SandboxResponse {
    const now = this.#world.clock.now()
    if (error instanceof CmdletRefusal) {
      const mark = `Ex${ids.requestId.slice(0, 6).toUpperCase()}`
      const headers = { 'x-exceptiontype': error.exception }
      return { status: error.status, headers, body: cmdletErrorBody(error, mark) }
    }
    if (!(error instanceof GraphRefusal)) throw error
    const { requestId } = ids
    const clientRequestId = ids.clientRequestId ?? requestId
    const date = now.toISOString().slice(0, 19)
    return {
      status: error.status,
      body: graphErrorBody(error, { date, requestId, clientRequestId }),
      ...(error.status === 401 ? { headers: challenge(api) } : {}),
    }
  }

  #withHeaders(answer: SandboxResponse, { requestId, clientRequestId }: CallIds): SandboxResponse {
    const ids = { 'request-id': requestId, 'client-request-id': clientRequestId ?? requestId }
    return { ...answer, headers: { ...ids, ...answer.headers } }
  }

  #record(
    { incoming: { method, url }, ids, at }: Arrived,
    {
      fault,
      ...rest
    }: { cmdlet: string | null; tenantId: string | null; fault: InjectedFault | null },
    answer: Outgoing,
  ): void {
    this.#world.journal.addRequest({
      at,
      method,
      path: `${url.pathname}${url.search}`,
      ...rest,
      status: answer?.status ?? null,
      fault: fault?.kind ?? null,
      ...ids,
    })
  }
}

function throttled(
  api: TokenAudience,
  { tenant, application }: Signed,
  retryAfterSec: number,
): SandboxResponse {
  const headers = { 'retry-after': String(retryAfterSec) }
  // Exchange says it in plain words, without JSON.
  if (api === 'exchange') return { status: 429, headers, body: CONCURRENCY_REACHED }
  return {
    status: 429,
    headers: {
      ...headers,
      'x-ms-throttle-scope': `Tenant_Application/ReadWrite/${application.clientId}/${tenant.id}`,
      'x-ms-throttle-information': 'ResourceUnitLimitExceeded',
    },
    body: {
      error: {
        code: 'TooManyRequests',
        message: 'Please retry again later.',
        innerError: { code: '429', status: '429' },
      },
    },
  }
}

const CONCURRENCY_REACHED =
  'You have reached the maximum number of concurrent requests per tenant. Please wait and try again'

const SERVER_ERRORS: Readonly<
  Record<500 | 502 | 503 | 504, readonly [code: string, message: string]>
> = {
  500: ['InternalServerError', 'An unexpected error occurred.'],
  502: ['BadGateway', 'The upstream service did not answer.'],
  503: ['ServiceUnavailable', 'The service is temporarily unavailable.'],
  504: ['GatewayTimeout', 'The upstream service did not answer in time.'],
}

const challenge = (api: TokenAudience): Record<string, string> => ({
  'www-authenticate': `Bearer realm="", authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize", client_id="${api}", error="invalid_token"`,
})

function tokenFault(fault: InjectedFault): Outgoing {
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

const isRefusal = (error: unknown): boolean =>
  error instanceof GraphRefusal || error instanceof CmdletRefusal

const unreadable = (): GraphRefusal =>
  new GraphRefusal(
    400,
    'BadRequest',
    'Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.',
  )

/** Null for what is no JSON object. */
function bodyOf(text: string): JsonObject | null {
  if (text === '') return {}
  try {
    const value = JSON.parse(text) as Json
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** A part whose escapes are broken stays as it is; nothing is called that. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function graphAnswer(call: SandboxCall): SandboxResponse {
  const [, version, path] = GRAPH_PATH.exec(call.url.pathname) ?? []
  const parts = (path ?? '').split('/').map(decoded)
  const there = GRAPH_ROUTES.map((route) => ({ route, params: paramsOf(route, parts) })).filter(
    ({ route, params }) => params !== null && (!route.isBeta || version === 'beta'),
  )
  if (there.length === 0) {
    throw new GraphRefusal(
      400,
      'BadRequest',
      `Resource not found for the segment '${parts.at(-1)}'.`,
    )
  }
  const found = there.find(({ route }) => route.method === call.method)
  if (!found)
    throw new GraphRefusal(
      405,
      'Request_BadRequest',
      'Specified HTTP method is not allowed for the request target.',
    )
  const { route, params } = found
  const { roles } = call.application
  if (roles !== null && !route.permissions.some((one) => roles.includes(one)))
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation.',
    )
  const answer = route.handle({ ...call, params: params! })
  const headers = { 'x-ms-resource-unit': String(route.units ?? 1), ...answer.headers }
  return { ...answer, headers }
}

/** What the parts in braces are in this path; null when the route is another. */
function paramsOf(route: GraphRoute, given: readonly string[]): Record<string, string> | null {
  const wanted = route.path.split('/')
  if (wanted.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [at, part] of wanted.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name !== undefined) params[name] = given[at]!
    else if (given[at]!.toLowerCase() !== part.toLowerCase()) return null
  }
  return params
}
