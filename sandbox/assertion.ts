// Client assertions: a JWT signed with the application's certificate, or a token of a trusted issuer. Signature, audience,
// times and names are validated as Entra does; a sandbox that accepted anything would prove nothing about a worker's sign-in.

import {
  constants,
  createHash,
  createPublicKey,
  type KeyObject,
  verify,
  X509Certificate,
} from 'node:crypto'
import type { JsonObject } from './json.ts'
import type { Application } from './state.ts'

/** Why an assertion is rejected: the number after AADSTS, and its message. */
export class AssertionFault extends Error {
  override readonly name = 'AssertionFault'
  readonly number: number

  constructor(number: number, message: string) {
    super(message)
    this.number = number
  }
}

interface Assertion {
  readonly header: JsonObject
  readonly claims: JsonObject
  readonly signed: Buffer
  readonly signature: Buffer
}

const ASSERTION_CHARS_MAX = 20_000
/** Allowed clock skew. */
const SKEW_SEC = 300

function readAssertion(text: string): Assertion {
  const [header = '', claims = '', signature = ''] = text.split('.')
  try {
    if (text.length > ASSERTION_CHARS_MAX) throw new RangeError('too long')
    return {
      header: objectIn(header),
      claims: objectIn(claims),
      signed: Buffer.from(`${header}.${claims}`),
      signature: Buffer.from(signature, 'base64url'),
    }
  } catch {
    throw new AssertionFault(50027, 'JWT token is invalid or malformed.')
  }
}

function objectIn(part: string): JsonObject {
  const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  if (typeof value !== 'object' || value === null) throw new TypeError('no object')
  return value as JsonObject
}

/** Throws unless the assertion proves the application's identity. `audiences`: accepted URLs of the token endpoint. */
export function requireAssertion(
  text: string,
  application: Application,
  audiences: readonly string[],
  now: Date,
): void {
  const assertion = readAssertion(text)
  const { claims } = assertion
  const isOwn = claims.iss === application.clientId && claims.sub === application.clientId
  const key = isOwn
    ? certificateKey(assertion, application, now)
    : federatedKey(assertion, application)
  if (!isSignedBy(assertion, key))
    throw new AssertionFault(
      700027,
      'Client assertion failed signature validation. The certificate with identifier used to sign the client assertion is not the one registered.',
    )
  requireTimes(claims, now)
  if (isOwn && !audiences.includes(String(claims.aud)))
    throw new AssertionFault(
      700023,
      `Client assertion audience claim does not match Realm issuer: '${String(claims.aud)}'.`,
    )
}

function certificateKey(
  { header }: Assertion,
  { certificates }: Application,
  now: Date,
): KeyObject {
  const found = certificates
    .map((pem) => new X509Certificate(pem))
    .find(
      ({ raw }) =>
        header['x5t#S256'] === createHash('sha256').update(raw).digest('base64url') ||
        header.x5t === createHash('sha1').update(raw).digest('base64url'),
    )
  if (!found)
    throw new AssertionFault(
      700027,
      'Client assertion contains an invalid signature. [Reason - The key was not found.]',
    )
  if (found.validToDate < now)
    throw new AssertionFault(
      700027,
      'Client assertion contains an invalid signature. [Reason - The key used is expired.]',
    )
  return found.publicKey
}

function federatedKey({ claims }: Assertion, { federatedCredentials }: Application): KeyObject {
  const found = federatedCredentials.find(
    ({ issuer, subject }) => claims.iss === issuer && claims.sub === subject,
  )
  if (!found)
    throw new AssertionFault(
      700213,
      `No matching federated identity record found for presented assertion subject '${String(claims.sub)}'.`,
    )
  if (claims.aud !== found.audience)
    throw new AssertionFault(
      700212,
      `No matching federated identity record found for presented assertion audience '${String(claims.aud)}'.`,
    )
  return createPublicKey(found.publicKey)
}

function isSignedBy({ header, signed, signature }: Assertion, key: KeyObject): boolean {
  if (key.asymmetricKeyType !== 'rsa') return false
  if (header.alg === 'RS256') return verify('sha256', signed, key, signature)
  if (header.alg !== 'PS256') return false
  const padding = constants.RSA_PKCS1_PSS_PADDING
  return verify(
    'sha256',
    signed,
    { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    signature,
  )
}

function requireTimes(claims: JsonObject, now: Date): void {
  const nowSec = +now / 1000
  const { exp, nbf = 0 } = claims
  const isGood =
    typeof exp === 'number' &&
    typeof nbf === 'number' &&
    exp > nowSec - SKEW_SEC &&
    nbf < nowSec + SKEW_SEC
  if (isGood) return
  throw new AssertionFault(
    700024,
    `Client assertion is not within its valid time range. Current time: ${now.toISOString()}.`,
  )
}
