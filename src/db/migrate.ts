// Applies the numbered files of sql/ that a database lacks, in order, each in one transaction. Two processes may start at once: an
// advisory lock lets one apply and the other see it done. Refuses a schema newer than this program and an edited migration.
// Only the owner of the tables may migrate; others ask `findSchemaGap`.
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

const listApplied = (db: Queryable): Promise<AppliedMigration[]> =>
  db.query('select version, file, hash from schema_migrations order by version')

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

/** Versions of the schema: the database's (0 when it is empty) and the newest that this program knows. */
export interface SchemaGap {
  readonly found: number
  readonly known: number
}

/** What `migrate` would have to close; null when nothing. Throws what `migrate` refuses. */
export async function findSchemaGap(
  db: Queryable,
  known: readonly Migration[] = migrationsOnDisk(),
): Promise<SchemaGap | null> {
  const applied = (await hasSchema(db)) ? await listApplied(db) : []
  const isCurrent = known.every((migration) => isApplied(migration, known, applied))
  return isCurrent ? null : { found: applied.at(-1)?.version ?? 0, known: known.at(-1)!.version }
}

/** The gap to a schema that a newer program made; null when there is none. One cheap statement, for processes that are running. */
export async function findNewerSchema(
  db: Queryable,
  known: readonly Migration[] = migrationsOnDisk(),
): Promise<SchemaGap | null> {
  const [row] = await db.query<{ found: number }>(
    'select coalesce(max(version), 0) as found from schema_migrations',
  )
  const gap = { found: row!.found, known: known.at(-1)!.version }
  return gap.found > gap.known ? gap : null
}

async function hasSchema(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ exists: boolean }>(
    "select to_regclass('schema_migrations') is not null as exists",
  )
  return row!.exists
}

export interface SchemaRights {
  readonly role: string
  /** It owns the tables, or may create them in an empty database. */
  readonly mayMigrate: boolean
  /** It can tell the version of the schema. */
  readonly mayRead: boolean
}

export async function findSchemaRights(db: Queryable): Promise<SchemaRights> {
  const [row] = await db.query<SchemaRights>(
    `select current_user::text as role, coalesce(
       (select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('schema_migrations')),
       has_schema_privilege(current_schema(), 'create'), false) as "mayMigrate",
       coalesce(has_table_privilege(to_regclass('schema_migrations'), 'select'), true) as "mayRead"`,
  )
  return row!
}
