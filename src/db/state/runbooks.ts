// Published runbooks: one row per version. Only is_active changes, and at most one version of a name is active. Names ignore case.
import type { Publication } from '../../domain/decide/version-upgrade.ts'
import type { Queryable, Tx } from '../connection/db.ts'

export interface PublishedRunbook extends Publication {
  readonly id: number
  readonly name: string
  readonly yaml: string
  readonly isActive: boolean
}

const VERSION = `id, name, version, is_active, overdue_behavior, rerun_init,
  created_at as published_at, published_by`
const RUNBOOK = `${VERSION}, yaml_content as yaml`

export async function findRunbookVersion(
  db: Queryable,
  name: string,
  version: number,
): Promise<PublishedRunbook | null> {
  const rows = await db.query<PublishedRunbook>(
    `select ${RUNBOOK} from runbooks where lower(name) = lower($1) and version = $2`,
    [name, version],
  )
  return rows[0] ?? null
}

export async function findActiveRunbook(
  db: Queryable,
  name: string,
): Promise<PublishedRunbook | null> {
  const rows = await db.query<PublishedRunbook>(
    `select ${RUNBOOK} from runbooks where lower(name) = lower($1) and is_active`,
    [name],
  )
  return rows[0] ?? null
}

/** The newest version, active or not; 0 for an unpublished name. */
/** The active versions of these runbooks; null: of all. */
export const listActiveVersions = (
  db: Queryable,
  names: readonly string[] | null,
  limit: number | null = null,
): Promise<{ readonly name: string; readonly version: number }[]> =>
  db.query(
    `select name, version from runbooks where is_active and ($1::text[] is null or lower(name) = any($1::text[]))
      order by lower(name) limit $2`,
    [names?.map((name) => name.toLowerCase()) ?? null, limit],
  )

export async function findLastVersion(db: Queryable, name: string): Promise<number> {
  const rows = await db.query<{ version: number }>(
    'select coalesce(max(version), 0) as version from runbooks where lower(name) = lower($1)',
    [name],
  )
  return rows[0]!.version
}

/** Versions before `before`, newest first, without their text. */
export async function listRunbookVersions(
  db: Queryable,
  name: string,
  { before = null, limit }: { before?: number | null; limit: number },
): Promise<Omit<PublishedRunbook, 'yaml'>[]> {
  return db.query(
    `select ${VERSION} from runbooks
      where lower(name) = lower($1) and ($2::int is null or version < $2) order by version desc limit $3`,
    [name, before, limit],
  )
}

/** Publishers of one name queue here until the transaction ends. */
export async function lockRunbook(tx: Tx, name: string): Promise<void> {
  await tx.query(
    `select pg_advisory_xact_lock(hashtextextended('versions of ' || lower($1::text), 0))`,
    [name],
  )
}

export type NewVersion = Omit<PublishedRunbook, 'id' | 'isActive'>

/** Inserts the version as the only active one. The name must be locked. */
export async function insertRunbook(tx: Tx, given: NewVersion): Promise<void> {
  await deactivateRunbookRow(tx, given.name)
  await tx.query(
    `insert into runbooks (name, version, yaml_content, is_active, overdue_behavior, rerun_init, created_at, published_by)
     values ($1, $2, $3, true, $4, $5, $6, $7)`,
    [
      given.name,
      given.version,
      given.yaml,
      given.overdueBehavior,
      given.rerunInit,
      given.publishedAt,
      given.publishedBy,
    ],
  )
}

export async function deactivateRunbookRow(tx: Tx, name: string): Promise<void> {
  await tx.query(
    'update runbooks set is_active = false where lower(name) = lower($1) and is_active',
    [name],
  )
}
