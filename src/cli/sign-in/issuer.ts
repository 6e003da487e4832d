// The conversation with whoever signs people in, by OpenID Connect: Entra ID or any other issuer. A person signs in with a device
// code, in a browser that may be on another machine; a sign-in is renewed and ended here too, and an application gets its token
// with its secret. What is refused is a SIGN_IN_FAILED in the issuer's words; an issuer that does not answer is told apart from
// that, because the sign-in is then still good.
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  clockTolerance,
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
import type { Clock } from '../../clock.ts'
import { MatoolkitError, messageOf } from '../../errors.ts'
import { isEntra, type Registration } from './registration.ts'

export interface GrantedToken {
  readonly accessToken: string
  /** ISO-8601. */
  readonly expiresAt: string
  readonly refreshToken: string | null
}

const REQUEST_TIMEOUT_MS = 30_000
/** Of issuers that do not say how long a token is good for. */
const LIFETIME_SEC_DEFAULT = 300
const CLOCK_TOLERANCE_SEC = 300
const POLL_SEC_DEFAULT = 5
const SLOWER_SEC = 5

/** An issuer that was found, and how to talk to it. */
interface Known {
  readonly server: AuthorizationServer
  readonly client: Client
  readonly options: { signal: () => AbortSignal; [allowInsecureRequests]: boolean }
}

async function find({ issuer, clientId }: Registration): Promise<Known> {
  const url = new URL(issuer)
  const options = {
    signal: () => AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    // The kind of the setting allows this for addresses of the own machine only.
    [allowInsecureRequests]: url.protocol === 'http:',
  }
  const client = { client_id: clientId, [clockTolerance]: CLOCK_TOLERANCE_SEC }
  const server = await told(issuer, async () =>
    processDiscoveryResponse(url, await discoveryRequest(url, options)),
  )
  return { server, client, options }
}

/** Runs an exchange; what goes wrong is told as one of two errors. */
async function told<T>(issuer: string, exchange: () => Promise<T>): Promise<T> {
  try {
    return await exchange()
  } catch (error) {
    if (error instanceof ResponseBodyError && error.status < 500) throw refusal(issuer, error)
    const details = { issuer, reason: reasonOf(error) }
    throw new MatoolkitError('ISSUER_UNREACHABLE', details, { cause: error })
  }
}

/** The first sentence says it; Entra ID adds trace numbers and times. */
function refusal(issuer: string, error: ResponseBodyError): MatoolkitError {
  const [said = ''] = (error.error_description ?? error.error).split(/\.\s|[\r\n]/)
  const reason = said.replace(/\.$/, '')
  return new MatoolkitError('SIGN_IN_FAILED', { issuer, reason }, { cause: error })
}

/** fetch hides what happened in the cause. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string } }
  if (name === 'TimeoutError') return 'it took too long'
  if (cause?.code === 'ECONNREFUSED') return 'nobody listens there'
  return messageOf(error)
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
  /** Told where the person has to go and what to type there. */
  show(page: string, userCode: string, complete: string | null): void
}

/** Returns when the person has signed in. Throws SIGN_IN_FAILED when they refuse, or take too long. */
export async function signInWithDeviceCode({
  registration,
  clock,
  show,
}: DeviceSignIn): Promise<GrantedToken> {
  const known = await find(registration)
  const { server, client, options } = known
  const { issuer } = registration
  if (!server.device_authorization_endpoint) {
    const reason = 'it does not offer sign-in with a device code'
    throw new MatoolkitError('SIGN_IN_FAILED', { issuer, reason })
  }
  // With offline_access comes what renews the sign-in; some issuers give it only beside openid.
  const scope = `openid offline_access ${registration.scope}`
  const code = await told(issuer, async () =>
    processDeviceAuthorizationResponse(
      server,
      client,
      await deviceAuthorizationRequest(server, client, None(), { scope }, options),
    ),
  )
  show(code.verification_uri, code.user_code, code.verification_uri_complete ?? null)
  return waitForPerson(known, code, clock, issuer)
}

async function waitForPerson(
  known: Known,
  code: DeviceAuthorizationResponse,
  clock: Clock,
  issuer: string,
): Promise<GrantedToken> {
  const { server, client, options } = known
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
      // A request that was lost is asked again: the person is still at it.
      if (!(error instanceof ResponseBodyError) || error.status >= 500) continue
      if (error.error === 'slow_down') pauseSec += SLOWER_SEC
      else if (error.error !== 'authorization_pending') throw refusal(issuer, error)
    }
  }
  throw new MatoolkitError('SIGN_IN_FAILED', { issuer, reason: 'the code has run out' })
}

/** A new access token for a sign-in. Throws SIGN_IN_FAILED when the sign-in has ended. */
export async function refreshSignIn(
  registration: Registration,
  refreshToken: string,
  clock: Clock,
): Promise<GrantedToken> {
  const { server, client, options } = await find(registration)
  const answer = await told(registration.issuer, async () =>
    processRefreshTokenResponse(
      server,
      client,
      await refreshTokenGrantRequest(server, client, None(), refreshToken, options),
    ),
  )
  return grantedBy(answer, clock.now(), refreshToken)
}

/** Tells the issuer that a sign-in is over; false when it has no way to be told. */
export async function revoke(registration: Registration, refreshToken: string): Promise<boolean> {
  const { server, client, options } = await find(registration)
  if (!server.revocation_endpoint) return false
  await told(registration.issuer, async () =>
    processRevocationResponse(
      await revocationRequest(server, client, None(), refreshToken, options),
    ),
  )
  return true
}

/** A token of an application without a person. */
export async function signInAsApplication(
  registration: Registration,
  secret: string,
  clock: Clock,
): Promise<GrantedToken> {
  const { server, client, options } = await find(registration)
  const methods = server.token_endpoint_auth_methods_supported ?? []
  const proof = methods.includes('client_secret_post')
    ? ClientSecretPost(secret)
    : ClientSecretBasic(secret)
  const scope = isEntra(registration.issuer)
    ? defaultScopeOf(registration.scope)
    : registration.scope
  const answer = await told(registration.issuer, async () =>
    processClientCredentialsResponse(
      server,
      client,
      await clientCredentialsGrantRequest(server, client, proof, { scope }, options),
    ),
  )
  return grantedBy(answer, clock.now(), null)
}

/** Entra ID gives applications all that they were granted of an API, and nothing by its name: api://{id}/.default */
const defaultScopeOf = (scope: string): string => scope.replace(/[^/]*$/, '.default')
