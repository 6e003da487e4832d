// Published runbooks: one row a version, at most one of them active per name.
import type { Queryable, Tx } from './db.ts'

export interface PublishedRunbook {
  readonly id: number
  readonly name: string
  readonly version: number
  readonly yaml: string
  readonly isActive: boolean
}

const RUNBOOK = 'id, name, version, yaml_content as yaml, is_active as "isActive"'

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

export interface Publication {
  readonly name: string
  readonly yaml: string
  readonly overdueBehavior: 'ignore' | 'rerun'
  readonly rerunInit: boolean
  readonly publishedBy: string
}

/** The next version, active from now on; the former one is not. Publishers of one name wait for each other. */
export async function insertRunbook(
  tx: Tx,
  publication: Publication,
  now: Date,
): Promise<PublishedRunbook> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended(lower($1), 0))', [publication.name])
  await tx.query(
    'update runbooks set is_active = false where lower(name) = lower($1) and is_active',
    [publication.name],
  )
  const rows = await tx.query<PublishedRunbook>(
    `insert into runbooks (name, version, yaml_content, is_active, overdue_behavior, rerun_init, created_at, published_by)
     select $1::text, coalesce(max(version), 0) + 1, $2, true, $3, $4, $5, $6 from runbooks where lower(name) = lower($1)
     returning ${RUNBOOK}`,
    [
      publication.name,
      publication.yaml,
      publication.overdueBehavior,
      publication.rerunInit,
      now,
      publication.publishedBy,
    ],
  )
  return rows[0]!
}
