// Who uses the page. On one machine the link of `matoolkit up` brings the token in its fragment, which leaves the address at once;
// elsewhere people sign in at the issuer. A token never gets into an address that is sent, logged or kept in the history.
import { AdminApiError, type Answer, matoolkit } from '../../../src/api/client/client.ts'
import { finishSignIn, type Grant, type Issuer, renew, signInAt } from './oidc.ts'

export type Me = Answer<'GET /api/me'>

export type SignedOut =
  /** Local mode without a token, or with one of a former start. */
  | { readonly kind: 'needs-link' }
  | { readonly kind: 'needs-sign-in'; readonly issuer: Issuer }
  /** Signed in without a role that may read here. */
  | { readonly kind: 'refused'; readonly reason: string }

export type Session =
  | { readonly kind: 'signed-in'; readonly me: Me; readonly isLocal: boolean }
  | SignedOut

/** Who uses the page is asked before there is a session. The page may be shown under a path of a proxy. */
export const apiUrl = new URL('.', document.baseURI).href
const client = matoolkit({ url: apiUrl, token: () => accessToken() })

const LOCAL_TOKEN = 'matoolkit.local-token'
const GRANT = 'matoolkit.grant'
/** Renewed this long before it ends. */
const EARLY_MS = 60_000

let issuer: Issuer | null = null
let renewal: Promise<Grant | null> | null = null
let onForgotten = () => {}

/** Calls back when the API no longer accepts the token. */
export function watchSession(forgotten: () => void): void {
  onForgotten = forgotten
}

/** The token for the next request; null before sign-in. */
export async function accessToken(): Promise<string | null> {
  if (issuer === null) return localStorage.getItem(LOCAL_TOKEN)
  const grant = storedGrant()
  if (grant === null || grant.endsAt - Date.now() > EARLY_MS) return grant?.accessToken ?? null
  // One renewal for all requests: an issuer may accept a refresh token once.
  renewal ??= renew(issuer, grant)
    .then((renewed) => {
      if (renewed) storeGrant(renewed)
      return renewed
    })
    .finally(() => {
      renewal = null
    })
  return (await renewal)?.accessToken ?? (grant.endsAt > Date.now() ? grant.accessToken : null)
}

export function forgetSession(): void {
  localStorage.removeItem(LOCAL_TOKEN)
  sessionStorage.removeItem(GRANT)
  onForgotten()
}

/** Throws when the API does not answer. */
export async function openSession(): Promise<Session> {
  const offered = takeTokenFromAddress()
  const offer = await client.call('GET /api/sign-in')
  if (offer.mode === 'oidc') {
    const { issuer: address, clientId, scope } = offer
    if (address === null || clientId === null || scope === null)
      return {
        kind: 'refused',
        reason: 'The API names no client for people: set MATOOLKIT_OIDC_CLIENT_ID.',
      }
    const at = { address, clientId, scope }
    issuer = at
    const grant = await finishSignIn(at)
    if (grant) storeGrant(grant)
    if (storedGrant() === null) return { kind: 'needs-sign-in', issuer: at }
  } else {
    if (offered !== null && (await isAccepted(offered))) localStorage.setItem(LOCAL_TOKEN, offered)
    if (localStorage.getItem(LOCAL_TOKEN) === null) return { kind: 'needs-link' }
  }
  return whoAmI()
}

/** Leaves the page for the issuer, and comes back to this very view. */
export const signIn = (at: Issuer): Promise<void> => signInAt(at)

async function whoAmI(): Promise<Session> {
  try {
    const me = await client.call('GET /api/me')
    return { kind: 'signed-in', me, isLocal: issuer === null }
  } catch (error) {
    const status = error instanceof AdminApiError ? error.status : 0
    if (status === 403) return { kind: 'refused', reason: (error as Error).message }
    if (status !== 401) throw error
    localStorage.removeItem(LOCAL_TOKEN)
    sessionStorage.removeItem(GRANT)
    return issuer ? { kind: 'needs-sign-in', issuer } : { kind: 'needs-link' }
  }
}

function takeTokenFromAddress(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return token
}

/** Anybody can write a link: a token that this API does not know ends nobody's session. */
async function isAccepted(token: string): Promise<boolean> {
  try {
    await matoolkit({ url: apiUrl, token: async () => token }).call('GET /api/me')
    return true
  } catch (error) {
    if (error instanceof AdminApiError && error.status === 401) return false
    throw error
  }
}

const storedGrant = (): Grant | null =>
  JSON.parse(sessionStorage.getItem(GRANT) ?? 'null') as Grant | null
const storeGrant = (grant: Grant): void => sessionStorage.setItem(GRANT, JSON.stringify(grant))
