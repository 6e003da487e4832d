// Issuer, client id and scope of a sign-in: from the profile, and what is missing from the API. Secrets go only to issuers that the
// user has set.

import type { Answer } from '../../api/client/endpoints.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { CLIENT_SETTINGS } from '../../base/settings/client.ts'
import { openClient } from '../connection/client.ts'
import type { Profile } from '../connection/profile.ts'

/** Issuer, client and scope of a sign-in. */
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

/** A token is never sent over plain http to another machine. */
export function requireHttps(apiUrl: string): void {
  if (CLIENT_SETTINGS.issuer.read(apiUrl) === undefined) {
    throw new MatoolkitError('API_NOT_SECURE', { url: apiUrl })
  }
}

type SignInOffer = Answer<'GET /api/sign-in'>

/** Profile values first; the API supplies the rest. */
export async function findRegistration({ profile, clock }: SignInOptions): Promise<Registration> {
  const tenantId = profile['tenant-id'].value
  const set = {
    issuer: profile.issuer.value ?? (tenantId && entraIssuer(tenantId)),
    clientId: profile['client-id'].value,
    scope: profile['api-scope'].value,
  }
  const isWhole = Object.values(set).every((value) => value !== null)
  const offer = isWhole ? null : await loadOffer(apiUrlOf(profile), clock)
  const issuer = set.issuer ?? offer?.issuer
  const clientId = set.clientId ?? offer?.clientId
  const scope = set.scope ?? offer?.scope
  const url = apiUrlOf(profile)
  const incomplete = (missing: string) =>
    new MatoolkitError('SIGN_IN_NOT_OFFERED', { url, missing })
  if (!issuer || CLIENT_SETTINGS.issuer.read(issuer) === undefined) {
    throw incomplete('an issuer with https (tenant-id or issuer)')
  }
  if (!clientId) throw incomplete('a client id (client-id)')
  if (!scope) throw incomplete('a scope (api-scope)')
  if (isEntra(issuer) && !scope.includes('/')) {
    throw incomplete(`the scope "${scope}" in full, such as api://{id}/${scope} (api-scope)`)
  }
  return { issuer, clientId, scope }
}

async function loadOffer(apiUrl: string, clock: Clock): Promise<SignInOffer> {
  const client = openClient({ apiUrl, clock, token: async () => null })
  const offer = await client.call('GET /api/sign-in')
  if (offer.mode === 'local') throw new MatoolkitError('SIGN_IN_LOCAL', { url: apiUrl })
  return offer
}

/** A secret goes only to an issuer that is set here, never to one that an API names. */
export function applicationRegistration(options: SignInOptions): Promise<Registration> {
  const { issuer, 'tenant-id': tenantId } = options.profile
  if (issuer.value !== null || tenantId.value !== null) return findRegistration(options)
  const missing = 'an issuer for the client secret (MATOOLKIT_TENANT_ID or MATOOLKIT_ISSUER)'
  throw new MatoolkitError('SIGN_IN_NOT_OFFERED', { url: apiUrlOf(options.profile), missing })
}

const ENTRA =
  /^https:\/\/login\.(?:microsoftonline\.com|microsoftonline\.us|partner\.microsoftonline\.cn)\//

export const isEntra = (issuer: string): boolean => ENTRA.test(issuer)

const entraIssuer = (tenantId: string): string =>
  `https://login.microsoftonline.com/${tenantId}/v2.0`
