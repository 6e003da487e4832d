// Signing in to Azure Database for PostgreSQL as the machine's identity: an access token is the password, fetched for every new
// connection and cached by its lifetime. The server looks at it only when a connection begins, so a pool outlives it.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { isLoopback } from '../../base/keys/local-token.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import { tokenEndpointsOf } from '../../base/sign-in/clouds.ts'
import { makeTokens, SignInFault } from '../../base/sign-in/token.ts'

/** Source: the clouds of the Azure CLI, `az cloud list --query "[].endpoints.ossrdbmsResourceId"`. */
const AUDIENCES: Readonly<Record<Config['cloud'], string>> = {
  public: 'https://ossrdbms-aad.database.windows.net',
  usgov: 'https://ossrdbms-aad.database.usgovcloudapi.net',
  usdod: 'https://ossrdbms-aad.database.usgovcloudapi.net',
  china: 'https://ossrdbms-aad.database.chinacloudapi.cn',
}

/** What openPostgres needs to connect to the server of DATABASE_URL. Throws DATABASE_URL_UNFIT. */
export function databaseAccess(
  config: Config & { readonly databaseUrl: string },
  clock: Clock,
): { readonly url: string; readonly password?: () => Promise<string> } {
  const { databaseUrl: url, databaseSignIn, cloud, identityClientId: clientId } = config
  if (databaseSignIn === 'password') return { url }
  const tokens = makeTokens(clock, tokenEndpointsOf(config))
  const request = { from: 'machine', clientId, scope: `${AUDIENCES[cloud]}/.default` } as const
  const password = () => tokens.get(request).catch(tokenMissing)
  return { url: encrypted(url), password }
}

/** An identity service that does not answer is an outage, like a server that does not; a refusal is not. */
function tokenMissing(error: unknown): never {
  if (!(error instanceof SignInFault) || error.kind !== 'unreachable') throw error
  throw Object.assign(new Error(error.message, { cause: error }), {
    code: 'DATABASE_TOKEN_MISSING',
  })
}

/** The token travels as a password in clear text: only to a server that has proven who it is. */
function encrypted(text: string): string {
  const url = new URL(text)
  if (url.password !== '')
    throw unfit('has a password, and MATOOLKIT_DATABASE_SIGN_IN=identity uses none')
  if (url.username === '')
    throw unfit(
      'names no user; with MATOOLKIT_DATABASE_SIGN_IN=identity it is the name of the identity',
    )
  const mode = url.searchParams.get('sslmode')
  if (isLoopback(url.hostname) || mode === 'verify-full') return text
  if (mode !== null)
    throw unfit(
      `has sslmode=${mode}; MATOOLKIT_DATABASE_SIGN_IN=identity needs sslmode=verify-full`,
    )
  url.searchParams.set('sslmode', 'verify-full')
  return url.href
}

const unfit = (reason: string) => new MatoolkitError('DATABASE_URL_UNFIT', { reason })
