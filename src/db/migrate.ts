// Brings a database to the schema this program knows: the numbered files of sql/, in order, each in one transaction.
// Safe against two starters (an advisory lock, then the table is read again), refuses a schema newer than it knows and a
// migration that was edited after it ran. Files are append-only.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { MatoolkitError } from '../errors.ts'
import type { Db, Queryable, Tx } from './db.ts'

export interface Migration {
  readonly version: number
  readonly file: string
  readonly sql: string
}

/** Any constant number that nobody else uses for advisory locks in this database. */
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

/** Applies what is missing and returns the files it applied. */
export async function migrate(
  db: Db,
  now: Date,
  migrations: readonly Migration[] = migrationsOnDisk(),
): Promise<string[]> {
  await db.transaction(async (tx) => {
    // Under the lock: "if not exists" does not keep two starters from making the table at once, and one of them is then told so in
    // one of three ways.
    await lock(tx)
    await tx.script(`create table if not exists schema_migrations (
      version integer primary key, file text not null, hash text not null, applied_at timestamptz not null)`)
  })
  const applied: string[] = []
  for (const migration of migrations) {
    const isNew = await db.transaction((tx) =>
      applyOne(tx, migration, migrations.at(-1)!.version, now),
    )
    if (isNew) applied.push(migration.file)
  }
  return applied
}

const lock = (tx: Tx) => tx.query('select pg_advisory_xact_lock($1)', [LOCK])

async function applyOne(tx: Tx, migration: Migration, known: number, now: Date): Promise<boolean> {
  await lock(tx)
  const rows = await tx.query<{ version: number; hash: string }>(
    'select version, hash from schema_migrations order by version',
  )
  const found = rows.at(-1)?.version ?? 0
  if (found > known) throw new MatoolkitError('SCHEMA_NEWER', { found, known })
  const hash = createHash('sha256').update(migration.sql).digest('hex')
  const done = rows.find(({ version }) => version === migration.version)
  if (done) {
    if (done.hash !== hash) throw new MatoolkitError('SCHEMA_EDITED', { file: migration.file })
    return false
  }
  await tx.script(migration.sql)
  await tx.query(
    'insert into schema_migrations (version, file, hash, applied_at) values ($1, $2, $3, $4)',
    [migration.version, migration.file, hash, now],
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
