// Databases with the schema, made once and copied. Creating and migrating a PGlite took 3.5 s of processor time in each of 60 test
// files; a copy takes 0.7 s, and one that lies in a folder 0.3 s. The file name is a hash of the migrations, so that a changed migration makes a new one.
import { createHash } from 'node:crypto'
import {
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { openPglite, PARSERS, wrapPglite } from '../../src/db/connection/pglite.ts'
import { openPostgres } from '../../src/db/connection/postgres.ts'
import { databaseIn } from '../../src/db/connection/snapshots.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { migrationsOnDisk } from '../../src/db/schema/migration-files.ts'
import { onServer } from './postgres-server.ts'

/** When the migrations of every copy were applied. */
const MADE_AT = new Date('2026-03-01T00:00:00Z')
const MODULES = join(import.meta.dirname, '../../node_modules')
const FOLDER = join(MODULES, '.cache', 'matoolkit-pglite')
/** Long after the last run that may still read it. */
const KEPT_MS = 86_400_000

/** The database on the test server that the others are copies of. */
export const TEMPLATE = 'with_schema'

export async function makeTemplate(serverUrl: string): Promise<void> {
  await onServer(serverUrl, `create database ${TEMPLATE}`)
  const url = Object.assign(new URL(serverUrl), { pathname: `/${TEMPLATE}` }).href
  const db = await openPostgres({ url })
  await migrate(db, MADE_AT)
  await db.close()
}

/** The file to load a PGlite with the schema from; the first call makes it. */
export async function pgliteWithSchema(): Promise<string> {
  const file = join(FOLDER, `${originHash()}.tar`)
  if (existsSync(file)) return file
  mkdirSync(FOLDER, { recursive: true })
  for (const old of readdirSync(FOLDER).map((name) => join(FOLDER, name))) {
    if (Date.now() - statSync(old).mtimeMs > KEPT_MS) rmSync(old, { recursive: true, force: true })
  }
  const lite = await PGlite.create({ parsers: PARSERS })
  await migrate(wrapPglite(lite), MADE_AT)
  await lite.exec('checkpoint')
  const dump = await lite.dumpDataDir('none')
  await lite.close()
  // Another run may be making it too: each writes its own, and the last one stays.
  const making = `${file}.${process.pid}`
  writeFileSync(making, new Uint8Array(await dump.arrayBuffer()))
  renameSync(making, file)
  return file
}

/** Puts an embedded database with the schema into a new data folder, as if the program had started there once. */
export async function makeDataFolder(folder: string): Promise<void> {
  const made = join(FOLDER, originHash())
  if (!existsSync(made)) {
    const making = `${made}.${process.pid}`
    mkdirSync(FOLDER, { recursive: true })
    const db = await openPglite(making)
    await migrate(db, MADE_AT)
    await db.close()
    moveUnlessThere(making, made)
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  cpSync(databaseIn(made), databaseIn(folder), {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
  })
}

/** Another run may have made it meanwhile. */
function moveUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!existsSync(to)) throw error
    rmSync(from, { recursive: true })
  }
}

function originHash(): string {
  const hash = createHash('sha256')
  const origins = [
    import.meta.filename,
    join(import.meta.dirname, '../../src/db/schema/migrate.ts'),
    join(MODULES, '@electric-sql/pglite/package.json'),
  ]
  for (const file of origins) hash.update(readFileSync(file))
  for (const { sql } of migrationsOnDisk()) hash.update(sql)
  return hash.digest('hex').slice(0, 16)
}
