// Access tokens: from Microsoft Entra ID with a client secret, from the managed identity of the machine, from Databricks' own
// OAuth. Kept until shortly before they end, asked for once however many wait for the same one, and never written anywhere.
import type { Clock } from '../../clock.ts'
import { messageOf } from '../../errors.ts'
import { SourceFault } from './fault.ts'

export type TokenRequest =
  | {
      readonly from: 'entra'
      readonly tenantId: string
      readonly clientId: string
      readonly secret: string
      readonly scope: string
    }
  | { readonly from: 'machine'; readonly clientId: string | null; readonly scope: string }
  | {
      readonly from: 'databricks'
      /** `https://…`, without a path. */
      readonly host: string
      readonly clientId: string
      readonly secret: string
    }

export interface Tokens {
  /** A token that is good for some minutes at least. Throws a SourceFault. */
  get(request: TokenRequest): Promise<string>
}

export interface TokenEndpoints {
  readonly entra: string
  /** The metadata service of Azure's virtual machines, unless `identity` is there. */
  readonly machine: string
  /** What Azure Container Apps and App Service say in IDENTITY_ENDPOINT and IDENTITY_HEADER. */
  readonly identity: { readonly url: string; readonly header: string } | null
}

export const AZURE_ENDPOINTS: TokenEndpoints = {
  entra: 'https://login.microsoftonline.com',
  machine: 'http://169.254.169.254/metadata/identity/oauth2/token',
  identity: null,
}

/** Tokens live 60 to 90 minutes; a query that starts with one must also end with it. */
const EARLY_MS = 300_000
const ANSWER_TIMEOUT_MS = 20_000
const LIFE_WHEN_UNSAID_SEC = 600

interface Held {
  readonly token: string
  readonly renewAtMs: number
  readonly endsAtMs: number
}

export function makeTokens(clock: Clock, endpoints: TokenEndpoints = AZURE_ENDPOINTS): Tokens {
  const held = new Map<string, Held>()
  const asked = new Map<string, Promise<Held>>()
  const renew = (key: string, request: TokenRequest): Promise<Held> => {
    const running = asked.get(key)
    if (running) return running
    const asking = askFor(request, endpoints, clock).then((fresh) => {
      held.set(key, fresh)
      return fresh
    })
    asked.set(key, asking)
    const forget = () => void asked.delete(key)
    asking.then(forget, forget)
    return asking
  }
  return {
    get: async (request) => {
      const key = JSON.stringify(request)
      const last = held.get(key)
      const nowMs = +clock.now()
      if (last && nowMs < last.renewAtMs) return last.token
      try {
        return (await renew(key, request)).token
      } catch (error) {
        // It was asked early for this: a sign-in service that is down for a minute stops nobody.
        if (last && +clock.now() < last.endsAtMs) return last.token
        throw error
      }
    },
  }
}

interface Call {
  readonly url: string
  readonly init: RequestInit
  /** Whom sentences call the one that was asked. */
  readonly who: string
}

async function askFor(
  request: TokenRequest,
  endpoints: TokenEndpoints,
  clock: Clock,
): Promise<Held> {
  const { url, init, who } = callOf(request, endpoints)
  const askedAtMs = +clock.now()
  let response: Response
  let body: unknown
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    response = await fetch(url, { ...init, signal, redirect: 'error' })
    body = await response.json().catch(() => null)
  } catch (error) {
    throw new SourceFault('unreachable', `${who} does not answer: ${causeOf(error)}`, error)
  }
  const answer = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (typeof answer.access_token === 'string' && response.ok)
    return heldFrom(answer, answer.access_token, askedAtMs)
  const isBusy = response.status === 429 || response.status >= 500
  const said = String(answer.error_description ?? answer.error ?? 'without a reason')
  // Entra's description goes on with trace ids and a time, line by line.
  const reason = `${who} answered ${response.status}: ${said.split(/\r?\n/)[0]}`
  throw new SourceFault(isBusy ? 'unreachable' : 'sign_in', reason)
}

function heldFrom(answer: Record<string, unknown>, token: string, askedAtMs: number): Held {
  // App Service says only when it ends, in seconds since 1970; the others say how long it lives. Some write numbers as text.
  const endsAtSec = Number(answer.expires_on ?? Number.NaN)
  const livesSec = Number(answer.expires_in ?? endsAtSec - askedAtMs / 1000)
  const lifeMs = (livesSec > 0 ? livesSec : LIFE_WHEN_UNSAID_SEC) * 1000
  return {
    token,
    endsAtMs: askedAtMs + lifeMs,
    renewAtMs: askedAtMs + lifeMs - Math.min(EARLY_MS, lifeMs / 2),
  }
}

function callOf(request: TokenRequest, endpoints: TokenEndpoints): Call {
  switch (request.from) {
    case 'entra': {
      const { tenantId, clientId, secret, scope } = request
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: secret,
        scope,
      })
      const url = `${endpoints.entra}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`
      return { url, init: { method: 'POST', body }, who: 'Microsoft Entra ID' }
    }
    case 'databricks': {
      const { host, clientId, secret } = request
      const basic = Buffer.from(`${clientId}:${secret}`).toString('base64')
      const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'all-apis' })
      const headers = { authorization: `Basic ${basic}` }
      const url = `${host}/oidc/v1/token`
      return { url, init: { method: 'POST', body, headers }, who: "Databricks' sign-in" }
    }
    case 'machine':
      return callOfMachine(request.clientId, request.scope, endpoints)
  }
}

function callOfMachine(clientId: string | null, scope: string, endpoints: TokenEndpoints): Call {
  const { identity, machine } = endpoints
  const url = new URL(identity?.url ?? machine)
  url.searchParams.set('api-version', identity ? '2019-08-01' : '2018-02-01')
  url.searchParams.set('resource', scope.replace(/\/\.default$/, ''))
  if (clientId !== null) url.searchParams.set('client_id', clientId)
  const headers: Record<string, string> = identity
    ? { 'x-identity-header': identity.header }
    : { metadata: 'true' }
  return { url: url.href, init: { headers }, who: "The machine's managed identity" }
}

/** `fetch failed` says nothing; what failed is in its cause. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof AggregateError && cause.message === '') return messageOf(cause.errors[0])
  return messageOf(cause ?? error)
}
