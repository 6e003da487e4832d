// Sign-in at an OpenID Connect issuer: authorization code with PKCE, as a public client. What must survive the way there and back is
// in the tab's own storage.
import * as oauth from 'oauth4webapi'

export interface Issuer {
  readonly address: string
  readonly clientId: string
  readonly scope: string
}

export interface Grant {
  readonly accessToken: string
  readonly refreshToken: string | null
  /** Milliseconds since 1970. */
  readonly endsAt: number
}

interface Begun {
  readonly verifier: string
  readonly state: string
  /** The view that the person wanted. */
  readonly view: string
}

const BEGUN = 'matoolkit.sign-in'
const DEFAULT_LIFE_SEC = 300

export async function signInAt(issuer: Issuer): Promise<void> {
  const server = await discover(issuer)
  const verifier = oauth.generateRandomCodeVerifier()
  const begun: Begun = { verifier, state: oauth.generateRandomState(), view: location.href }
  sessionStorage.setItem(BEGUN, JSON.stringify(begun))
  const address = new URL(server.authorization_endpoint!)
  const asked = {
    client_id: issuer.clientId,
    redirect_uri: redirectUri(),
    response_type: 'code',
    scope: `openid profile offline_access ${issuer.scope}`,
    state: begun.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value)
  location.assign(address)
}

/** The grant when this page load is the way back from the issuer, else null. Throws what the issuer says against it. */
export async function finishSignIn(issuer: Issuer): Promise<Grant | null> {
  const here = new URL(location.href)
  const begun = JSON.parse(sessionStorage.getItem(BEGUN) ?? 'null') as Begun | null
  if (!here.searchParams.has('state') || begun === null) return null
  sessionStorage.removeItem(BEGUN)
  // Before anything can fail: a reload must not send the code again.
  history.replaceState(null, '', begun.view)
  const server = await discover(issuer)
  const client = { client_id: issuer.clientId }
  const parameters = oauth.validateAuthResponse(server, client, here, begun.state)
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri(),
    begun.verifier,
    insecure(issuer),
  )
  return grantOf(await oauth.processAuthorizationCodeResponse(server, client, answer))
}

/** Null when the person has to sign in again. */
export async function renew(issuer: Issuer, { refreshToken }: Grant): Promise<Grant | null> {
  if (refreshToken === null) return null
  try {
    const server = await discover(issuer)
    const client = { client_id: issuer.clientId }
    const answer = await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      refreshToken,
      insecure(issuer),
    )
    const grant = grantOf(await oauth.processRefreshTokenResponse(server, client, answer))
    return { ...grant, refreshToken: grant.refreshToken ?? refreshToken }
  } catch {
    return null
  }
}

const grantOf = (answer: oauth.TokenEndpointResponse): Grant => ({
  accessToken: answer.access_token,
  refreshToken: answer.refresh_token ?? null,
  endsAt: Date.now() + (answer.expires_in ?? DEFAULT_LIFE_SEC) * 1_000,
})

const redirectUri = (): string => new URL('.', document.baseURI).href

const found = new Map<string, Promise<oauth.AuthorizationServer>>()
function discover(issuer: Issuer): Promise<oauth.AuthorizationServer> {
  const address = new URL(issuer.address)
  const known =
    found.get(issuer.address) ??
    oauth
      .discoveryRequest(address, insecure(issuer))
      .then((answer) => oauth.processDiscoveryResponse(address, answer))
  found.set(issuer.address, known)
  known.catch(() => found.delete(issuer.address))
  return known
}

/** Plain HTTP only for an issuer on this machine: tests and trials. */
const insecure = ({ address }: Issuer) => ({
  [oauth.allowInsecureRequests]: ['127.0.0.1', 'localhost'].includes(new URL(address).hostname),
})
