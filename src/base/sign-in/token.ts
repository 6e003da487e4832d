// Access tokens from Microsoft Entra ID (by secret, certificate or federated identity), from the managed identity of the
// machine, and from Databricks OAuth. Tokens are cached until shortly before they expire, requested once for all waiting
// callers, and never written anywhere.

import { readFile } from 'node:fs/promises'
import { messageOf } from '../errors/errors.ts'
import type { Clock } from '../run/clock.ts'
import { fetchFault } from '../run/fetch-fault.ts'
import { readJson } from '../run/read-answer.ts'
import { assertionOf, type SigningCertificate } from './certificate.ts'
import type { RotatingCertificate } from './rotating-certificate.ts'

interface App {
  readonly from: 'entra'
  readonly tenantId: string
  readonly clientId: string
  readonly scope: string
}

export type TokenRequest =
  | (App & { readonly secret: string })
  | (App & { readonly certificate: RotatingCertificate })
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
  /** Workload identity, as Azure Kubernetes Service sets it: a file with a token of the cluster, renewed by others. */
  readonly workload: WorkloadIdentity | null
  /** What a machine's token for a federated credential is issued for; each cloud has its own. */
  readonly federationScope: string
}

export interface WorkloadIdentity {
  readonly tokenFile: string
  readonly clientId: string
  readonly tenantId: string
}

export const AZURE_ENDPOINTS: TokenEndpoints = {
  entra: 'https://login.microsoftonline.com',
  machine: 'http://169.254.169.254/metadata/identity/oauth2/token',
  identity: null,
  workload: null,
  federationScope: 'api://AzureADTokenExchange/.default',
}

/** Tokens live 60 to 90 minutes; a query must end within the life of its token. */
const EARLY_MS = 300_000
const RESPONSE_TIMEOUT_MS = 20_000
/** A token with many groups has some 10 KB. */
const ANSWER_BYTES_MAX = 1_000_000
const DEFAULT_LIFE_SEC = 600
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

interface CachedToken {
  readonly token: string
  readonly renewAtMs: number
  readonly endsAtMs: number
}

/** How a token is requested. A rehearsal answers in the process. */
export type RequestByHttp = (
  url: string,
  init: RequestInit,
) => Promise<Pick<Response, 'ok' | 'status' | 'body'>>

export function makeTokens(
  clock: Clock,
  endpoints: TokenEndpoints = AZURE_ENDPOINTS,
  send: RequestByHttp = fetch,
): Tokens {
  const cached = new Map<string, CachedToken>()
  const pending = new Map<string, Promise<CachedToken>>()
  const renew = (key: string, request: TokenRequest): Promise<CachedToken> => {
    const running = pending.get(key)
    if (running) return running
    const requested = requestToken(request, endpoints, clock, send).then((fresh) => {
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

/** One app has one certificate at a time, so a renewed one does not make it another request. */
const keyOf = (request: TokenRequest): string =>
  JSON.stringify('certificate' in request ? { ...request, certificate: true } : request)

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
  send: RequestByHttp,
): Promise<CachedToken> {
  if (!('certificate' in request))
    return sendRequest(await httpCallOf(request, endpoints, clock, send), clock, send)
  let refusal: unknown
  for (const certificate of await request.certificate.candidates()) {
    try {
      const call = await entraCallOf(request, endpoints, (url) =>
        signedBy(certificate, request.clientId, url, clock),
      )
      return await sendRequest(call, clock, send)
    } catch (error) {
      if (!(error instanceof SignInFault) || error.kind !== 'sign_in') throw error
      // The newest one is the one to mend.
      refusal ??= error
    }
  }
  throw refusal
}

async function sendRequest(
  { url, init, issuer }: TokenCall,
  clock: Clock,
  send: RequestByHttp,
): Promise<CachedToken> {
  const requestedAtMs = +clock.now()
  let response: Awaited<ReturnType<RequestByHttp>>
  let body: unknown
  try {
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
    response = await send(url, { ...init, signal, redirect: 'error' })
    body = await readJson(response, ANSWER_BYTES_MAX).catch(() => null)
  } catch (error) {
    throw new SignInFault('unreachable', `${issuer} does not respond: ${fetchFault(error)}`, error)
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

type AppRequest = Extract<TokenRequest, App>

async function httpCallOf(
  request: Exclude<TokenRequest, { certificate: RotatingCertificate }>,
  endpoints: TokenEndpoints,
  clock: Clock,
  send: RequestByHttp,
): Promise<TokenCall> {
  switch (request.from) {
    case 'entra':
      return entraCallOf(request, endpoints, async () =>
        'secret' in request
          ? { client_secret: request.secret }
          : assertionFields(
              await identityToken(request.federatedWith.clientId, endpoints, clock, send),
            ),
      )
    case 'databricks': {
      const { host, clientId, secret } = request
      const basic = Buffer.from(`${clientId}:${secret}`).toString('base64')
      const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'all-apis' })
      const headers = { authorization: `Basic ${basic}` }
      const url = `${host}/oidc/v1/token`
      return { url, init: { method: 'POST', body, headers }, issuer: "Databricks' sign-in" }
    }
    case 'machine':
      return endpoints.workload
        ? workloadCallOf(endpoints.workload, request, endpoints)
        : machineCallOf(request.clientId, request.scope, endpoints)
  }
}

/** `proofFor` gives the fields that prove the app's identity to the token URL. */
async function entraCallOf(
  { tenantId, clientId, scope }: Pick<AppRequest, 'tenantId' | 'clientId' | 'scope'>,
  { entra }: TokenEndpoints,
  proofFor: (url: string) => Promise<Record<string, string>>,
): Promise<TokenCall> {
  const url = `${entra}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    scope,
    ...(await proofFor(url)),
  })
  return { url, init: { method: 'POST', body }, issuer: 'Microsoft Entra ID' }
}

const assertionFields = (assertion: string): Record<string, string> => ({
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: assertion,
})

const signedBy = async (
  certificate: SigningCertificate,
  clientId: string,
  audience: string,
  clock: Clock,
): Promise<Record<string, string>> =>
  assertionFields(await assertionOf(certificate, { clientId, audience, now: clock.now() }))

/** Not cached: it is needed as rarely as the token it buys. */
async function identityToken(
  clientId: string | null,
  endpoints: TokenEndpoints,
  clock: Clock,
  send: RequestByHttp,
): Promise<string> {
  // The cluster's own token is the assertion; the app trusts its issuer.
  if (endpoints.workload) return clusterToken(endpoints.workload)
  const scope = endpoints.federationScope
  return (await requestToken({ from: 'machine', clientId, scope }, endpoints, clock, send)).token
}

function workloadCallOf(
  workload: WorkloadIdentity,
  { clientId, scope }: { readonly clientId: string | null; readonly scope: string },
  endpoints: TokenEndpoints,
): Promise<TokenCall> {
  const app = { tenantId: workload.tenantId, clientId: clientId ?? workload.clientId, scope }
  return entraCallOf(app, endpoints, async () => assertionFields(await clusterToken(workload)))
}

/** Read each time: the cluster renews the file about every hour. */
async function clusterToken({ tokenFile }: WorkloadIdentity): Promise<string> {
  try {
    return (await readFile(tokenFile, 'utf8')).trim()
  } catch (error) {
    const reason = `the token file "${tokenFile}" of AZURE_FEDERATED_TOKEN_FILE cannot be read: ${messageOf(error)}`
    throw new SignInFault('sign_in', reason, error)
  }
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
