// Applies the numbered files of sql/ that a database lacks, in order. Two processes may start at once: an advisory lock lets one apply
// and the other see it done. Programs at work are not stalled: a migration waits two seconds for a lock, then lets them pass and tries
// again. They are not ended either: one that takes away what they use is refused until they are gone.
// A schema tells the lowest program that works with it, by the newest migration which that program knows. An older program on a newer
// schema works if it is not below that. An edited migration is refused. Only the owner of the tables may migrate; others ask
// `findSchemaGap`. From release 0.1.0 on the files are append-only.
import { createHash } from 'node:crypto'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { isCollision, isLockTimeout } from '../../base/errors/transient.ts'
import type { Db, Queryable, Tx } from '../connection/db.ts'
import { type Migration, migrationsOnDisk, upgradeOf } from './migration-files.ts'
import { listProcesses } from './processes.ts'

export interface MigrateOptions {
  /** Waits before the next try for a lock. Without it there is one try. */
  pause?(ms: number): Promise<void>
  readonly lockWaitMs?: number
  /** Also while programs are at work that cannot continue: they notice, end their work and take no more. */
  readonly stopsOlder?: boolean
}

/** Any number that nothing else uses for advisory locks in this database. */
const LOCK = 7_263_401
/** Everybody who comes after a waiting migration waits as well. */
const LOCK_WAIT_MS = 2_000
const LOCK_PAUSE_MS = 1_000
const LOCK_TRIES_MAX = 30

/** Returns the files it applied. Throws SCHEMA_IN_USE, SCHEMA_BUSY, and what makes the schema unfit for this program. */
export async function migrate(
  db: Db,
  now: Date,
  migrations: readonly Migration[] = migrationsOnDisk(),
  options: MigrateOptions = {},
): Promise<string[]> {
  await db.transaction(async (tx) => {
    // Under the lock: "if not exists" does not keep two processes from creating the table at once; one of them then fails.
    await lock(tx)
    // Programs of every release read this table, so it keeps these columns. lowest_program is the lowest that works with this schema.
    await tx.script(`create table if not exists schema_migrations (
      version integer primary key, file text not null, hash text not null, lowest_program integer not null, applied_at timestamptz not null)`)
  })
  const applied: string[] = []
  for (const migration of migrations) {
    const isNew = await untilLocked(migration, options, () =>
      db.transaction(async (tx) => {
        await lock(tx)
        const before = await listApplied(tx)
        requireFit(migrations, before)
        if (isApplied(migration, before)) return false
        await apply({ db, tx, now, options }, migration, lowestOf(before))
        return true
      }),
    )
    if (isNew) applied.push(migration.file)
  }
  return applied
}

const lock = (tx: Tx) => tx.query('select pg_advisory_xact_lock($1)', [LOCK])

/** Running programs come first: their statements queue behind a migration that waits for a lock. */
async function untilLocked(
  { file }: Migration,
  { pause }: MigrateOptions,
  attempt: () => Promise<boolean>,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!isLockTimeout(error) && !isCollision(error)) throw error
      if (!pause || tries === LOCK_TRIES_MAX)
        throw new MatoolkitError('SCHEMA_BUSY', { file, count: tries })
      await pause(LOCK_PAUSE_MS)
    }
  }
}

interface Applying {
  readonly db: Db
  readonly tx: Tx
  readonly now: Date
  readonly options: MigrateOptions
}

async function apply(applying: Applying, migration: Migration, lowest: number): Promise<void> {
  const { tx, now, options } = applying
  const { kind, from } = upgradeOf(migration)
  if (from !== null && !options.stopsOlder) await requireNoOlder(applying, migration, lowest, from)
  await tx.script(lockWait(applying))
  await tx.query(SEARCH_PATH)
  if (kind === 'index') await buildIndex(applying, migration)
  else if (kind === 'backfill') await backfill(applying, migration)
  else await tx.script(migration.sql)
  await tx.query(
    'insert into schema_migrations (version, file, hash, lowest_program, applied_at) values ($1, $2, $3, $4, $5)',
    [migration.version, migration.file, hashOf(migration), Math.max(lowest, from ?? 0), now],
  )
}

/**
 * What `set search_path from current` keeps for a function: temporary tables come last. Without a mention they come first, and a caller's
 * own table would stand in for one of ours.
 */
const SEARCH_PATH = `select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)`

const lockWait = ({ options }: Applying): string =>
  `set local lock_timeout = ${options.lockWaitMs ?? LOCK_WAIT_MS}`

/** Those below the present limit are not at work any more. */
async function requireNoOlder(
  { db, tx }: Applying,
  { file }: Migration,
  lowest: number,
  from: number,
): Promise<void> {
  if (db.kind === 'pglite' || from <= lowest) return
  const older = (await listProcesses(tx)).filter(({ schema }) => schema >= lowest && schema < from)
  if (older.length === 0) return
  const who = older.map(({ name, version }) => `${name} (${version})`)
  const more = who.length - NAMED_MAX
  throw new MatoolkitError('SCHEMA_IN_USE', {
    file,
    lowest: from,
    who: `${who.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
  })
}

const NAMED_MAX = 5

/** While the transaction that holds the lock waits, the work is done on other connections. It idles without a snapshot and delays nobody. */
const LET_IT_WAIT = 'set local idle_in_transaction_session_timeout = 0'

/** Chunks are short: who needs one of their rows waits for no more than a chunk. A crash loses one chunk. */
async function backfill(applying: Applying, { sql }: Migration): Promise<void> {
  const { db, tx } = applying
  const chunk = (one: Tx) => one.change(sql, [])
  if (db.kind === 'pglite') {
    while ((await chunk(tx)) > 0);
    return
  }
  await tx.script(LET_IT_WAIT)
  const limited = async (one: Tx) => {
    await one.script(lockWait(applying))
    return chunk(one)
  }
  while ((await db.transaction(limited)) > 0);
}

const INDEX_NAME = /\bconcurrently if not exists (\w+)/

/** What a build that was cut off left behind is of no use, and is built again. */
async function buildIndex({ db, tx }: Applying, { sql, file }: Migration): Promise<void> {
  if (db.kind === 'pglite') return tx.script(sql.replace(/\bconcurrently\b/, ''))
  const name = INDEX_NAME.exec(sql)?.[1]
  if (name === undefined) throw new Error(`${file} builds no index concurrently if not exists`)
  await tx.script(LET_IT_WAIT)
  const broken = await db.query(
    'select from pg_index where indexrelid = to_regclass($1) and not indisvalid',
    [name],
  )
  if (broken.length > 0) await db.script(`drop index concurrently ${name}`)
  await db.script(sql)
}

interface AppliedMigration {
  readonly version: number
  readonly file: string
  readonly hash: string
  readonly lowest: number
}

type AppliedRow = Omit<AppliedMigration, 'lowest'> & { readonly lowest_program: number }

/** Reads whatever columns there are: a table without one of ours was made before 0.1.0, and no wait adds it. */
async function listApplied(db: Queryable): Promise<AppliedMigration[]> {
  const rows = await db.query<{ row: AppliedRow }>(
    'select to_jsonb(m) as row from schema_migrations m',
  )
  const [first] = rows
  const missing = COLUMNS.find((column) => first && !(column in first.row))
  if (missing !== undefined)
    throw new MatoolkitError('SCHEMA_UNRELEASED', {
      found: `a table schema_migrations without ${missing}`,
      wanted: 'one with it',
    })
  return rows
    .map(({ row: { version, file, hash, lowest_program: lowest } }) => ({
      version,
      file,
      hash,
      lowest,
    }))
    .sort((a, b) => a.version - b.version)
}

const COLUMNS = ['version', 'file', 'hash', 'lowest_program'] as const

const hashOf = ({ sql }: Migration): string => createHash('sha256').update(sql).digest('hex')
const lowestOf = (applied: readonly AppliedMigration[]): number => applied.at(-1)?.lowest ?? 0
const newestOf = (applied: readonly { readonly version: number }[]): number =>
  applied.at(-1)?.version ?? 0
const isApplied = ({ version }: Migration, applied: readonly AppliedMigration[]): boolean =>
  applied.some((row) => row.version === version)

/** Throws SCHEMA_UNRELEASED, SCHEMA_NEWER or SCHEMA_EDITED: what this program cannot work with. */
function requireFit(known: readonly Migration[], applied: readonly AppliedMigration[]): void {
  const rowOf = ({ version }: Migration) => applied.find((row) => row.version === version)
  for (const migration of known) {
    const found = rowOf(migration)?.file ?? migration.file
    if (found !== migration.file)
      throw new MatoolkitError('SCHEMA_UNRELEASED', { found, wanted: migration.file })
  }
  const versions = versionsOf(known, applied)
  if (isClosed(versions)) throw new MatoolkitError('SCHEMA_NEWER', { ...versions })
  for (const migration of known) {
    const row = rowOf(migration)
    if (row && row.hash !== hashOf(migration))
      throw new MatoolkitError('SCHEMA_EDITED', { file: migration.file })
  }
}

/** Versions of the schema: the database's (0 when it is empty), the newest that this program knows, and the lowest program's. */
export interface SchemaVersions {
  readonly found: number
  readonly known: number
  readonly lowest: number
}

const versionsOf = (
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): SchemaVersions => ({
  found: newestOf(applied),
  known: newestOf(known),
  lowest: lowestOf(applied),
})

/** This program is below the lowest that works with the schema. */
export const isClosed = ({ known, lowest }: SchemaVersions): boolean => known < lowest
/** A newer program has upgraded the schema. */
export const isAhead = ({ found, known }: SchemaVersions): boolean => found > known

/** Throws what makes the schema unfit for this program. */
export async function findSchemaVersions(
  db: Queryable,
  known: readonly Migration[] = migrationsOnDisk(),
): Promise<SchemaVersions> {
  const applied = (await hasSchema(db)) ? await listApplied(db) : []
  requireFit(known, applied)
  return versionsOf(known, applied)
}

/** What `migrate` would have to close; null when nothing. Throws what `migrate` refuses. */
export async function findSchemaGap(
  db: Queryable,
  known: readonly Migration[] = migrationsOnDisk(),
): Promise<SchemaVersions | null> {
  const versions = await findSchemaVersions(db, known)
  return versions.found < versions.known ? versions : null
}

/** The versions when a newer program has upgraded the schema; null when none has. One cheap statement, for processes that are running. */
export async function findNewerSchema(
  db: Queryable,
  known: readonly Migration[] = migrationsOnDisk(),
): Promise<SchemaVersions | null> {
  const [row] = await db.query<Omit<SchemaVersions, 'known'>>(
    'select version as found, lowest_program as lowest from schema_migrations order by version desc limit 1',
  )
  const versions = { found: 0, lowest: 0, ...row, known: newestOf(known) }
  return isAhead(versions) ? versions : null
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
       has_schema_privilege(current_schema(), 'create'), false) as may_migrate,
       coalesce(has_table_privilege(to_regclass('schema_migrations'), 'select'), true) as may_read`,
  )
  return row!
}
