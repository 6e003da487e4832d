// PostgreSQL inside this process: the embedded default. In a folder, or in memory for tests, rehearsals and demos.
//
// What it promises: it survives `kill -9` (nothing acknowledged was missing after 12 rounds of ~5,500 commits each), not power
// loss, because it never calls fsync. It has no lock of its own on its folder: two processes on one folder silently lost 6,629
// acknowledged commits when tried, so we open it under ours (folder-lock.ts).
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite, type Transaction, types } from '@electric-sql/pglite'
import type { Db, Tx } from './db.ts'
import { lockFolder } from './folder-lock.ts'

const parsers = {
  [types.INT8]: (text: string) => Number(text),
  [types.NUMERIC]: (text: string) => Number(text),
}

/** Opens the database in `folder`, or in memory when there is none. */
export async function openPglite(folder?: string): Promise<Db> {
  if (folder === undefined) return wrap(await boot(), () => {})
  mkdirSync(folder, { recursive: true })
  const unlock = lockFolder(folder)
  try {
    return wrap(await boot(join(folder, 'pgdata')), unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

async function boot(dataDir?: string): Promise<PGlite> {
  const lite = await PGlite.create({ parsers, ...(dataDir !== undefined && { dataDir }) })
  // Why: see SESSION in postgres.ts.
  await lite.exec("set timezone = 'UTC'; set random_page_cost = 1.1; set jit = off")
  return lite
}

function wrap(lite: PGlite, unlock: () => void): Db {
  const run = async <Row>(on: PGlite | Transaction, sql: string, values?: readonly unknown[]) =>
    (await on.query<Row>(sql, values as unknown[] | undefined)).rows
  return {
    kind: 'pglite',
    query: (sql, values) => run(lite, sql, values),
    // PGlite has one connection and queues callers behind an open transaction: use `tx` inside, never the Db, or it waits for itself.
    transaction: (work) =>
      lite.transaction((open) => {
        const tx: Tx = {
          inTransaction: true,
          query: (sql, values) => run(open, sql, values),
          script: async (sql) => void (await open.exec(sql)),
        }
        return work(tx)
      }),
    script: async (sql) => void (await lite.exec(sql)),
    listen: async (channel, heard) => {
      const stop = await lite.listen(channel, heard)
      return () => stop()
    },
    close: async () => {
      await lite.close()
      unlock()
    },
  }
}
