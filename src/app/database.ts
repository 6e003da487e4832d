// `matoolkit db`: set-up of a PostgreSQL server by the owner of the tables.
import type { Io } from '../cli/terminal/io.ts'
import { realClock } from '../clock.ts'
import { loadConfig } from '../config.ts'
import type { Db } from '../db/db.ts'
import { findSchemaGap, findSchemaRights, migrate } from '../db/migrate.ts'
import { openPostgres } from '../db/postgres.ts'
import { followDatabaseTime } from '../db/time.ts'
import { countText } from '../domain/count-text.ts'
import { MatoolkitError } from '../errors.ts'

export interface MigrateFlags {
  readonly dryRun?: true
}

export function migrateDatabase({ dryRun }: MigrateFlags, io: Io): Promise<void> {
  return asOwner(async (db, now) => {
    const gap = await findSchemaGap(db)
    if (gap === null) return io.out('The schema is current. Nothing to do.')
    if (dryRun) {
      const { found, known } = gap
      return io.out(`The schema has version ${found}; "matoolkit db migrate" makes it ${known}.`)
    }
    const applied = await migrate(db, now)
    io.out(`Applied ${countText(applied.length, 'migration')}: ${applied.join(', ')}`)
  })
}

/** Runs on the server of DATABASE_URL. Throws NOT_OWNER unless its role may change the tables. */
async function asOwner(work: (db: Db, now: Date) => Promise<void>): Promise<void> {
  const { databaseUrl, maxClockSkewSec } = loadConfig()
  if (databaseUrl === null) {
    const reason = 'DATABASE_URL is not set. The embedded database is upgraded at every start.'
    throw new MatoolkitError('USAGE', { reason })
  }
  const db = await openPostgres({ url: databaseUrl, applicationName: 'matoolkit db' })
  try {
    const { role, mayMigrate } = await findSchemaRights(db)
    if (!mayMigrate) throw new MatoolkitError('NOT_OWNER', { role })
    const clock = realClock()
    await followDatabaseTime(db, clock, maxClockSkewSec * 1_000)
    await work(db, clock.now())
  } finally {
    await db.close()
  }
}
