// Fresh databases for tests, with the schema and nothing in it. A suite that must hold on both runs `for (const database of DATABASES)`.
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import type { Db } from '../src/db/db.ts'
import { openPglite, PARSERS, SESSION, wrapPglite } from '../src/db/pglite.ts'
import { openPostgres } from '../src/db/postgres.ts'
import { onServer } from './postgres-server.ts'
import { pgliteWithSchema, TEMPLATE } from './schema-copies.ts'

export interface TestDatabase {
  readonly db: Db
  /** For a second connection or another process; undefined for PGlite, which has one connection. */
  readonly url?: string
  close(): Promise<void>
}

export interface DatabaseKind {
  readonly kind: Db['kind']
  open(): Promise<TestDatabase>
  /** Without the schema. */
  openEmpty(): Promise<TestDatabase>
}

export const DATABASES: readonly DatabaseKind[] = [
  { kind: 'pglite', open: openTestPglite, openEmpty: openEmptyPglite },
  { kind: 'postgres', open: openTestPostgres, openEmpty: openEmptyPostgres },
]

const START = [
  ...PGlite.defaultStartParams,
  // The copy was not shut down and recovers; the timer that would report on that never ends, and the process with it.
  ...['-c', 'log_startup_progress_interval=0'],
  // No test has as much data: a fifth of the time to open it went into memory that is never used.
  ...['-c', 'shared_buffers=16MB', '-c', 'wal_buffers=1MB'],
]

export async function openTestPglite(): Promise<TestDatabase> {
  // For the seconds that a test file lasts, making PGlite's code faster costs more than it gains: 1 s of the 3 s of a short file.
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
  const loadDataDir = new Blob([readFileSync(await pgliteWithSchema())])
  const lite = await PGlite.create({ parsers: PARSERS, startParams: START, loadDataDir })
  // Its tables stay small: each statement is planned once, and what takes many rounds takes half the time.
  await lite.exec(`${SESSION}; set plan_cache_mode = force_generic_plan`)
  const db = wrapPglite(lite)
  return { db, close: () => db.close() }
}

async function openEmptyPglite(): Promise<TestDatabase> {
  const db = await openPglite()
  return { db, close: () => db.close() }
}

/** A new database on the server that global-setup.ts started. */
export function openTestPostgres(): Promise<TestDatabase> {
  return openCopyOf(TEMPLATE)
}

export function openEmptyPostgres(): Promise<TestDatabase> {
  return openCopyOf('template1')
}

let made = 0

async function openCopyOf(template: string): Promise<TestDatabase> {
  const server = process.env.TEST_POSTGRES_URL
  if (!server) throw new Error('TEST_POSTGRES_URL is not set: run tests with "npm test"')
  const name = `test_${process.pid}_${made++}`
  await onServer(server, `create database ${name} template ${template}`)
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href
  const db = await openPostgres({ url })
  return {
    db,
    url,
    close: async () => {
      await db.close()
      await onServer(server, `drop database ${name} with (force)`)
    },
  }
}
