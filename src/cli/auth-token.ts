// The access token of whoever is signed in: an application that the environment names, or a person, renewed in silence when it
// is about to run out or was refused. Within one command it is looked up once. Loaded only where there is neither a given token
// nor a local one.

import { CLIENT_SETTINGS } from '../client-settings.ts'
import type { Clock } from '../clock.ts'
import { readClientEnv } from '../config.ts'
import { MatoolkitError } from '../errors.ts'
import {
  entraIssuer,
  type Granted,
  isEntra,
  type Registration,
  renew,
  signInAsApplication,
} from './auth-issuer.ts'
import {
  alone,
  forgetSignIn,
  keepSignIn,
  readSignIn,
  type SignIn,
  signInKey,
} from './auth-store.ts'
import { Client } from './client.ts'
import type { Profile } from './profile.ts'

interface TokenOptions {
  readonly profile: Profile
  readonly clock: Clock
}

/** What is left must do for the request that it is for. */
const LEFT_MS = 60_000

const isFresh = ({ expiresAt }: Granted, clock: Clock): boolean =>
  +new Date(expiresAt) - +clock.now() > LEFT_MS

/** Null when nobody is signed in. */
export function renewingToken(
  options: TokenOptions,
): (isRefused: boolean) => Promise<string | null> {
  const { profile, clock } = options
  const secret = readClientEnv().clientSecret
  let known: Granted | null = null
  return async (isRefused) => {
    if (known && !isRefused && isFresh(known, clock)) return known.accessToken
    requireSafe(apiUrlOf(profile))
    known =
      secret === undefined
        ? await personToken(options, isRefused)
        : await signInAsApplication(await applicationRegistration(options), secret, clock)
    return known?.accessToken ?? null
  }
}

/** A secret goes to an issuer that was set here, never to one that an API has named. */
function applicationRegistration(options: TokenOptions): Promise<Registration> {
  const { issuer, 'tenant-id': tenantId } = options.profile
  if (issuer.value !== null || tenantId.value !== null) return findRegistration(options)
  const missing = 'an issuer beside the client secret (MATOOLKIT_TENANT_ID or MATOOLKIT_ISSUER)'
  throw new MatoolkitError('SIGN_IN_NOT_OFFERED', { url: apiUrlOf(options.profile), missing })
}

async function personToken(
  { profile, clock }: TokenOptions,
  isRefused: boolean,
): Promise<SignIn | null> {
  const key = signInKey(profile.name, apiUrlOf(profile))
  const seen = await readSignIn(key)
  if (!seen) return null
  if (!isRefused && isFresh(seen, clock)) return seen
  return alone(clock, async () => {
    const kept = await readSignIn(key)
    // Another process was faster.
    if (kept && kept.accessToken !== seen.accessToken && isFresh(kept, clock)) return kept
    return kept && renewKept(key, kept, clock)
  })
}

async function renewKept(key: string, kept: SignIn, clock: Clock): Promise<SignIn | null> {
  const { issuer, clientId, scope, refreshToken } = kept
  if (refreshToken === null) return null
  try {
    const granted = await renew({ issuer, clientId, scope }, refreshToken, clock)
    const renewed = { ...kept, ...granted }
    await keepSignIn(key, renewed)
    return renewed
  } catch (error) {
    const hasEnded = error instanceof MatoolkitError && error.code === 'SIGN_IN_FAILED'
    if (hasEnded) await forgetSignIn(key)
    throw error
  }
}

export const apiUrlOf = (profile: Profile): string => profile['api-url'].value!

/** A token is money: it is not sent where others can read it on its way. */
export function requireSafe(apiUrl: string): void {
  if (CLIENT_SETTINGS.issuer.read(apiUrl) === undefined) {
    throw new MatoolkitError('API_NOT_SECURE', { url: apiUrl })
  }
}

interface Offer {
  readonly mode: 'local' | 'oidc'
  readonly issuer: string | null
  readonly clientId: string | null
  readonly scope: string | null
}

/** Whom to sign in with: what the person has set, and for the rest what the API names. */
export async function findRegistration({ profile, clock }: TokenOptions): Promise<Registration> {
  const tenantId = profile['tenant-id'].value
  const set = {
    issuer: profile.issuer.value ?? (tenantId && entraIssuer(tenantId)),
    clientId: profile['client-id'].value,
    scope: profile['api-scope'].value,
  }
  const isWhole = Object.values(set).every((value) => value !== null)
  const offer = isWhole ? null : await askOffer(apiUrlOf(profile), clock)
  const issuer = set.issuer ?? offer?.issuer
  const clientId = set.clientId ?? offer?.clientId
  const scope = set.scope ?? offer?.scope
  const url = apiUrlOf(profile)
  const lacks = (missing: string) => new MatoolkitError('SIGN_IN_NOT_OFFERED', { url, missing })
  if (!issuer || CLIENT_SETTINGS.issuer.read(issuer) === undefined) {
    throw lacks('an issuer with https (tenant-id or issuer)')
  }
  if (!clientId) throw lacks('a client id (client-id)')
  if (!scope) throw lacks('a scope (api-scope)')
  if (isEntra(issuer) && !scope.includes('/')) {
    throw lacks(`the scope "${scope}" in full, such as api://{id}/${scope} (api-scope)`)
  }
  return { issuer, clientId, scope }
}

async function askOffer(apiUrl: string, clock: Clock): Promise<Offer> {
  const client = new Client({ apiUrl, clock, token: async () => null })
  const { body } = await client.get<Offer>('/api/sign-in')
  if (body.mode === 'local') throw new MatoolkitError('SIGN_IN_LOCAL', { url: apiUrl })
  return body
}
