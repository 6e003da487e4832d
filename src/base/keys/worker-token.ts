// The token of a worker that takes its jobs through the API: an id by which the API finds it, and a secret of which the API keeps the hash.
// The prefix makes it known to scanners of leaked secrets, and keeps it apart from every other token.
import { createHash, randomBytes } from 'node:crypto'

const PREFIX = 'mtkw'
const ID_BYTES = 8
const SECRET_BYTES = 32
const TOKEN = /^mtkw_([0-9a-f]{16})_([\w-]{43})$/

/** The type in the header of what a worker signs with its certificate. No issuer's token has it. */
export const WORKER_ASSERTION_TYPE = 'mtkw+jwt'

export const newCredentialId = (): string => randomBytes(ID_BYTES).toString('hex')

export interface NewToken {
  readonly token: string
  readonly hash: string
}

export function newWorkerToken(credentialId: string): NewToken {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return { token: `${PREFIX}_${credentialId}_${secret}`, hash: hashOf(secret) }
}

export interface ReadToken {
  readonly credentialId: string
  readonly hash: string
}

/** Null when it is none. */
export function readWorkerToken(token: string): ReadToken | null {
  const parts = TOKEN.exec(token)
  return parts && { credentialId: parts[1]!, hash: hashOf(parts[2]!) }
}

export const startsLikeWorkerToken = (token: string): boolean => token.startsWith(`${PREFIX}_`)

/** 256 random bits need no slow hash. */
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')
