// Access tokens: from Microsoft Entra ID with a client secret, a certificate or the machine's own identity as proof, from the
// managed identity of the machine, from Databricks' own OAuth. Kept until shortly before they end, asked for once however many
// wait for the same one, and never written anywhere.
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
  /** The app trusts a managed identity of this machine (a federated credential); null is the machine's own. */
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
   * A token that is good for some minutes at least. Throws a SignInFault. `refused` is one that a service did not accept: it
   * is not given again, and however many come with it, only one new one is asked for.
   */
  get(request: TokenRequest, refused?: string): Promise<string>
}

/** `unreachable`: whoever gives tokens did not answer, and may later. `sign_in`: the answer was no. */
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
/** What an app that trusts a managed identity wants to see a token for. */
const FEDERATION_SCOPE = 'api://AzureADTokenExchange/.default'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

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
    get: async (request, refused) => {
      const key = keyOf(request)
      const last = held.get(key)
      const isUsable = last !== undefined && last.token !== refused
      if (isUsable && +clock.now() < last.renewAtMs) return last.token
      try {
        return (await renew(key, request)).token
      } catch (error) {
        // It was asked early for this: a sign-in service that is down for a minute stops nobody.
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
  const { url, init, who } = await callOf(request, endpoints, clock)
  const askedAtMs = +clock.now()
  let response: Response
  let body: unknown
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    response = await fetch(url, { ...init, signal, redirect: 'error' })
    body = await response.json().catch(() => null)
  } catch (error) {
    throw new SignInFault('unreachable', `${who} does not answer: ${causeOf(error)}`, error)
  }
  const answer = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (typeof answer.access_token === 'string' && response.ok)
    return heldFrom(answer, answer.access_token, askedAtMs)
  const isBusy = response.status === 429 || response.status >= 500
  const said = String(answer.error_description ?? answer.error ?? 'without a reason')
  // Entra's description goes on with trace ids and a time, line by line.
  const reason = `${who} answered ${response.status}: ${said.split(/\r?\n/)[0]}`
  throw new SignInFault(isBusy ? 'unreachable' : 'sign_in', reason)
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

async function callOf(
  request: TokenRequest,
  endpoints: TokenEndpoints,
  clock: Clock,
): Promise<Call> {
  switch (request.from) {
    case 'entra': {
      const url = `${endpoints.entra}/${encodeURIComponent(request.tenantId)}/oauth2/v2.0/token`
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: request.clientId,
        scope: request.scope,
        ...(await proofOf(request, url, endpoints, clock)),
      })
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

/** How the app shows that it is the app. */
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

/** Not kept: it is asked for as rarely as the token it buys. */
async function identityToken(
  clientId: string | null,
  endpoints: TokenEndpoints,
  clock: Clock,
): Promise<string> {
  return (await askFor({ from: 'machine', clientId, scope: FEDERATION_SCOPE }, endpoints, clock))
    .token
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
