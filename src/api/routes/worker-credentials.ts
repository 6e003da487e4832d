// Credentials of workers that take their jobs through the API: create, list, rotate, revoke. A token is shown once, in the answer that makes
// it; nothing stores it, so these calls take no Idempotency-Key.
import { createHash, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { isLoopback } from '../../base/keys/local-token.ts'
import { newCredentialId, newWorkerToken } from '../../base/keys/worker-token.ts'
import type { Queryable } from '../../db/connection/db.ts'
import {
  countWorkerCredentials,
  endWorkerCredential,
  findWorkerCredential,
  insertWorkerCredential,
  listWorkerCredentials,
  revokeWorkerCredential,
  type WorkerCredential,
} from '../../db/orders/worker-credentials.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { change, read } from '../route.ts'
import {
  dateTime,
  nullableDateTime,
  nullableText,
  pageOf,
  pagingQuery,
  reason,
} from '../shapes/shapes.ts'

const DAY_MS = 24 * 3_600_000
const DAYS_DEFAULT = 365
const DAYS_MAX = 1_095
const OVERLAP_HOURS_DEFAULT = 24
const OVERLAP_HOURS_MAX = 720
const RSA_BITS_MIN = 2_048
const CERTIFICATE_CHARS_MAX = 16_384

const workerId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, 'must be a worker id: letters, digits, "_", ".", "-"')
const credentialId = z.string().regex(/^[0-9a-f]{16}$/, 'must be the id of a credential')

const credential = z
  .strictObject({
    id: z.string(),
    workerId: z.string(),
    kind: z.enum(['token', 'certificate']),
    thumbprint: nullableText.meta({ description: 'SHA-256 of the certificate in base64url.' }),
    address: nullableText.meta({ description: 'The address of the API for which it signs.' }),
    state: z.enum(['valid', 'expired', 'revoked']),
    createdAt: dateTime,
    createdBy: z.string(),
    endsAt: dateTime,
    lastUsedAt: nullableDateTime.meta({ description: 'To within five minutes.' }),
    revokedAt: nullableDateTime,
    revokedBy: nullableText,
  })
  .meta({ id: 'WorkerCredential' })

const newCredential = z
  .strictObject({
    credential,
    token: nullableText.meta({ description: 'Shown this once; null for a certificate.' }),
  })
  .meta({ id: 'NewWorkerCredential' })

const certificate = z.string().min(1).max(CERTIFICATE_CHARS_MAX).optional().meta({
  description: 'PEM, without its private key. Without it a token is made.',
})
const address = z
  .url({ protocol: /^https?$/ })
  .max(500)
  .transform((url) => new URL(url).origin)
  .refine(isSecure, 'must be an address with https')
  .optional()
  .meta({ description: 'With a certificate: the address of the API as the worker knows it.' })

function isSecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || isLoopback(hostname)
}

const shown = (given: WorkerCredential, now: Date) => {
  const { tokenHash, certificate, ...rest } = given
  return { ...rest, state: stateOf(given, now) }
}

function stateOf({ revokedAt, endsAt }: WorkerCredential, now: Date) {
  if (revokedAt) return 'revoked' as const
  return endsAt <= now ? ('expired' as const) : ('valid' as const)
}

interface Wanted {
  readonly certificate?: string | undefined
  readonly address?: string | undefined
  readonly days: number
}

interface Made {
  readonly credential: WorkerCredential
  readonly token: string | null
}

function made(worker: string, wanted: Wanted, by: string, now: Date): Made {
  const latest = new Date(+now + wanted.days * DAY_MS)
  const id = newCredentialId()
  const common = {
    id,
    workerId: worker,
    createdAt: now,
    createdBy: by,
    lastUsedAt: null,
    revokedAt: null,
    revokedBy: null,
  }
  if (wanted.certificate === undefined) {
    const { token, hash: tokenHash } = newWorkerToken(id)
    const none = { certificate: null, thumbprint: null, address: null }
    return { credential: { ...common, ...none, kind: 'token', tokenHash, endsAt: latest }, token }
  }
  const { pem, thumbprint, endsAt } = readOpenCertificate(wanted.certificate, now)
  if (wanted.address === undefined)
    throw new MatoolkitError('WORKER_CERTIFICATE_UNFIT', {
      reason: 'no "address" was sent with it',
    })
  return {
    credential: {
      ...common,
      kind: 'certificate',
      tokenHash: null,
      certificate: pem,
      thumbprint,
      address: wanted.address,
      endsAt: endsAt < latest ? endsAt : latest,
    },
    token: null,
  }
}

/** Throws WORKER_CERTIFICATE_UNFIT. */
function readOpenCertificate(text: string, now: Date) {
  const unfit = (why: string) => new MatoolkitError('WORKER_CERTIFICATE_UNFIT', { reason: why })
  if (/PRIVATE KEY/.test(text))
    throw unfit('it was sent with its private key, which others may have seen: make a new one')
  let found: X509Certificate
  try {
    found = new X509Certificate(text)
  } catch (error) {
    throw unfit(`it cannot be read (${messageOf(error)})`)
  }
  const { publicKey: key } = found
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType !== 'rsa' || bits < RSA_BITS_MIN)
    throw unfit(`its key must be an RSA key of ${RSA_BITS_MIN} bits or more`)
  const endsAt = new Date(found.validTo)
  if (endsAt <= now) throw unfit(`it expired at ${endsAt.toISOString()}`)
  const thumbprint = createHash('sha256').update(found.raw).digest('base64url')
  return { pem: found.toString(), thumbprint, endsAt }
}

async function loadOwn(db: Queryable, worker: string, id: string): Promise<WorkerCredential> {
  const found = await findWorkerCredential(db, id)
  if (found?.workerId === worker) return found
  throw new MatoolkitError('WORKER_CREDENTIAL_NOT_FOUND', { workerId: worker, credentialId: id })
}

const subjectOf = (worker: string) => `worker ${worker}`
const noted = ({ id, kind, thumbprint, endsAt }: WorkerCredential) => ({
  credentialId: id,
  kind,
  thumbprint,
  endsAt: endsAt.toISOString(),
})

const SORT = 'worker'

const listRoute = read({
  method: 'GET',
  path: '/api/worker-credentials',
  operation: 'listWorkerCredentials',
  tag: 'service',
  summary: 'List the credentials of workers that come through the API',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({ ...pagingQuery, workerId: workerId.optional() }),
  answers: { 200: pageOf('credentials', credential) },
  handle: async ({ engine: { db }, query, now }) => {
    const { limit, cursor, workerId: worker = null } = query
    const place = readCursor(SORT, cursor, (value) => /^\S+ [0-9a-f]{16}$/.test(value))?.value
    const [of, id] = place?.split(' ') ?? []
    const after = of === undefined ? null : { workerId: of, id: id! }
    const found = await listWorkerCredentials(db, worker, after, limit + 1)
    const { rows, next } = pageFrom(found, limit, SORT, (row) => ({
      value: `${row.workerId} ${row.id}`,
      id: 0,
    }))
    const total = await countWorkerCredentials(db, worker)
    const credentials = rows.map((row) => shown(row, now))
    return { status: 200, body: { credentials, total, isTotalExact: true, next } }
  },
})

const MAKING = [
  'WORKER_CREDENTIALS_FULL',
  'WORKER_CERTIFICATE_TAKEN',
  'WORKER_CERTIFICATE_UNFIT',
] as const

const days = z.int().min(1).max(DAYS_MAX).default(DAYS_DEFAULT).meta({
  description: 'How long it is valid; a certificate no longer than it says itself.',
})

const createRoute = change({
  method: 'POST',
  path: '/api/workers/{workerId}/credentials',
  operation: 'createWorkerCredential',
  tag: 'service',
  summary: 'Give a worker a credential for taking its jobs through the API',
  about: 'It proves this worker id and opens nothing else. The token is shown this once.',
  rule: 'admin',
  action: 'worker.credential_create',
  errors: MAKING,
  takes: 'json',
  params: z.strictObject({ workerId }),
  body: z.strictObject({ certificate, address, days, reason: reason.optional() }),
  answers: { 201: newCredential },
  handle: async ({ engine: { db }, params, body, by, now }) => {
    const fresh = made(params.workerId, body, by.name, now)
    await db.transaction((tx) => insertWorkerCredential(tx, fresh.credential))
    return {
      status: 201,
      body: { credential: shown(fresh.credential, now), token: fresh.token },
      auditNote: {
        subject: subjectOf(params.workerId),
        reason: body.reason ?? null,
        after: noted(fresh.credential),
      },
    }
  },
})

const rotateRoute = change({
  method: 'POST',
  path: '/api/workers/{workerId}/credentials/{credentialId}/rotate',
  operation: 'rotateWorkerCredential',
  tag: 'service',
  summary: 'Replace a credential; the old one works on for a while',
  rule: 'admin',
  action: 'worker.credential_rotate',
  errors: [...MAKING, 'WORKER_CREDENTIAL_NOT_FOUND', 'WORKER_CREDENTIAL_ENDED'],
  takes: 'json',
  params: z.strictObject({ workerId, credentialId }),
  body: z.strictObject({
    certificate,
    address,
    days,
    reason: reason.optional(),
    overlapHours: z.number().min(0).max(OVERLAP_HOURS_MAX).default(OVERLAP_HOURS_DEFAULT).meta({
      description: 'How long the old one works on, unless it ends sooner.',
    }),
  }),
  answers: {
    201: newCredential.extend({ replaced: credential }).meta({ id: 'RotatedWorkerCredential' }),
  },
  handle: async ({ engine: { db }, params, body, by, now }) => {
    const old = await loadOwn(db, params.workerId, params.credentialId)
    if (stateOf(old, now) !== 'valid')
      throw new MatoolkitError('WORKER_CREDENTIAL_ENDED', { ...params })
    const wanted = { ...body, address: body.address ?? old.address ?? undefined }
    const fresh = made(params.workerId, wanted, by.name, now)
    const endsAt = await db.transaction(async (tx) => {
      await insertWorkerCredential(tx, fresh.credential)
      return endWorkerCredential(tx, old.id, new Date(+now + body.overlapHours * 3_600_000))
    })
    const replaced = { ...old, endsAt }
    return {
      status: 201,
      body: {
        credential: shown(fresh.credential, now),
        token: fresh.token,
        replaced: shown(replaced, now),
      },
      auditNote: {
        subject: subjectOf(params.workerId),
        reason: body.reason ?? null,
        before: noted(replaced),
        after: noted(fresh.credential),
      },
    }
  },
})

const revokeRoute = change({
  method: 'POST',
  path: '/api/workers/{workerId}/credentials/{credentialId}/revoke',
  operation: 'revokeWorkerCredential',
  tag: 'service',
  summary: 'Revoke a credential at once',
  about: 'What the worker runs ends there; the results are refused, and the jobs go to others.',
  rule: 'admin',
  action: 'worker.credential_revoke',
  errors: ['WORKER_CREDENTIAL_NOT_FOUND'],
  takes: 'json',
  params: z.strictObject({ workerId, credentialId }),
  body: z.strictObject({ reason }),
  answers: { 200: z.strictObject({ credential }).meta({ id: 'RevokedWorkerCredential' }) },
  handle: async ({ engine: { db }, params, body, by, now }) => {
    await loadOwn(db, params.workerId, params.credentialId)
    const isNew = await db.transaction((tx) =>
      revokeWorkerCredential(tx, params.credentialId, now, by.name),
    )
    const revoked = await loadOwn(db, params.workerId, params.credentialId)
    return {
      status: 200,
      body: { credential: shown(revoked, now) },
      auditNote: isNew
        ? { subject: subjectOf(params.workerId), reason: body.reason, after: noted(revoked) }
        : null,
    }
  },
})

export const WORKER_CREDENTIAL_ROUTES = [listRoute, createRoute, rotateRoute, revokeRoute]
