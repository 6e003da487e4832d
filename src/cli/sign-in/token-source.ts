// The access token of a request: MATOOLKIT_TOKEN, else the local token of `matoolkit up`, else that of the signed-in application or
// person.
import type { Clock } from '../../clock.ts'
import { readClientEnv } from '../../config.ts'
import { localTokenFor } from '../instances.ts'
import type { Profile } from '../profile.ts'

export interface TokenSourceOptions {
  readonly profile: Profile
  readonly clock: Clock
}

/** `isRefused`: the last token was refused, get another. */
export function tokenSource(
  options: TokenSourceOptions,
): (isRefused: boolean) => Promise<string | null> {
  const given = readClientEnv().token
  const apiUrl = options.profile['api-url'].value!
  let signedIn: ((isRefused: boolean) => Promise<string | null>) | undefined
  return async (isRefused) => {
    if (given !== undefined) return given
    // The token of an earlier `up` may be refused: another API may listen at its address today.
    const local = isRefused ? null : localTokenFor(apiUrl)
    if (local !== null) return local
    signedIn ??= (await import('./renewing-token.ts')).renewingToken(options)
    return signedIn(isRefused)
  }
}
