// The database of the simulated world: PGlite in memory, with the program's tables and nothing in them, that can be had anew for
// every seed within milliseconds.
import { PGlite, types } from '@electric-sql/pglite'
import type { Db } from '../../src/db/db.ts'
import { migrate } from '../../src/db/migrate.ts'
import { preparedLite } from './prepared-lite.ts'
import { takeSnapshot } from './snapshot.ts'

export interface SimulationDb extends Db {
  /** Empty again, as if it had just been opened. */
  renew(): Promise<void>
}

// Few buffers: what is not there need not be copied. Otherwise as src/db/pglite.ts, and plans for all time.
const START = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB', '-c', 'wal_buffers=1MB']
const SESSION = `set timezone = 'UTC'; set random_page_cost = 1.1; set jit = off; set plan_cache_mode = force_generic_plan`
const parsers = { [types.INT8]: Number, [types.NUMERIC]: Number }

export async function openSimulationDb(): Promise<SimulationDb> {
  const lite = await PGlite.create({ parsers, startParams: START })
  await lite.exec(SESSION)
  const db = preparedLite(lite)
  await migrate(db, new Date(Date.UTC(2026, 2, 1)))
  let restore = takeSnapshot(lite)
  let known = db.count
  return Object.assign(db, {
    renew: async () => {
      const fresh = db.textsAfter(known)
      restore()
      db.forgetAfter(known)
      if (fresh.length === 0) return
      // Statements that came up since are prepared and planned once for all seeds to come.
      for (const sql of fresh) await db.prepare(sql)
      restore = takeSnapshot(lite)
      known = db.count
    },
  })
}
