// Which access token a request carries: one that is given as it is, the local one of `matoolkit up`, an application's, or the one
// that a person signed in for, renewed in silence when it has run out. The first of these that there is.
import type { Clock } from '../../clock.ts'
import { readClientEnv } from '../../config.ts'
import { localTokenFor } from '../local-api.ts'
import type { Profile } from '../profile.ts'

export interface TokenSourceOptions {
  readonly profile: Profile
  readonly clock: Clock
}

/** `isRefused`: the last one was; another is wanted. */
export function tokenSource(
  options: TokenSourceOptions,
): (isRefused: boolean) => Promise<string | null> {
  const given = readClientEnv().token
  const apiUrl = options.profile['api-url'].value!
  let signedIn: ((isRefused: boolean) => Promise<string | null>) | undefined
  return async (isRefused) => {
    if (given !== undefined) return given
    // What `up` left behind may stand at an address where another API listens today.
    const local = isRefused ? null : localTokenFor(apiUrl)
    if (local !== null) return local
    signedIn ??= (await import('./renewing-token.ts')).renewingToken(options)
    return signedIn(isRefused)
  }
}
