// Fresh databases for tests. A suite that must hold on both runs `for (const database of DATABASES)`.
import pg from 'pg'
import type { Db } from '../src/db/db.ts'
import { openPglite } from '../src/db/pglite.ts'
import { openPostgres } from '../src/db/postgres.ts'

export interface TestDatabase {
  readonly db: Db
  /** For a second connection or another process; undefined for PGlite, which has one connection. */
  readonly url?: string
  close(): Promise<void>
}

export const DATABASES: { kind: Db['kind']; open: () => Promise<TestDatabase> }[] = [
  { kind: 'pglite', open: openTestPglite },
  { kind: 'postgres', open: openTestPostgres },
]

export async function openTestPglite(): Promise<TestDatabase> {
  const db = await openPglite()
  return { db, close: () => db.close() }
}

let made = 0

/** A new, empty database on the server that global-setup.ts started. */
export async function openTestPostgres(): Promise<TestDatabase> {
  const server = process.env.TEST_POSTGRES_URL
  if (!server) throw new Error('TEST_POSTGRES_URL is not set: run tests with "npm test"')
  const name = `test_${process.pid}_${made++}`
  await onServer(server, `create database ${name}`)
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

async function onServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
