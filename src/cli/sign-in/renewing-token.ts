// The access token of whoever is signed in: an application that the environment names, or a person, renewed in silence when it
// is about to run out or was refused. Within one command it is looked up once. Loaded only where there is neither a given token
// nor a local one, and what talks to issuers only when one has to be asked.
import type { Clock } from '../../clock.ts'
import { readClientEnv } from '../../config.ts'
import { MatoolkitError } from '../../errors.ts'
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

/** What is left must do for the request that it is for. */
const LEFT_MS = 60_000

const isFresh = ({ expiresAt }: GrantedToken, clock: Clock): boolean =>
  +new Date(expiresAt) - +clock.now() > LEFT_MS

/** Null when nobody is signed in. */
export function renewingToken(
  options: SignInOptions,
): (isRefused: boolean) => Promise<string | null> {
  const { profile, clock } = options
  const secret = readClientEnv().clientSecret
  let known: GrantedToken | null = null
  return async (isRefused) => {
    if (known && !isRefused && isFresh(known, clock)) return known.accessToken
    requireHttps(apiUrlOf(profile))
    known =
      secret === undefined
        ? await personToken(options, isRefused)
        : await applicationToken(options, secret)
    return known?.accessToken ?? null
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
    const kept = await readSignIn(key)
    // Another process was faster.
    if (kept && kept.accessToken !== seen.accessToken && isFresh(kept, clock)) return kept
    return kept && renewKept(key, kept, clock)
  })
}

async function renewKept(
  key: string,
  kept: StoredSignIn,
  clock: Clock,
): Promise<StoredSignIn | null> {
  const { issuer, clientId, scope, refreshToken } = kept
  if (refreshToken === null) return null
  const { refreshSignIn } = await import('./issuer.ts')
  try {
    const granted = await refreshSignIn({ issuer, clientId, scope }, refreshToken, clock)
    const renewed = { ...kept, ...granted }
    await saveSignIn(key, renewed)
    return renewed
  } catch (error) {
    const hasEnded = error instanceof MatoolkitError && error.code === 'SIGN_IN_FAILED'
    if (hasEnded) await removeSignIn(key)
    throw error
  }
}
