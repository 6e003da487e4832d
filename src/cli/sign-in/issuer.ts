// Talks to the issuer by OpenID Connect: Entra ID or another one. A person signs in with a device code, an application with its
// secret; sign-ins are renewed and revoked here. A refusal is SIGN_IN_FAILED in the issuer's words. An issuer that does not answer is
// another error, because the sign-in is still valid then.
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  clockTolerance,
  customFetch,
  type DeviceAuthorizationResponse,
  deviceAuthorizationRequest,
  deviceCodeGrantRequest,
  discoveryRequest,
  None,
  processClientCredentialsResponse,
  processDeviceAuthorizationResponse,
  processDeviceCodeResponse,
  processDiscoveryResponse,
  processRefreshTokenResponse,
  processRevocationResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  revocationRequest,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { fetchFault } from '../../base/run/fetch-fault.ts'
import { limitedFetch } from '../../base/run/read-answer.ts'
import { isEntra, type Registration } from './registration.ts'

export interface GrantedToken {
  readonly accessToken: string
  /** ISO-8601. */
  readonly expiresAt: string
  readonly refreshToken: string | null
}

const REQUEST_TIMEOUT_MS = 30_000
const ANSWER_BYTES_MAX = 1_000_000
/** For issuers that do not state a lifetime. */
const LIFETIME_SEC_DEFAULT = 300
const CLOCK_TOLERANCE_SEC = 300
const POLL_SEC_DEFAULT = 5
const SLOWER_SEC = 5

/** A discovered issuer with the client and request options for it. */
interface DiscoveredIssuer {
  readonly server: AuthorizationServer
  readonly client: Client
  readonly options: {
    signal: () => AbortSignal
    [allowInsecureRequests]: boolean
    [customFetch]: (url: string, init: object) => Promise<Response>
  }
}

async function discover({ issuer, clientId }: Registration): Promise<DiscoveredIssuer> {
  const url = new URL(issuer)
  const options = {
    signal: () => AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    // The setting allows http for addresses of this machine only.
    [allowInsecureRequests]: url.protocol === 'http:',
    [customFetch]: limitedFetch(ANSWER_BYTES_MAX),
  }
  const client = { client_id: clientId, [clockTolerance]: CLOCK_TOLERANCE_SEC }
  const server = await withIssuerErrors(issuer, async () =>
    processDiscoveryResponse(url, await discoveryRequest(url, options)),
  )
  return { server, client, options }
}

/** Runs an exchange; throws SIGN_IN_FAILED or ISSUER_UNREACHABLE. */
async function withIssuerErrors<T>(issuer: string, exchange: () => Promise<T>): Promise<T> {
  try {
    return await exchange()
  } catch (error) {
    if (error instanceof ResponseBodyError && error.status < 500) throw refusal(issuer, error)
    const details = { issuer, reason: fetchFault(error) }
    throw new MatoolkitError('ISSUER_UNREACHABLE', details, { cause: error })
  }
}

/** Only the first sentence: Entra ID appends trace ids and times. */
function refusal(issuer: string, error: ResponseBodyError): MatoolkitError {
  const [sentence = ''] = (error.error_description ?? error.error).split(/\.\s|[\r\n]/)
  const reason = sentence.replace(/\.$/, '')
  return new MatoolkitError('SIGN_IN_FAILED', { issuer, reason }, { cause: error })
}

function grantedBy(
  answer: TokenEndpointResponse,
  now: Date,
  refreshToken: string | null,
): GrantedToken {
  const seconds = answer.expires_in ?? LIFETIME_SEC_DEFAULT
  return {
    accessToken: answer.access_token,
    expiresAt: new Date(+now + seconds * 1_000).toISOString(),
    refreshToken: answer.refresh_token ?? refreshToken,
  }
}

export interface DeviceSignIn {
  readonly registration: Registration
  readonly clock: Clock
  /** Shows the page to open and the code to enter. */
  show(page: string, userCode: string, complete: string | null): void
}

/** Returns when the person has signed in. Throws SIGN_IN_FAILED if they decline or the code expires. */
export async function signInWithDeviceCode({
  registration,
  clock,
  show,
}: DeviceSignIn): Promise<GrantedToken> {
  const discovered = await discover(registration)
  const { server, client, options } = discovered
  const { issuer } = registration
  if (!server.device_authorization_endpoint) {
    const reason = 'it does not offer sign-in with a device code'
    throw new MatoolkitError('SIGN_IN_FAILED', { issuer, reason })
  }
  // offline_access requests the refresh token; some issuers grant it only with openid.
  const scope = `openid offline_access ${registration.scope}`
  const code = await withIssuerErrors(issuer, async () =>
    processDeviceAuthorizationResponse(
      server,
      client,
      await deviceAuthorizationRequest(server, client, None(), { scope }, options),
    ),
  )
  show(code.verification_uri, code.user_code, code.verification_uri_complete ?? null)
  return waitForPerson(discovered, code, clock, issuer)
}

async function waitForPerson(
  discovered: DiscoveredIssuer,
  code: DeviceAuthorizationResponse,
  clock: Clock,
  issuer: string,
): Promise<GrantedToken> {
  const { server, client, options } = discovered
  const endsMs = +clock.now() + code.expires_in * 1_000
  let pauseSec = code.interval ?? POLL_SEC_DEFAULT
  while (+clock.now() < endsMs) {
    await clock.wait(pauseSec * 1_000)
    try {
      const response = await deviceCodeGrantRequest(
        server,
        client,
        None(),
        code.device_code,
        options,
      )
      const answer = await processDeviceCodeResponse(server, client, response)
      return grantedBy(answer, clock.now(), null)
    } catch (error) {
      // A lost request is repeated: the person is still signing in.
      if (!(error instanceof ResponseBodyError) || error.status >= 500) continue
      if (error.error === 'slow_down') pauseSec += SLOWER_SEC
      else if (error.error !== 'authorization_pending') throw refusal(issuer, error)
    }
  }
  throw new MatoolkitError('SIGN_IN_FAILED', { issuer, reason: 'the code has expired' })
}

/** A new access token for a sign-in. Throws SIGN_IN_FAILED if the sign-in has ended. */
export async function refreshSignIn(
  registration: Registration,
  refreshToken: string,
  clock: Clock,
): Promise<GrantedToken> {
  const { server, client, options } = await discover(registration)
  const answer = await withIssuerErrors(registration.issuer, async () =>
    processRefreshTokenResponse(
      server,
      client,
      await refreshTokenGrantRequest(server, client, None(), refreshToken, options),
    ),
  )
  return grantedBy(answer, clock.now(), refreshToken)
}

/** Revokes a sign-in at the issuer; false if it has no revocation endpoint. */
export async function revoke(registration: Registration, refreshToken: string): Promise<boolean> {
  const { server, client, options } = await discover(registration)
  if (!server.revocation_endpoint) return false
  await withIssuerErrors(registration.issuer, async () =>
    processRevocationResponse(
      await revocationRequest(server, client, None(), refreshToken, options),
    ),
  )
  return true
}

/** A token for an application, without a person. */
export async function signInAsApplication(
  registration: Registration,
  secret: string,
  clock: Clock,
): Promise<GrantedToken> {
  const { server, client, options } = await discover(registration)
  const methods = server.token_endpoint_auth_methods_supported ?? []
  const proof = methods.includes('client_secret_post')
    ? ClientSecretPost(secret)
    : ClientSecretBasic(secret)
  const scope = isEntra(registration.issuer)
    ? defaultScopeOf(registration.scope)
    : registration.scope
  const answer = await withIssuerErrors(registration.issuer, async () =>
    processClientCredentialsResponse(
      server,
      client,
      await clientCredentialsGrantRequest(server, client, proof, { scope }, options),
    ),
  )
  return grantedBy(answer, clock.now(), null)
}

/** Entra ID grants applications all their permissions or none: api://{id}/.default */
const defaultScopeOf = (scope: string): string => scope.replace(/[^/]*$/, '.default')
