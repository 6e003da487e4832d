// Applies the numbered files of sql/ that a database lacks, in order, each in one transaction. Two processes may start at once: an
// advisory lock lets one apply and the other see it done. Refuses a schema newer than this program and an edited migration.
// From release 0.1.0 on the files are append-only.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { MatoolkitError } from '../errors.ts'
import type { Db, Queryable, Tx } from './db.ts'

export interface Migration {
  readonly version: number
  readonly file: string
  readonly sql: string
}

/** Any number that nothing else uses for advisory locks in this database. */
const LOCK = 7_263_401
const FOLDER = new URL('../../sql/', import.meta.url)

export function migrationsOnDisk(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{3}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 3)),
      file,
      sql: readFileSync(new URL(file, FOLDER), 'utf8'),
    }))
}

/** Returns the files it applied. */
export async function migrate(
  db: Db,
  now: Date,
  migrations: readonly Migration[] = migrationsOnDisk(),
): Promise<string[]> {
  await db.transaction(async (tx) => {
    // Under the lock: "if not exists" does not keep two processes from creating the table at once; one of them then fails.
    await lock(tx)
    await tx.script(`create table if not exists schema_migrations (
      version integer primary key, file text not null, hash text not null, applied_at timestamptz not null)`)
  })
  const applied: string[] = []
  for (const migration of migrations) {
    const isNew = await db.transaction(async (tx) => {
      await lock(tx)
      return !isApplied(migration, migrations, await listApplied(tx)) && apply(tx, migration, now)
    })
    if (isNew) applied.push(migration.file)
  }
  return applied
}

const lock = (tx: Tx) => tx.query('select pg_advisory_xact_lock($1)', [LOCK])

interface AppliedMigration {
  readonly version: number
  readonly file: string
  readonly hash: string
}

const listApplied = (tx: Tx): Promise<AppliedMigration[]> =>
  tx.query('select version, file, hash from schema_migrations order by version')

const hashOf = ({ sql }: Migration): string => createHash('sha256').update(sql).digest('hex')

function isApplied(
  migration: Migration,
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): boolean {
  for (const { version, file } of known) {
    const found = applied.find((row) => row.version === version)?.file ?? file
    if (found !== file) throw new MatoolkitError('SCHEMA_UNRELEASED', { found, file })
  }
  const newest = applied.at(-1)?.version ?? 0
  const newestKnown = known.at(-1)!.version
  if (newest > newestKnown) {
    throw new MatoolkitError('SCHEMA_NEWER', { found: newest, known: newestKnown })
  }
  const row = applied.find(({ version }) => version === migration.version)
  if (row && row.hash !== hashOf(migration)) {
    throw new MatoolkitError('SCHEMA_EDITED', { file: migration.file })
  }
  return row !== undefined
}

async function apply(tx: Tx, migration: Migration, now: Date): Promise<boolean> {
  await tx.script(migration.sql)
  await tx.query(
    'insert into schema_migrations (version, file, hash, applied_at) values ($1, $2, $3, $4)',
    [migration.version, migration.file, hashOf(migration), now],
  )
  return true
}

/** Whether this database has exactly the migrations that this program knows. */
export async function isSchemaCurrent(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ newest: number; applied: number }>(
    'select coalesce(max(version), 0) as newest, count(*)::int as applied from schema_migrations',
  )
  const known = migrationsOnDisk()
  return row!.newest === known.at(-1)!.version && row!.applied === known.length
}
