// Sign-in with access tokens of an OpenID Connect issuer: Entra ID (versions 1.0 and 2.0) or any other that follows the standard.
// `jose` checks signature, algorithm, issuer, audience and times. This file checks the rest: tenant and version fit the issuer, roles
// are a list of texts, and the token has our scope or belongs to a listed application. A caller's id is tenant and object (elsewhere
// issuer and subject), because names and addresses can be reassigned.

import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import { sameName } from '../../base/text/same-name.ts'
import { IssuerKeys } from './oidc-keys.ts'
import {
  API_ROLES,
  type ApiRole,
  refuseToken,
  type SignedIn,
  type SignInMethod,
} from './sign-in.ts'

const CLOCK_TOLERANCE_SEC = 60
const GUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** RS256 as Entra uses, or ES256. Never HS256: anyone could sign with the public key. */
const ALGORITHMS = ['RS256', 'ES256']

export interface OidcSettings {
  readonly issuers: readonly string[]
  readonly audiences: readonly string[]
  /** The scope that a person's token needs. */
  readonly scope: string
  /** Applications that may call without a person. */
  readonly apps: readonly string[]
  /** The public client through which people sign in. */
  readonly clientId: string | null
  readonly now: () => Date
}

interface Issuer {
  readonly name: string
  readonly keys: IssuerKeys
  /** Null for an issuer other than Entra ID. */
  readonly entra: { readonly tenant: string; readonly version: '1.0' | '2.0' } | null
}

/** Entra's issuers are `https://login…/{tenant}/v2.0` and, for version 1, `https://sts…/{tenant}/`. */
export function entraOf(issuer: string): Issuer['entra'] {
  const path = new URL(issuer).pathname
  const found = new RegExp(`^/(${GUID})/(v2\\.0)?$`, 'i').exec(path)
  return found && { tenant: found[1]!.toLowerCase(), version: found[2] ? '2.0' : '1.0' }
}

export function oidcSignIn(settings: OidcSettings): SignInMethod {
  const issuers = new Map(
    settings.issuers.map((name): [string, Issuer] => [
      name,
      { name, keys: new IssuerKeys(name, settings.now), entra: entraOf(name) },
    ]),
  )
  return {
    mode: 'oidc',
    authenticate: async (token) => {
      const issuer = issuers.get(issuerNamed(token))
      if (!issuer) return refuseToken('its issuer is not trusted here')
      const payload = await verified(token, issuer, settings)
      return signedIn(payload, issuer, settings)
    },
  }
}

/** The unverified issuer of the token, used only to choose the keys. */
function issuerNamed(token: string): string {
  try {
    return decodeJwt(token).iss ?? ''
  } catch (error) {
    return refuseToken('it is not a JSON web token', error)
  }
}

async function verified(
  token: string,
  issuer: Issuer,
  { audiences, now }: OidcSettings,
): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, issuer.keys.find, {
      algorithms: ALGORITHMS,
      issuer: issuer.name,
      audience: [...audiences],
      clockTolerance: CLOCK_TOLERANCE_SEC,
      currentDate: now(),
      requiredClaims: issuer.entra ? ['exp', 'iat', 'nbf', 'tid', 'oid', 'ver'] : ['exp', 'sub'],
    })
    const { typ } = protectedHeader
    if (typ !== undefined && !/^(?:application\/)?(?:at\+)?jwt$/i.test(typ)) {
      return refuseToken('it is not an access token')
    }
    return payload
  } catch (error) {
    if (error instanceof errors.JOSEError) return refuseToken(whyRefused(error), error)
    throw error
  }
}

/** For the caller: enough to find the mistake, nothing about keys. */
function whyRefused(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim "${error.claim}" is wrong`
  return 'its signature is invalid'
}

function signedIn(payload: JWTPayload, issuer: Issuer, settings: OidcSettings): SignedIn {
  if (issuer.entra) checkEntra(payload, issuer.entra)
  const roles = rolesIn(payload)
  const clientApp =
    textIn(payload, 'azp') ?? textIn(payload, 'appid') ?? textIn(payload, 'client_id') ?? null
  const id = issuer.entra
    ? `${payload.tid}/${payload.oid}`.toLowerCase()
    : `${issuer.name}/${payload.sub}`
  const names = ['preferred_username', 'upn', 'name'].map((claim) => textIn(payload, claim))
  const actor = { id, name: names.find((name) => name) ?? id, roles, clientApp }
  const isForApp = issuer.entra
    ? payload.idtyp === 'app' || scopesIn(payload) === null
    : clientApp === null || clientApp !== settings.clientId
  return {
    actor,
    lacks: isForApp ? lackOfApp(actor, settings) : lackOfPerson(payload, settings),
    tokenEndsAt: new Date(payload.exp! * 1_000),
  }
}

function checkEntra(
  { aud, tid, oid, ver }: JWTPayload,
  { tenant, version }: NonNullable<Issuer['entra']>,
): void {
  if (typeof aud !== 'string') refuseToken('its "aud" is a list')
  if (typeof tid !== 'string' || !sameName(tid, tenant))
    refuseToken('its "tid" is not the issuer’s tenant')
  if (ver !== version) refuseToken('its "ver" is not the issuer’s version')
  if (typeof oid !== 'string' || oid === '') refuseToken('it has no "oid"')
}

function rolesIn({ roles = [] }: JWTPayload): ApiRole[] {
  if (!Array.isArray(roles) || roles.some((role) => typeof role !== 'string')) {
    return refuseToken('its "roles" is not a list of texts')
  }
  return API_ROLES.filter((role) => roles.includes(role))
}

/**
 * Entra marks applications. Elsewhere nothing does so reliably: client credentials may carry scopes and a subject of their own. There a
 * token is a person's only if it was issued to the public client, which cannot get one without a person.
 */
function lackOfApp(
  { roles, clientApp }: Pick<SignedIn['actor'], 'roles' | 'clientApp'>,
  { apps, scope }: OidcSettings,
): string | null {
  if (roles.length === 0) return `the scope ${scope}`
  return clientApp !== null && apps.includes(clientApp)
    ? null
    : 'to be listed in MATOOLKIT_OIDC_APPS'
}

const lackOfPerson = (payload: JWTPayload, { scope }: OidcSettings): string | null =>
  scopesIn(payload)?.includes(scope) ? null : `the scope ${scope}`

function scopesIn({ scp, scope }: JWTPayload): readonly unknown[] | null {
  const given = scp ?? scope
  if (given === undefined) return null
  return Array.isArray(given) ? given : typeof given === 'string' ? given.split(' ') : []
}

function textIn(payload: JWTPayload, claim: string): string | undefined {
  const value = payload[claim]
  return typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined
}
