// What every process that touches the state needs: the database with the current schema, the database's time, the bus and the engine. When
// opening fails, nothing stays open.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import manifest from '../../../package.json' with { type: 'json' }
import type { MatoolkitError } from '../../base/errors/errors.ts'
import { readJobKeys } from '../../base/keys/job-keys.ts'
import type { RealClock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import type { Role } from '../../base/settings/process.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Db } from '../../db/connection/db.ts'
import { openPglite } from '../../db/connection/pglite.ts'
import { openPostgres } from '../../db/connection/postgres.ts'
import { type ClockReport, followDatabaseTime } from '../../db/connection/time.ts'
import { findSchemaGap } from '../../db/schema/migrate.ts'
import { migrationsOnDisk } from '../../db/schema/migration-files.ts'
import { connectionNameOf } from '../../db/schema/processes.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { FunctionBook } from '../../engine/transactions/function-book.ts'
import { RunbookCache } from '../../engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../engine/transactions/worker-pace.ts'
import { databaseAccess } from '../upkeep/database-sign-in.ts'
import { requireSchema } from '../upkeep/schema.ts'
import { FUNCTION_PACKAGE } from './function-package.ts'
import { openTransport } from './transports.ts'
import { readWindowsFile } from './windows-file.ts'

export interface RuntimeOptions {
  readonly config: Config
  readonly clock: RealClock
  readonly roles: readonly Role[]
  /** Ends waiting for an upgrade of the schema. */
  readonly stopping: AbortSignal
  /** Called once when it waits for an upgrade of the schema. */
  readonly onWaiting: (why: MatoolkitError) => void
  /** Called when an idle connection to the server breaks. */
  readonly onConnectionLost?: (error: Error) => void
  /** Called when the embedded database can do no more: the process should end. */
  readonly onStopped?: (error: MatoolkitError) => void
  /** Called before tables of an embedded database with data in them change. */
  readonly beforeUpgrade?: (db: Db) => Promise<void>
}

export interface Runtime {
  readonly db: Db
  readonly bus: Bus
  readonly engine: Engine
  readonly clockReport: ClockReport
  /** Migrations that this start applied. */
  readonly applied: readonly string[]
  close(): Promise<void>
}

/** A longer statement is cancelled, and its work retried. */
const STATEMENT_MS_MAX = 60_000

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, clock } = options
  const windows = readWindowsFile(config.windowsFile)
  const db = await openDatabase(options)
  try {
    const clockReport = await followDatabaseTime(db, clock)
    if (options.beforeUpgrade && db.copyTo && (await findSchemaGap(db))?.found)
      await options.beforeUpgrade(db)
    const applied = await requireSchema(db, { ...options, workerId: config.workerId })
    const bus = await openTransport(config, { db, clock, newToken: randomUUID })
    const engine: Engine = {
      db,
      clock,
      runbooks: new RunbookCache(),
      functions: new FunctionBook(FUNCTION_PACKAGE.catalogue),
      random: Math.random,
      pace: new WorkerPace(config.maxOutstanding),
      queueLimitSec: config.queueLimitSec,
      seen: { event: null },
      bus,
      jobKeys: readJobKeys(config),
      windows,
    }
    const close = async () => {
      try {
        await bus.close()
      } finally {
        await db.close()
      }
    }
    return { db, bus, engine, clockReport, applied, close }
  } catch (error) {
    await db.close()
    throw error
  }
}

function openDatabase(options: RuntimeOptions): Promise<Db> {
  const { config, clock, roles, onConnectionLost, onStopped } = options
  const { databaseUrl, dataDir, poolSize } = config
  if (databaseUrl === null) return openPglite(dataDir, onStopped && { onStopped })
  return openPostgres({
    ...databaseAccess({ ...config, databaseUrl }, clock),
    poolSize,
    statementTimeoutMs: STATEMENT_MS_MAX,
    applicationName: connectionName(roles),
    ...(onConnectionLost && { onConnectionLost }),
  })
}

/** Tells who is at work to `matoolkit db migrate`. */
const connectionName = (roles: readonly Role[]): string =>
  connectionNameOf({
    version: manifest.version,
    schema: migrationsOnDisk().at(-1)!.version,
    roles,
    host: hostname(),
    pid: process.pid,
  })
