// The database of the simulated world: the program's own PGlite, in memory, with its tables and nothing in them, that can be had
// anew for every seed within milliseconds. Statements are planned once: on tables that never grow, planning was half of all time.
import { PGlite } from '@electric-sql/pglite'
import type { Db } from '../../src/db/db.ts'
import { migrate } from '../../src/db/migrate.ts'
import { PARSERS, SESSION, wrapPglite } from '../../src/db/pglite.ts'
import { type PreparedStatement, preparing } from '../../src/db/pglite-prepared.ts'
import { takeSnapshot } from './snapshot.ts'

export interface SimulationDb extends Db {
  /** Empty again, as if it had just been opened. */
  renew(): Promise<void>
}

/** Few buffers: what is not there need not be copied. */
const START = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB', '-c', 'wal_buffers=1MB']

export async function openSimulationDb(): Promise<SimulationDb> {
  const lite = await PGlite.create({ parsers: PARSERS, startParams: START })
  await lite.exec(`${SESSION}; set plan_cache_mode = force_generic_plan`)
  const statements = new Map<string, PreparedStatement>()
  const db = wrapPglite(lite, preparing(lite, statements))
  await migrate(db, new Date(Date.UTC(2026, 2, 1)))
  let restore = takeSnapshot(lite)
  let kept = statements.size
  return {
    ...db,
    renew: async () => {
      restore()
      if (statements.size === kept) return
      // The server has forgotten the statements that came up since. Prepared and planned anew they are kept for all seeds to come.
      for (const [sql, statement] of [...statements].slice(kept)) await plan(lite, sql, statement)
      restore = takeSnapshot(lite)
      kept = statements.size
    },
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
