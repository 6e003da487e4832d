// The access token of a request: MATOOLKIT_TOKEN, else the local token of `matoolkit up`, else that of the signed-in application or
// person. No token leaves over plain http to another machine, and no local one before the other end has proven that it has it.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { isLocalToken, secondToken } from '../../base/keys/local-token.ts'
import type { Clock } from '../../base/run/clock.ts'
import { readClientEnv } from '../../base/settings/config.ts'
import { localTokenFor } from '../connection/instances.ts'
import type { Profile } from '../connection/profile.ts'
import { isOnThisMachine, requireProof } from './prove-local.ts'
import { requireHttps } from './registration.ts'

export interface TokenSourceOptions {
  readonly profile: Profile
  readonly clock: Clock
  /** Acts as the second person of a local API. */
  readonly isSecondPerson?: boolean
}

/** `isRefused`: the last token was refused, get another. Throws API_NOT_SECURE, API_UNPROVEN or API_UNREACHABLE. */
export function tokenSource(
  options: TokenSourceOptions,
): (isRefused: boolean) => Promise<string | null> {
  const given = readClientEnv().token
  const apiUrl = options.profile['api-url'].value!
  let signedIn: ((isRefused: boolean) => Promise<string | null>) | undefined
  return async (isRefused) => {
    const ready = given ?? localTokenFor(apiUrl)
    if (ready !== null) {
      requireHttps(apiUrl)
      // Each time: while a command runs, the API may stop and another program take its port.
      const isLocal = isLocalToken(ready) && isOnThisMachine(apiUrl)
      if (isLocal) await requireProof(apiUrl, ready)
      if (options.isSecondPerson && isLocal) return secondToken(ready)
      if (!options.isSecondPerson) return ready
    }
    if (options.isSecondPerson)
      throw new MatoolkitError('REFUSED', {
        reason: 'a second person exists only at an API of this machine; elsewhere people sign in',
      })
    signedIn ??= (await import('./renewing-token.ts')).renewingToken(options)
    return signedIn(isRefused)
  }
}
