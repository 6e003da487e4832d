// Throw-away databases in memory, with the schema. PostgreSQL's own set-up inside this process takes 3 s and 600 MB more than everything
// after it, so it happens once, in a process of its own: the result is kept as a file and loaded from then on.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import manifest from '../../../package.json' with { type: 'json' }
import { requirePrivateFolder, writePrivateFile } from '../../base/files/private-files.ts'
import type { Db } from '../connection/db.ts'
import { openPglite, PARSERS, SESSION, wrapPglite } from '../connection/pglite.ts'
import { markDisposable } from '../connection/time.ts'
import { migrate } from './migrate.ts'
import { migrationsOnDisk } from './migration-files.ts'

const MAKING_MS_MAX = 120_000
/** When the migrations of a template were applied: before any rehearsal. */
const MADE_AT = new Date(0)
const PREFIX = 'throw-away-'

const START = [
  ...PGlite.defaultStartParams,
  // The copy was not shut down and recovers; the timer that would report on that never ends, and the process with it.
  '-c',
  'log_startup_progress_interval=0',
  '-c',
  'shared_buffers=32MB',
  '-c',
  'wal_buffers=1MB',
  '-c',
  'max_wal_size=64MB',
]

/** The tables stay small, so each statement is planned once: planning took half of the database's time. */
const PLANNED_ONCE = 'set plan_cache_mode = force_generic_plan'

/** `templates`: the folder of the kept file; null, or one that cannot be written, sets the database up in this process. */
export async function openDisposable(templates: string | null): Promise<Db> {
  const file = templates === null ? null : await templateIn(templates)
  if (file === null) return setUp()
  // V8 would compile hot code of PostgreSQL again: 400 MB more, and for runs of seconds it takes the time that it saves.
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
  const loadDataDir = new Blob([readFileSync(file)])
  const lite = await PGlite.create({ parsers: PARSERS, startParams: START, loadDataDir })
  await lite.exec(`${SESSION}; ${PLANNED_ONCE}`)
  return wrapPglite(lite)
}

async function setUp(): Promise<Db> {
  const db = await openPglite()
  await markDisposable(db)
  await migrate(db, MADE_AT)
  await db.script(PLANNED_ONCE)
  return db
}

/** Null when there is none and none can be made. */
async function templateIn(folder: string): Promise<string | null> {
  const name = `${PREFIX}${originHash()}.tar`
  const file = join(folder, name)
  if (existsSync(file)) return file
  try {
    requirePrivateFolder(folder, { setting: 'MATOOLKIT_HOME', mayBeListed: true })
    await promisify(execFile)(process.execPath, [import.meta.filename, file], {
      timeout: MAKING_MS_MAX,
    })
    for (const old of readdirSync(folder))
      if (old.startsWith(PREFIX) && old.endsWith('.tar') && old !== name)
        rmSync(join(folder, old), { force: true })
    return file
  } catch {
    return null
  }
}

/** Of all that the file depends on. */
function originHash(): string {
  const hash = createHash('sha256')
  hash.update(readFileSync(import.meta.filename))
  hash.update(manifest.dependencies['@electric-sql/pglite'])
  for (const { sql } of migrationsOnDisk()) hash.update(sql)
  return hash.digest('hex').slice(0, 16)
}

async function makeTemplate(file: string): Promise<void> {
  const lite = await PGlite.create({ parsers: PARSERS })
  const db = wrapPglite(lite)
  await markDisposable(db)
  await migrate(db, MADE_AT)
  await lite.exec('checkpoint')
  const dump = await lite.dumpDataDir('none')
  await lite.close()
  writePrivateFile(file, new Uint8Array(await dump.arrayBuffer()))
}

if (import.meta.main) await makeTemplate(process.argv[2]!)
