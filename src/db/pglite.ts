// The embedded database: PostgreSQL inside this process, in a folder, or in memory for tests and demos.
//
// It survives `kill -9` (12 rounds of ~5,500 commits lost nothing acknowledged), not power loss: it never calls fsync. It does not lock
// its folder, and two processes on one folder silently lost 6,629 acknowledged commits, so folder-lock.ts does.
import { join } from 'node:path'
import { PGlite, type Transaction, types } from '@electric-sql/pglite'
import { requirePrivateFolder } from '../private-files.ts'
import { parseIntegers } from './arrays.ts'
import type { Db, Tx } from './db.ts'
import { lockFolder } from './folder-lock.ts'
import { PrivateFolder } from './pglite-folder.ts'
import { preparing, type RunStatement } from './pglite-prepared.ts'

const INT8_ARRAY = 1016
export const PARSERS = {
  [types.INT8]: (text: string) => Number(text),
  [types.NUMERIC]: (text: string) => Number(text),
  [INT8_ARRAY]: parseIntegers,
}

/** In memory without a folder. */
export async function openPglite(folder?: string): Promise<Db> {
  if (folder === undefined) return wrapPglite(await boot())
  requirePrivateFolder(folder, { setting: 'MATOOLKIT_DATA_DIR' })
  const unlock = lockFolder(folder)
  try {
    const db = wrapPglite(await boot(join(folder, 'pgdata')))
    return { ...db, close: () => db.close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

// Why: see SESSION in postgres.ts.
export const SESSION =
  "set timezone = 'UTC'; set random_page_cost = 1.1; set jit = off; set plan_cache_mode = force_custom_plan"

async function boot(dataDir?: string): Promise<PGlite> {
  const lite = await PGlite.create({
    parsers: PARSERS,
    ...(dataDir !== undefined && { fs: new PrivateFolder(dataDir) }),
  })
  await lite.exec(SESSION)
  return lite
}

export function wrapPglite(lite: PGlite, run = preparing(lite)): Db {
  return {
    kind: 'pglite',
    query: async <Row>(sql: string, values?: readonly unknown[]) =>
      (await lite._runExclusiveTransaction(() => run<Row>(sql, values))).rows,
    // PGlite queues all callers behind an open transaction: use `tx` inside, never the Db, or it deadlocks.
    transaction: (work) => lite.transaction((open) => work(txOf(open, run))),
    script: async (sql) => void (await lite.exec(sql)),
    listen: async (channel, heard) => {
      const stop = await lite.listen(channel, heard)
      return () => stop()
    },
    close: () => lite.close(),
  }
}

function txOf(open: Transaction, run: RunStatement): Tx {
  const runOpen: RunStatement = async (sql, values) => {
    if (open.closed) throw new Error('the transaction is over')
    return run(sql, values)
  }
  return {
    inTransaction: true,
    query: async <Row>(sql: string, values?: readonly unknown[]) =>
      (await runOpen<Row>(sql, values)).rows,
    change: async (sql, values) => (await runOpen(sql, values)).changed,
    script: async (sql) => void (await open.exec(sql)),
  }
}
