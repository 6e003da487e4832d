// Whom to sign in with, and where a sign-in may be sent: what the person has set counts, and what is not set is asked of the API.

import { CLIENT_SETTINGS } from '../../client-settings.ts'
import type { Clock } from '../../clock.ts'
import { MatoolkitError } from '../../errors.ts'
import { AdminApiClient } from '../client.ts'
import type { Profile } from '../profile.ts'

/** Whom to ask, as which client, and for what. */
export interface Registration {
  readonly issuer: string
  readonly clientId: string
  readonly scope: string
}

export interface SignInOptions {
  readonly profile: Profile
  readonly clock: Clock
}

export const apiUrlOf = (profile: Profile): string => profile['api-url'].value!

/** A token is not sent where others can read it on its way. */
export function requireHttps(apiUrl: string): void {
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
export async function findRegistration({ profile, clock }: SignInOptions): Promise<Registration> {
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
  const client = new AdminApiClient({ apiUrl, clock, token: async () => null })
  const { body } = await client.get<Offer>('/api/sign-in')
  if (body.mode === 'local') throw new MatoolkitError('SIGN_IN_LOCAL', { url: apiUrl })
  return body
}

/** A secret goes to an issuer that was set here, never to one that an API has named. */
export function applicationRegistration(options: SignInOptions): Promise<Registration> {
  const { issuer, 'tenant-id': tenantId } = options.profile
  if (issuer.value !== null || tenantId.value !== null) return findRegistration(options)
  const missing = 'an issuer beside the client secret (MATOOLKIT_TENANT_ID or MATOOLKIT_ISSUER)'
  throw new MatoolkitError('SIGN_IN_NOT_OFFERED', { url: apiUrlOf(options.profile), missing })
}

const ENTRA =
  /^https:\/\/login\.(?:microsoftonline\.com|microsoftonline\.us|partner\.microsoftonline\.cn)\//

export const isEntra = (issuer: string): boolean => ENTRA.test(issuer)

const entraIssuer = (tenantId: string): string =>
  `https://login.microsoftonline.com/${tenantId}/v2.0`
