// Sign-in of a worker that takes its jobs through the API: by its token, or by what it signed with the key of its certificate. Both prove one
// worker id, and give access to the calls of that worker only. Each call looks the credential up, so that a revoked one ends at once.
import { timingSafeEqual, X509Certificate } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import {
  readWorkerToken,
  startsLikeWorkerToken,
  WORKER_ASSERTION_TYPE,
} from '../../base/keys/worker-token.ts'
import type { Queryable } from '../../db/connection/db.ts'
import {
  findCredentialOfCertificate,
  findWorkerCredential,
  noteCredentialUse,
  type WorkerCredential,
} from '../../db/orders/worker-credentials.ts'
import { refuseToken, type SignedIn } from './sign-in.ts'

/** The key of the certificate is an RSA key. */
const ALGORITHMS = ['PS256']
const CLOCK_TOLERANCE_SEC = 60
/** Of what a worker signs; a longer life would make it a token. */
const LIFE_MAX_SEC = 900
const USE_NOTED_EVERY_MS = 300_000

/** Whether a token is a worker's, whatever it is worth. */
export function isOfWorker(token: string): boolean {
  if (startsLikeWorkerToken(token)) return true
  try {
    return decodeProtectedHeader(token).typ === WORKER_ASSERTION_TYPE
  } catch {
    return false
  }
}

/** Throws TOKEN_REFUSED. */
export async function signInWorker(db: Queryable, token: string, now: Date): Promise<SignedIn> {
  const credential = startsLikeWorkerToken(token)
    ? await ofToken(db, token)
    : await ofAssertion(db, token, now)
  if (credential.revokedAt) return refuseToken('the credential of the worker was revoked')
  if (credential.endsAt <= now) return refuseToken('the credential of the worker has expired')
  const { id, workerId, lastUsedAt, endsAt } = credential
  if (lastUsedAt === null || +now - +lastUsedAt >= USE_NOTED_EVERY_MS)
    await noteCredentialUse(db, id, now)
  const actor = { id: `worker/${workerId}`, name: `worker ${workerId}`, roles: [], clientApp: id }
  return {
    actor: { ...actor, worker: { id: workerId, kind: credential.kind } },
    lacks: null,
    tokenEndsAt: endsAt,
  }
}

const UNKNOWN = 'it is not the credential of a worker'

async function ofToken(db: Queryable, token: string): Promise<WorkerCredential> {
  const read = readWorkerToken(token)
  const found = read && (await findWorkerCredential(db, read.credentialId))
  if (!found?.tokenHash) return refuseToken(UNKNOWN)
  const isSame = timingSafeEqual(Buffer.from(read!.hash), Buffer.from(found.tokenHash))
  return isSame ? found : refuseToken(UNKNOWN)
}

async function ofAssertion(db: Queryable, token: string, now: Date): Promise<WorkerCredential> {
  const thumbprint = decodeProtectedHeader(token)['x5t#S256']
  const isThumbprint = typeof thumbprint === 'string' && /^[\w-]{43}$/.test(thumbprint)
  const found = isThumbprint ? await findCredentialOfCertificate(db, thumbprint) : null
  if (!found?.certificate) return refuseToken(UNKNOWN)
  const payload = await verified(token, found, now)
  const { iat = 0, exp = 0 } = payload
  if (exp - iat > LIFE_MAX_SEC) return refuseToken(`it is valid for more than ${LIFE_MAX_SEC} s`)
  return found
}

async function verified(
  token: string,
  { certificate, workerId, address }: WorkerCredential,
  now: Date,
): Promise<JWTPayload> {
  try {
    const key = new X509Certificate(certificate!).publicKey
    const { payload } = await jwtVerify(token, key, {
      algorithms: ALGORITHMS,
      typ: WORKER_ASSERTION_TYPE,
      issuer: workerId,
      subject: workerId,
      audience: address!,
      currentDate: now,
      clockTolerance: CLOCK_TOLERANCE_SEC,
      requiredClaims: ['exp', 'iat', 'nbf', 'jti'],
    })
    return payload
  } catch (error) {
    if (error instanceof errors.JOSEError) return refuseToken(whyRefused(error), error)
    throw error
  }
}

function whyRefused(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'it has expired; check the clock of the worker'
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'its signature is invalid'
  if (error.claim === 'nbf' || error.claim === 'iat')
    return 'it is not valid yet; check the clock of the worker'
  if (error.claim === 'aud')
    return 'it was signed for another address than that of the credential; see "matoolkit worker credential list"'
  return `its claim "${error.claim}" is wrong`
}
