// Fixtures of releases: every row of a database in mid-flight as JSON, its time, and the migrations of the release with their hashes;
// every message as the release wrote it, and a job that it signed.
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { JobKeys } from '../../../src/base/keys/job-keys.ts'
import type { Db, Queryable, Tx } from '../../../src/db/connection/db.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { migrationsOnDisk } from '../../../src/db/schema/migration-files.ts'
import { MESSAGE_TYPES, writeMessage } from '../../../src/domain/messages/messages.ts'
import { BODIES } from '../../domain/messages/message-bodies.ts'

const FOLDER = join(import.meta.dirname, '../../fixtures/releases')

type FixtureRow = Readonly<Record<string, unknown>>
export interface ReleaseFixture {
  readonly release: string
  readonly migrations: Readonly<Record<string, string>>
  readonly now: string
  readonly tables: Readonly<Record<string, readonly FixtureRow[]>>
}

export const listFixtures = (): ReleaseFixture[] =>
  globSync(join(FOLDER, '*/mid-flight.json'))
    .sort()
    .map((file) => JSON.parse(readFileSync(file, 'utf8')))

/** The texts of one release. Its processes may send them to those of the next. */
export interface ReleaseMessages {
  readonly release: string
  /** The key that signed the job: of this fixture only. */
  readonly jobKey: string
  readonly signedJob: string
  readonly messages: Readonly<Record<string, string>>
}

export const listMessageFixtures = (): ReleaseMessages[] =>
  globSync(join(FOLDER, '*/messages.json'))
    .sort()
    .map((file) => JSON.parse(readFileSync(file, 'utf8')))

/** Returns the file. */
export function writeMessages(release: string): string {
  const file = join(FOLDER, release, 'messages.json')
  const key = Buffer.alloc(32, 7)
  const messages = Object.fromEntries(
    MESSAGE_TYPES.map((type) => {
      const written = writeMessage(type, BODIES[type])
      if (!written.ok) throw new Error(written.reason)
      return [type, written.text]
    }),
  )
  const fixture: ReleaseMessages = {
    release,
    jobKey: key.toString('base64'),
    signedJob: new JobKeys([key]).sign(messages['worker-job']!),
    messages,
  }
  writeFileSync(file, `${JSON.stringify(fixture, null, 1)}\n`)
  return file
}

/** SHA-256 of every migration, by file. */
export const migrationHashes = (): Record<string, string> =>
  Object.fromEntries(
    migrationsOnDisk().map(({ file, sql }) => [
      file,
      createHash('sha256').update(sql).digest('hex'),
    ]),
  )

async function listTables(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations' order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** Writes the database's rows, without null columns, a row a line. Returns the file. */
export async function writeFixture(db: Db, release: string, now: Date): Promise<string> {
  const file = join(FOLDER, release, 'mid-flight.json')
  const tables: string[] = []
  for (const table of await listTables(db)) {
    const rows = await db.query<{ row: FixtureRow }>(
      `select to_jsonb(t) as row from ${table} t order by t`,
    )
    if (rows.length === 0) continue
    const lines = rows.map(({ row }) =>
      JSON.stringify(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))),
    )
    tables.push(`  "${table}": [\n   ${lines.join(',\n   ')}\n  ]`)
  }
  const head = { release, now, migrations: migrationHashes() }
  const start = JSON.stringify(head, null, 1).replace(/\n}$/, '')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${start},\n "tables": {\n${tables.join(',\n')}\n }\n}\n`)
  return file
}

/** Makes the schema of the release in an empty database and restores its rows. */
export async function restoreFixture(db: Db, fixture: ReleaseFixture): Promise<void> {
  const { migrations, now, tables } = fixture
  const ofRelease = migrationsOnDisk().filter(({ file }) => file in migrations)
  await migrate(db, new Date(now), ofRelease)
  await db.transaction(async (tx) => {
    // Restores in any order: foreign keys and triggers hold among the rows already.
    await tx.script('set local session_replication_role = replica')
    for (const [table, rows] of Object.entries(tables)) await restoreTable(tx, table, rows)
  })
}

async function restoreTable(tx: Tx, table: string, rows: readonly FixtureRow[]): Promise<void> {
  const columns = await tx.query<{ name: string; isIdentity: boolean }>(
    `select column_name as name, is_identity = 'YES' as is_identity from information_schema.columns
      where table_schema = 'public' and table_name = $1`,
    [table],
  )
  const names = new Set(columns.map(({ name }) => name))
  const unknown = rows.flatMap((row) => Object.keys(row)).find((name) => !names.has(name))
  if (unknown !== undefined) {
    throw new Error(`${table} has no column "${unknown}": migrations of a release were changed`)
  }
  await tx.query(
    `insert into ${table} overriding system value select * from jsonb_populate_recordset(null::${table}, $1::text::jsonb)`,
    [JSON.stringify(rows)],
  )
  const identity = columns.find(({ isIdentity }) => isIdentity)?.name
  if (identity === undefined) return
  await tx.query(`select setval(pg_get_serial_sequence($1, $2), max(${identity})) from ${table}`, [
    table,
    identity,
  ])
}
