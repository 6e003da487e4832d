// What every process stands on that touches the state: the database with its schema brought up, the database's time, and the
// engine's door. Opening fails as a whole; nothing is left open.
import type { RealClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { openPglite } from '../db/pglite.ts'
import { openPostgres } from '../db/postgres.ts'
import { type ClockReport, followDatabaseTime } from '../db/time.ts'
import type { Engine } from '../engine/engine.ts'
import { RunbookCache } from '../engine/runbook-cache.ts'

export interface RuntimeOptions {
  readonly config: Config
  readonly clock: RealClock
  /** Told of a connection to a server that broke while nobody used it. */
  readonly onConnectionLost?: (error: Error) => void
}

export interface Runtime {
  readonly db: Db
  readonly engine: Engine
  readonly clockReport: ClockReport
  /** Files that brought the schema up just now. */
  readonly applied: readonly string[]
}

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, clock } = options
  const db = await openDatabase(options)
  try {
    const clockReport = await followDatabaseTime(db, clock, config.maxClockSkewSec * 1_000)
    const applied = await migrate(db, clock.now())
    const engine: Engine = {
      db,
      clock,
      runbooks: new RunbookCache(),
      random: Math.random,
      maxOutstanding: config.maxOutstanding,
      canWithdraw: true,
    }
    return { db, engine, clockReport, applied }
  } catch (error) {
    await db.close()
    throw error
  }
}

function openDatabase({ config, onConnectionLost }: RuntimeOptions): Promise<Db> {
  const { databaseUrl, dataDir, poolSize, statementTimeoutSec } = config
  if (databaseUrl === null) return openPglite(dataDir)
  return openPostgres({
    url: databaseUrl,
    poolSize,
    statementTimeoutMs: statementTimeoutSec * 1_000,
    applicationName: 'matoolkit',
    ...(onConnectionLost && { onConnectionLost }),
  })
}
