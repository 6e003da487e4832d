// The credentials of workers that take their jobs through the API. Rows stay after they were revoked: they say who had access, and that the
// worker's jobs are taken here.
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable, Tx } from '../connection/db.ts'

export interface WorkerCredential {
  readonly id: string
  readonly workerId: string
  readonly kind: 'token' | 'certificate'
  /** SHA-256 of the token in hex. */
  readonly tokenHash: string | null
  /** PEM, without the private key. */
  readonly certificate: string | null
  /** SHA-256 of the certificate in base64url. */
  readonly thumbprint: string | null
  /** The API's address for which the worker signs. */
  readonly address: string | null
  readonly createdAt: Date
  readonly createdBy: string
  readonly endsAt: Date
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
  readonly revokedBy: string | null
}

export type NewWorkerCredential = Omit<WorkerCredential, 'lastUsedAt' | 'revokedAt' | 'revokedBy'>

const COLUMNS = `id, worker_id as "workerId", kind, token_hash as "tokenHash", certificate, thumbprint, address, created_at as "createdAt",
  created_by as "createdBy", ends_at as "endsAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt", revoked_by as "revokedBy"`

/** Live ones of a worker: one or two for each of its processes, and those that are being replaced. */
export const LIVE_MAX = 20

/** Throws WORKER_CREDENTIALS_FULL or WORKER_CERTIFICATE_TAKEN. */
export async function insertWorkerCredential(tx: Tx, given: NewWorkerCredential): Promise<void> {
  const { workerId, thumbprint, createdAt } = given
  // One at a time for a worker, so that the limit holds.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('worker_credentials ' || $1, 0))`, [
    workerId,
  ])
  const [live] = await tx.query<{ count: number }>(
    'select count(*)::int as count from worker_credentials where worker_id = $1 and revoked_at is null and ends_at > $2',
    [workerId, createdAt],
  )
  if (live!.count >= LIVE_MAX)
    throw new MatoolkitError('WORKER_CREDENTIALS_FULL', { workerId, limit: LIVE_MAX })
  const inserted = await tx.query(
    `insert into worker_credentials (id, worker_id, kind, token_hash, certificate, thumbprint, address, created_at, created_by, ends_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (thumbprint) where revoked_at is null do nothing returning id`,
    [
      given.id,
      workerId,
      given.kind,
      given.tokenHash,
      given.certificate,
      thumbprint,
      given.address,
      createdAt,
      given.createdBy,
      given.endsAt,
    ],
  )
  if (inserted.length === 0)
    throw new MatoolkitError('WORKER_CERTIFICATE_TAKEN', { thumbprint: thumbprint ?? '' })
}

export async function findWorkerCredential(
  db: Queryable,
  id: string,
): Promise<WorkerCredential | null> {
  const found = await db.query<WorkerCredential>(
    `select ${COLUMNS} from worker_credentials where id = $1`,
    [id],
  )
  return found[0] ?? null
}

export async function findCredentialOfCertificate(
  db: Queryable,
  thumbprint: string,
): Promise<WorkerCredential | null> {
  const found = await db.query<WorkerCredential>(
    `select ${COLUMNS} from worker_credentials where thumbprint = $1 and revoked_at is null`,
    [thumbprint],
  )
  return found[0] ?? null
}

/** By worker and id, after the last one of the page before. */
export async function listWorkerCredentials(
  db: Queryable,
  workerId: string | null,
  after: Pick<WorkerCredential, 'workerId' | 'id'> | null,
  limit: number,
): Promise<WorkerCredential[]> {
  return db.query<WorkerCredential>(
    `select ${COLUMNS} from worker_credentials
      where ($1::text is null or worker_id = $1) and ($2::text is null or (worker_id, id) > ($2, $3::text))
      order by worker_id, id limit $4`,
    [workerId, after?.workerId ?? null, after?.id ?? null, limit],
  )
}

export async function countWorkerCredentials(
  db: Queryable,
  workerId: string | null,
): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'select count(*)::int as count from worker_credentials where $1::text is null or worker_id = $1',
    [workerId],
  )
  return row!.count
}

/** Never later than it ends already. */
export async function endWorkerCredential(tx: Tx, id: string, at: Date): Promise<Date> {
  const [row] = await tx.query<{ endsAt: Date }>(
    'update worker_credentials set ends_at = least(ends_at, greatest($2, created_at)) where id = $1 returning ends_at as "endsAt"',
    [id, at],
  )
  return row!.endsAt
}

/** Returns whether it was not revoked before. */
export async function revokeWorkerCredential(
  tx: Tx,
  id: string,
  at: Date,
  by: string,
): Promise<boolean> {
  const changed = await tx.change(
    'update worker_credentials set revoked_at = $2, revoked_by = $3 where id = $1 and revoked_at is null',
    [id, at, by],
  )
  return changed > 0
}

/** Written rarely: a worker calls many times a minute. */
export async function noteCredentialUse(db: Queryable, id: string, at: Date): Promise<void> {
  await db.query('update worker_credentials set last_used_at = $2 where id = $1', [id, at])
}
