// Entra's token endpoint for client credentials, and the validation of its tokens. A token is for one API of one tenant,
// expires by the clock, and can be ended early.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { AssertionFault, requireAssertion } from './assertion.ts'
import { ok, type SandboxResponse } from './call.ts'
import { GRAPH_ROUTES } from './graph/routes.ts'
import { guidOf } from './identity.ts'
import type { Json } from './json.ts'
import { GraphRefusal } from './refusal.ts'
import type { Application, CLOUDS } from './state.ts'
import type { SandboxTenant } from './tenant.ts'
import type { World } from './world.ts'

/** Templates of directory roles ("Microsoft Entra built-in roles", learn.microsoft.com). */
const ROLE_IDS: Readonly<Record<string, string>> = {
  'Exchange Administrator': '29232cdf-9323-42fd-ade2-1d097af3e4de',
  'Exchange Recipient Administrator': '31392ffb-586c-42d1-9346-e59415a2cc4e',
  'Global Administrator': '62e90394-69f5-4237-9190-012177145e10',
  'Privileged Authentication Administrator': '7be44c8a-adaf-4e2a-84d6-ab2649e08a13',
  'User Administrator': 'fe930be7-5e62-47db-91af-98c3a49a38b1',
}
const roleIdsOf = (names: readonly string[]): string[] =>
  names.flatMap((name) => ROLE_IDS[name] ?? [])

export type TokenAudience = 'graph' | 'exchange'

type Cloud = (typeof CLOUDS)[number]

/**
 * The names of both APIs in each cloud. Sources: "National cloud deployments" of the Graph documentation and Connect-ExchangeOnline; the
 * DoD name of Exchange differs between documents, so both are taken.
 */
const NAMES: Readonly<Record<Cloud, Readonly<Record<TokenAudience, readonly string[]>>>> = {
  public: { graph: ['https://graph.microsoft.com'], exchange: ['https://outlook.office365.com'] },
  usgov: { graph: ['https://graph.microsoft.us'], exchange: ['https://outlook.office365.us'] },
  usdod: {
    graph: ['https://dod-graph.microsoft.us'],
    exchange: ['https://outlook-dod.office365.us', 'https://webmail.apps.mil'],
  },
  china: {
    graph: ['https://microsoftgraph.chinacloudapi.cn'],
    exchange: ['https://partner.outlook.cn'],
  },
}

/** The same in every cloud. */
const APPLICATION_IDS: Readonly<Record<TokenAudience, string>> = {
  graph: '00000003-0000-0000-c000-000000000000',
  exchange: '00000002-0000-0ff1-ce00-000000000000',
}

/** Accepted resources of an API; the sandbox's own URL counts as both. */
const resourcesOf = ({ state }: SandboxTenant, api: TokenAudience): readonly string[] => [
  ...NAMES[state.cloud][api],
  APPLICATION_IDS[api],
]

/** An application without a list may do everything, and its tokens say so: workers read their rights from them. */
const EVERY_ROLE: readonly string[] = [
  ...new Set(GRAPH_ROUTES.flatMap(({ permissions }) => permissions)),
  'Exchange.ManageAsApp',
]

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface SignedInCaller {
  readonly tenant: SandboxTenant
  readonly application: Application
  readonly token: string
}

class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal'
  readonly status: number
  readonly error: string
  readonly number: number

  constructor(status: number, error: string, number: number, message: string) {
    super(message)
    this.status = status
    this.error = error
    this.number = number
  }
}

interface Claims {
  readonly aud: string
  readonly tid: string
  readonly appid: string
  readonly exp: number
}

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export class TokenService {
  readonly #world: World
  readonly #key = guidOf('sandbox', 'token key')
  readonly #ended = new Set<string>()
  #issued = 0

  constructor(world: World) {
    this.#world = world
  }

  /** Handles POST /{tenant}/oauth2/v2.0/token. */
  token(
    tenantName: string,
    url: URL,
    form: URLSearchParams,
    now: Date,
    requestId: string,
  ): SandboxResponse {
    try {
      const tenant = this.#world.tenant(tenantName)
      if (!tenant)
        throw new TokenRefusal(400, 'invalid_request', 90002, `Tenant '${tenantName}' not found.`)
      const application = this.#applicationOf(tenant, url, form, now)
      const aud = resourceOf(tenant, form.get('scope') ?? '', url.origin)
      return ok(this.#issue(tenant, application, aud, now))
    } catch (error) {
      if (!(error instanceof TokenRefusal)) throw error
      return { status: error.status, body: tokenErrorBody(error, now, requestId) }
    }
  }

  #applicationOf(tenant: SandboxTenant, url: URL, form: URLSearchParams, now: Date): Application {
    if (form.get('grant_type') !== 'client_credentials')
      throw new TokenRefusal(
        400,
        'unsupported_grant_type',
        70003,
        'The app requested an unsupported grant type.',
      )
    const clientId = form.get('client_id')?.toLowerCase()
    const application = tenant.state.applications.find((one) => one.clientId === clientId)
    if (!application)
      throw new TokenRefusal(
        400,
        'unauthorized_client',
        700016,
        `Application with identifier '${clientId}' was not found in the directory '${tenant.state.displayName}'.`,
      )
    const assertion = form.get('client_assertion')
    if (assertion !== null && form.get('client_assertion_type') === ASSERTION_TYPE) {
      const path = `/${tenant.id}/oauth2/v2.0/token`
      const microsoftLogin = 'https://login.microsoftonline.com'
      const audiences = [
        // MSAL adds a query to the URL it posts to, and not to the audience.
        `${url.origin}${url.pathname}`,
        `${microsoftLogin}${path}`,
        `${microsoftLogin}/${tenant.id}/v2.0`,
      ]
      requireValidAssertion(assertion, application, audiences, now)
    } else if (application.secret === null || form.get('client_secret') !== application.secret)
      throw new TokenRefusal(
        401,
        'invalid_client',
        7000215,
        `Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '${clientId}'.`,
      )
    return application
  }

  #issue(tenant: SandboxTenant, application: Application, aud: string, now: Date): Json {
    const { tokenLifetimeSec } = this.#world.timing
    const nowSec = Math.floor(+now / 1000)
    this.#issued += 1
    const claims = {
      aud,
      iss: `https://sts.windows.net/${tenant.id}/`,
      iat: nowSec,
      nbf: nowSec,
      exp: nowSec + tokenLifetimeSec,
      appid: application.clientId,
      tid: tenant.id,
      // Makes two tokens of the same second differ.
      uti: guidOf('token', this.#issued),
      roles: application.roles ?? EVERY_ROLE,
      wids: roleIdsOf(application.directoryRoles),
    }
    const signed = `${base64({ typ: 'JWT', alg: 'HS256' })}.${base64(claims)}`
    const access_token = `${signed}.${this.#signature(signed)}`
    return {
      token_type: 'Bearer',
      expires_in: tokenLifetimeSec,
      ext_expires_in: tokenLifetimeSec,
      access_token,
    }
  }

  #signature(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }

  /** The caller. Throws Graph's error for a token that is missing, invalid, expired or for another API. */
  check(
    authorization: string | undefined,
    api: TokenAudience,
    origin: string,
    now: Date,
  ): SignedInCaller {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) throw unauthorised('Access token is empty.')
    const claims = this.#claimsOf(token)
    const tenant = claims && this.#world.tenant(claims.tid)
    const application = tenant?.state.applications.find((one) => one.clientId === claims?.appid)
    if (!claims || !tenant || !application)
      throw unauthorised('Access token validation failure. Invalid signature.')
    if (![...resourcesOf(tenant, api), origin].includes(claims.aud))
      throw unauthorised('Access token validation failure. Invalid audience.')
    if (claims.exp * 1000 <= +now || this.#ended.has(token))
      throw unauthorised('Lifetime validation failed, the token is expired.')
    return { tenant, application, token }
  }

  #claimsOf(token: string): Claims | null {
    const [header = '', claims = '', signature = ''] = token.split('.')
    const expected = Buffer.from(this.#signature(`${header}.${claims}`))
    const given = Buffer.from(signature)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
    return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Claims
  }

  /** Expires a token early. */
  end(token: string): void {
    this.#ended.add(token)
  }
}

export const unauthorised = (message: string): GraphRefusal =>
  new GraphRefusal(401, 'InvalidAuthenticationToken', message)

function requireValidAssertion(
  assertion: string,
  application: Application,
  audiences: readonly string[],
  now: Date,
): void {
  try {
    requireAssertion(assertion, application, audiences, now)
  } catch (error) {
    if (!(error instanceof AssertionFault)) throw error
    throw new TokenRefusal(401, 'invalid_client', error.number, error.message)
  }
}

function resourceOf(tenant: SandboxTenant, scope: string, origin: string): string {
  const resource = /^(\S+)\/\.default$/.exec(scope)?.[1]
  if (resource === undefined)
    throw new TokenRefusal(
      400,
      'invalid_scope',
      1002012,
      `The provided value for scope ${scope} is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).`,
    )
  const known = [...resourcesOf(tenant, 'graph'), ...resourcesOf(tenant, 'exchange'), origin]
  if (known.includes(resource)) return resource
  throw new TokenRefusal(
    400,
    'invalid_resource',
    500011,
    `The resource principal named ${resource} was not found in the tenant.`,
  )
}

function tokenErrorBody(error: TokenRefusal, now: Date, requestId: string): Json {
  const at = now.toISOString()
  return {
    error: error.error,
    error_description: `AADSTS${error.number}: ${error.message} Trace ID: ${requestId} Correlation ID: ${requestId} Timestamp: ${at}`,
    error_codes: [error.number],
    timestamp: at,
    trace_id: requestId,
    correlation_id: requestId,
    error_uri: `https://login.microsoftonline.com/error?code=${error.number}`,
  }
}
