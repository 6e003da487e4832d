// A PGlite in memory with the schema and no rows, which `renew` makes empty again within milliseconds. It goes back to a snapshot
// of memory and files (pglite-snapshot.ts), so nothing of an earlier use is left and every prepared statement keeps its plan.
import { readFileSync } from 'node:fs'
import { PGlite } from '@electric-sql/pglite'
import type { Db } from '../../src/db/connection/db.ts'
import { PARSERS, SESSION, wrapPglite } from '../../src/db/connection/pglite.ts'
import { type PreparedStatement, preparing } from '../../src/db/connection/pglite-prepared.ts'
import { takeSnapshot } from './pglite-snapshot.ts'
import { pgliteWithSchema } from './schema-copies.ts'

export interface RenewableDb extends Db {
  /** Empty again, as if it had just been opened. Waits for a running transaction. */
  renew(): Promise<void>
}

const START = [
  ...PGlite.defaultStartParams,
  // The copy was not shut down and recovers; the timer that would report on that never ends, and the process with it.
  '-c',
  'log_startup_progress_interval=0',
  // No test has as much data: a fifth of the time to open it went into memory that is never used, and a snapshot copies it all.
  '-c',
  'shared_buffers=16MB',
  '-c',
  'wal_buffers=1MB',
]

/** `keepFrom`: a new snapshot, 128 MB, is taken for at least so many new statements. */
export async function openRenewablePglite({ keepFrom = 1 } = {}): Promise<RenewableDb> {
  const loadDataDir = new Blob([readFileSync(await pgliteWithSchema())])
  const lite = await PGlite.create({ parsers: PARSERS, startParams: START, loadDataDir })
  // Tables stay small here: each statement is planned once. Planning was half of all time.
  await lite.exec(`${SESSION}; set plan_cache_mode = force_generic_plan`)
  // Loads the library of the language of triggers: one that is loaded after the snapshot does not survive it.
  await lite.exec('do $$ begin end $$')
  const statements = new Map<string, PreparedStatement>()
  const db = wrapPglite(lite, preparing(lite, statements))
  let restore = takeSnapshot(lite)
  let kept = 0
  return {
    ...db,
    renew: async () => {
      await lite._runExclusiveTransaction(async () => restore())
      // The server has forgotten the statements that came up since the snapshot.
      const forgotten = [...statements].slice(kept)
      const isKept = forgotten.length >= keepFrom && (await canPlan(lite, forgotten))
      if (!isKept) {
        if (forgotten.length >= keepFrom) restore()
        for (const [sql] of forgotten) statements.delete(sql)
      } else if (forgotten.length > 0) {
        restore = takeSnapshot(lite)
        kept = statements.size
      }
    },
  }
}

/** False for a statement on a table that a test made for itself. */
async function canPlan(
  lite: PGlite,
  statements: readonly (readonly [string, PreparedStatement])[],
): Promise<boolean> {
  try {
    for (const [sql, statement] of statements) await plan(lite, sql, statement)
    return true
  } catch {
    return false
  }
}

async function plan(
  lite: PGlite,
  sql: string,
  { name, parameterTypes }: PreparedStatement,
): Promise<void> {
  const nulls = parameterTypes.map(() => 'null').join(', ')
  await lite.exec(`prepare ${name} as ${sql}; explain execute ${name}${nulls && `(${nulls})`}`)
}
