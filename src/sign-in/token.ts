// Access tokens from Microsoft Entra ID (by secret, certificate or federated identity), from the managed identity of the
// machine, and from Databricks OAuth. Tokens are cached until shortly before they expire, requested once for all waiting
// callers, and never written anywhere.
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import { assertionOf, type SigningCertificate } from './certificate.ts'

interface App {
  readonly from: 'entra'
  readonly tenantId: string
  readonly clientId: string
  readonly scope: string
}

export type TokenRequest =
  | (App & { readonly secret: string })
  | (App & { readonly certificate: SigningCertificate })
  /** The app trusts a managed identity of this machine (a federated credential); null is the system-assigned one. */
  | (App & { readonly federatedWith: { readonly clientId: string | null } })
  | { readonly from: 'machine'; readonly clientId: string | null; readonly scope: string }
  | {
      readonly from: 'databricks'
      /** `https://…`, without a path. */
      readonly host: string
      readonly clientId: string
      readonly secret: string
    }

export interface Tokens {
  /**
   * A token valid for some minutes at least. Throws SignInFault. `refused` is a token that a service rejected: it is not
   * returned again, and all callers that pass it share one new request.
   */
  get(request: TokenRequest, refused?: string): Promise<string>
}

/** `unreachable`: no response, may work later. `sign_in`: refused. */
export class SignInFault extends Error {
  override readonly name = 'SignInFault'
  readonly kind: 'unreachable' | 'sign_in'

  constructor(kind: SignInFault['kind'], reason: string, cause?: unknown) {
    super(reason, { cause })
    this.kind = kind
  }
}

export interface TokenEndpoints {
  readonly entra: string
  /** Metadata service of Azure virtual machines, used unless `identity` is set. */
  readonly machine: string
  /** From IDENTITY_ENDPOINT and IDENTITY_HEADER, as Azure Container Apps and App Service set them. */
  readonly identity: { readonly url: string; readonly header: string } | null
}

export const AZURE_ENDPOINTS: TokenEndpoints = {
  entra: 'https://login.microsoftonline.com',
  machine: 'http://169.254.169.254/metadata/identity/oauth2/token',
  identity: null,
}

/** Tokens live 60 to 90 minutes; a query must end within the life of its token. */
const EARLY_MS = 300_000
const RESPONSE_TIMEOUT_MS = 20_000
const DEFAULT_LIFE_SEC = 600
/** The token scope for federated credentials. */
const FEDERATION_SCOPE = 'api://AzureADTokenExchange/.default'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

interface CachedToken {
  readonly token: string
  readonly renewAtMs: number
  readonly endsAtMs: number
}

export function makeTokens(clock: Clock, endpoints: TokenEndpoints = AZURE_ENDPOINTS): Tokens {
  const cached = new Map<string, CachedToken>()
  const pending = new Map<string, Promise<CachedToken>>()
  const renew = (key: string, request: TokenRequest): Promise<CachedToken> => {
    const running = pending.get(key)
    if (running) return running
    const requested = requestToken(request, endpoints, clock).then((fresh) => {
      cached.set(key, fresh)
      return fresh
    })
    pending.set(key, requested)
    const forget = () => void pending.delete(key)
    requested.then(forget, forget)
    return requested
  }
  return {
    get: async (request, refused) => {
      const key = keyOf(request)
      const last = cached.get(key)
      const isUsable = last !== undefined && last.token !== refused
      if (isUsable && +clock.now() < last.renewAtMs) return last.token
      try {
        return (await renew(key, request)).token
      } catch (error) {
        // Renewal starts early for this case: a short outage of the sign-in stops nobody.
        if (isUsable && +clock.now() < last.endsAtMs) return last.token
        throw error
      }
    },
  }
}

const keyOf = (request: TokenRequest): string =>
  JSON.stringify(
    'certificate' in request
      ? { ...request, certificate: request.certificate.thumbprint }
      : request,
  )

interface TokenCall {
  readonly url: string
  readonly init: RequestInit
  /** The issuer's name in messages. */
  readonly issuer: string
}

async function requestToken(
  request: TokenRequest,
  endpoints: TokenEndpoints,
  clock: Clock,
): Promise<CachedToken> {
  const { url, init, issuer } = await httpCallOf(request, endpoints, clock)
  const requestedAtMs = +clock.now()
  let response: Response
  let body: unknown
  try {
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
    response = await fetch(url, { ...init, signal, redirect: 'error' })
    body = await response.json().catch(() => null)
  } catch (error) {
    throw new SignInFault('unreachable', `${issuer} does not respond: ${causeOf(error)}`, error)
  }
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (typeof fields.access_token === 'string' && response.ok)
    return cachedTokenFrom(fields, fields.access_token, requestedAtMs)
  const isBusy = response.status === 429 || response.status >= 500
  const message = String(fields.error_description ?? fields.error ?? 'no reason given')
  // Entra's description continues with trace ids and a time on further lines.
  const reason = `${issuer} returned ${response.status}: ${message.split(/\r?\n/)[0]}`
  throw new SignInFault(isBusy ? 'unreachable' : 'sign_in', reason)
}

function cachedTokenFrom(
  fields: Record<string, unknown>,
  token: string,
  requestedAtMs: number,
): CachedToken {
  // App Service sends only the expiry, in seconds since 1970; others send a lifetime. Some write numbers as text.
  const endsAtSec = Number(fields.expires_on ?? Number.NaN)
  const livesSec = Number(fields.expires_in ?? endsAtSec - requestedAtMs / 1000)
  const lifeMs = (livesSec > 0 ? livesSec : DEFAULT_LIFE_SEC) * 1000
  return {
    token,
    endsAtMs: requestedAtMs + lifeMs,
    renewAtMs: requestedAtMs + lifeMs - Math.min(EARLY_MS, lifeMs / 2),
  }
}

async function httpCallOf(
  request: TokenRequest,
  endpoints: TokenEndpoints,
  clock: Clock,
): Promise<TokenCall> {
  switch (request.from) {
    case 'entra': {
      const url = `${endpoints.entra}/${encodeURIComponent(request.tenantId)}/oauth2/v2.0/token`
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: request.clientId,
        scope: request.scope,
        ...(await proofOf(request, url, endpoints, clock)),
      })
      return { url, init: { method: 'POST', body }, issuer: 'Microsoft Entra ID' }
    }
    case 'databricks': {
      const { host, clientId, secret } = request
      const basic = Buffer.from(`${clientId}:${secret}`).toString('base64')
      const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'all-apis' })
      const headers = { authorization: `Basic ${basic}` }
      const url = `${host}/oidc/v1/token`
      return { url, init: { method: 'POST', body, headers }, issuer: "Databricks' sign-in" }
    }
    case 'machine':
      return machineCallOf(request.clientId, request.scope, endpoints)
  }
}

/** The app's proof of identity. */
async function proofOf(
  request: Extract<TokenRequest, App>,
  url: string,
  endpoints: TokenEndpoints,
  clock: Clock,
): Promise<Record<string, string>> {
  if ('secret' in request) return { client_secret: request.secret }
  const { clientId } = request
  const assertion =
    'certificate' in request
      ? await assertionOf(request.certificate, { clientId, audience: url, now: clock.now() })
      : await identityToken(request.federatedWith.clientId, endpoints, clock)
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion }
}

/** Not cached: it is needed as rarely as the token it buys. */
async function identityToken(
  clientId: string | null,
  endpoints: TokenEndpoints,
  clock: Clock,
): Promise<string> {
  return (
    await requestToken({ from: 'machine', clientId, scope: FEDERATION_SCOPE }, endpoints, clock)
  ).token
}

function machineCallOf(
  clientId: string | null,
  scope: string,
  endpoints: TokenEndpoints,
): TokenCall {
  const { identity, machine } = endpoints
  const url = new URL(identity?.url ?? machine)
  url.searchParams.set('api-version', identity ? '2019-08-01' : '2018-02-01')
  url.searchParams.set('resource', scope.replace(/\/\.default$/, ''))
  if (clientId !== null) url.searchParams.set('client_id', clientId)
  const headers: Record<string, string> = identity
    ? { 'x-identity-header': identity.header }
    : { metadata: 'true' }
  return { url: url.href, init: { headers }, issuer: "The machine's managed identity" }
}

/** The reason of `fetch failed` is in its cause. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof AggregateError && cause.message === '') return messageOf(cause.errors[0])
  return messageOf(cause ?? error)
}
