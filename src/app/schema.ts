// The schema of a process on a shared server. At start, a process of the owner upgrades it; any other waits until somebody has, and a
// process that is only a worker never upgrades. While it runs, a process that meets a newer schema is told once.
import type { Clock } from '../clock.ts'
import type { Role } from '../config.ts'
import type { Db, Queryable } from '../db/db.ts'
import {
  findNewerSchema,
  findSchemaGap,
  findSchemaRights,
  migrate,
  migrationsOnDisk,
  type SchemaGap,
} from '../db/migrate.ts'
import { MatoolkitError } from '../errors.ts'
import { everyLoop, type Loop } from '../service.ts'

export interface SchemaOptions {
  readonly roles: readonly Role[]
  readonly clock: Clock
  /** Ends the wait with SCHEMA_OLDER. */
  readonly stopping: AbortSignal
  /** Called once when the process begins to wait. */
  onWaiting(why: MatoolkitError): void
}

const WAIT_MS = 2_000
const WATCH_INTERVAL_MS = 5_000

/** Returns the applied migrations once the schema is current. Throws SCHEMA_NEWER and what else cannot be waited out. */
export async function requireSchema(db: Db, options: SchemaOptions): Promise<string[]> {
  const { clock, stopping } = options
  const whyNot = await whyNoUpgrade(db, options.roles)
  if (whyNot === null) return migrate(db, clock.now())
  for (let isWaiting = false; ; isWaiting = true) {
    const gap = await findSchemaGap(db)
    if (gap === null) return []
    const why = new MatoolkitError('SCHEMA_OLDER', { ...gap, why: whyNot })
    if (stopping.aborted) throw why
    if (!isWaiting) options.onWaiting(why)
    await clock.wait(WAIT_MS, stopping)
  }
}

async function whyNoUpgrade(db: Db, roles: readonly Role[]): Promise<string | null> {
  // The embedded database belongs to this process.
  if (db.kind === 'pglite') return null
  if (roles.every((role) => role === 'worker')) return 'a worker never does'
  const { role, mayMigrate } = await findSchemaRights(db)
  return mayMigrate ? null : `the database role "${role}" does not own the tables`
}

export interface SchemaWatchOptions {
  readonly db: Queryable
  readonly clock: Clock
  /** Called once. */
  onNewer(gap: SchemaGap): void
  onError(error: unknown): void
}

/** Watches for a newer program that upgrades the schema under this one. A nudge looks at once. */
export function schemaWatch({ db, clock, onNewer, onError }: SchemaWatchOptions): Loop {
  const known = migrationsOnDisk()
  let isTold = false
  return everyLoop({
    name: 'schema watch',
    clock,
    intervalMs: WATCH_INTERVAL_MS,
    runOnce: async () => {
      const gap = isTold ? null : await findNewerSchema(db, known)
      if (gap === null) return
      isTold = true
      onNewer(gap)
    },
    onError,
  })
}
