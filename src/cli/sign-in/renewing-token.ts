// The access token of the signed-in application or person, renewed when it is about to expire or was refused, and cached for the
// command. The issuer code is loaded only when a renewal is needed.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { readClientEnv } from '../../base/settings/config.ts'
import type { GrantedToken } from './issuer.ts'
import {
  apiUrlOf,
  applicationRegistration,
  requireHttps,
  type SignInOptions,
} from './registration.ts'
import {
  readSignIn,
  removeSignIn,
  type StoredSignIn,
  saveSignIn,
  signInKey,
  withSignInLock,
} from './store.ts'

/** A token must outlast the request it is for. */
const LEFT_MS = 60_000

const isFresh = ({ expiresAt }: GrantedToken, clock: Clock): boolean =>
  +new Date(expiresAt) - +clock.now() > LEFT_MS

/** Null if nobody is signed in. */
export function renewingToken(
  options: SignInOptions,
): (isRefused: boolean) => Promise<string | null> {
  const { profile, clock } = options
  const secret = readClientEnv().clientSecret
  let cached: GrantedToken | null = null
  return async (isRefused) => {
    if (cached && !isRefused && isFresh(cached, clock)) return cached.accessToken
    requireHttps(apiUrlOf(profile))
    cached =
      secret === undefined
        ? await personToken(options, isRefused)
        : await applicationToken(options, secret)
    return cached?.accessToken ?? null
  }
}

async function applicationToken(options: SignInOptions, secret: string): Promise<GrantedToken> {
  const registration = await applicationRegistration(options)
  const { signInAsApplication } = await import('./issuer.ts')
  return signInAsApplication(registration, secret, options.clock)
}

async function personToken(
  { profile, clock }: SignInOptions,
  isRefused: boolean,
): Promise<StoredSignIn | null> {
  const key = signInKey(profile.name, apiUrlOf(profile))
  const seen = await readSignIn(key)
  if (!seen) return null
  if (!isRefused && isFresh(seen, clock)) return seen
  return withSignInLock(clock, async () => {
    const stored = await readSignIn(key)
    // Another process has renewed it.
    if (stored && stored.accessToken !== seen.accessToken && isFresh(stored, clock)) return stored
    return stored && renew(key, stored, clock)
  })
}

async function renew(
  key: string,
  stored: StoredSignIn,
  clock: Clock,
): Promise<StoredSignIn | null> {
  const { issuer, clientId, scope, refreshToken } = stored
  if (refreshToken === null) return null
  const { refreshSignIn } = await import('./issuer.ts')
  try {
    const granted = await refreshSignIn({ issuer, clientId, scope }, refreshToken, clock)
    const renewed = { ...stored, ...granted }
    await saveSignIn(key, renewed)
    return renewed
  } catch (error) {
    const hasEnded = error instanceof MatoolkitError && error.code === 'SIGN_IN_FAILED'
    if (hasEnded) await removeSignIn(key)
    throw error
  }
}
