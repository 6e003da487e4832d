// Empty databases with the schema, for tests. A suite for both kinds runs `for (const database of DATABASES)`.
import { setFlagsFromString } from 'node:v8'
import type { Db } from '../../src/db/connection/db.ts'
import { openPglite } from '../../src/db/connection/pglite.ts'
import { openPostgres } from '../../src/db/connection/postgres.ts'
import { atEnd } from './at-end.ts'
import { onServer } from './postgres-server.ts'
import { openRenewablePglite, type RenewableDb } from './renewable-pglite.ts'
import { TEMPLATE } from './schema-copies.ts'
import { withRowTypes } from './typed-rows.ts'

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

/** Between 4 and 40 it makes no difference. */
const KEEP_FROM = 12
const idle: RenewableDb[] = []
let isOver = false

// Left open, a PGlite keeps the process 10 s longer: its server has set a timer to write statistics when it is idle.
atEnd(async () => {
  isOver = true
  await Promise.all(idle.splice(0).map((db) => db.close()))
})

/** One of this process's databases, emptied: opening one costs 0.7 s, emptying one 20 ms. The stories took 100 s when tables were truncated, and take 58 s. */
export async function openTestPglite(): Promise<TestDatabase> {
  // For the seconds that a test file lasts, making PGlite's code faster costs more than it gains: 1 s of the 3 s of a short file.
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
  const used = idle.pop()
  await used?.renew()
  const shared = used ?? (await openRenewablePglite({ keepFrom: KEEP_FROM }))
  const db = withRowTypes(untilClosed(shared))
  return {
    db,
    close: async () => {
      await db.close()
      if (isOver) await shared.close()
      else idle.push(shared)
    },
  }
}

/** The database for one user: after `close` it refuses everything, so that a late query does not reach the next user's rows. */
function untilClosed(db: Db): Db {
  let isClosed = false
  const open = () => {
    if (isClosed) throw new Error('the database is closed')
    return db
  }
  return {
    kind: db.kind,
    query: async (sql, values) => open().query(sql, values),
    transaction: async (work) => open().transaction(work),
    script: async (sql) => open().script(sql),
    listen: async (channel, heard) => open().listen(channel, heard),
    close: async () => {
      isClosed = true
    },
  }
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
    db: withRowTypes(db),
    url,
    close: async () => {
      await db.close()
      await onServer(server, `drop database ${name} with (force)`)
    },
  }
}
