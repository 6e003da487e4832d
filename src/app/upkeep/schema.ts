// The schema of a process on a shared server. At start, a process of the owner upgrades it; any other waits until somebody has, and until
// its role has its rights. A process that is only a worker never upgrades. An upgrade that would end older programs waits until they are
// gone. While it runs, a process that meets a newer schema is told once, and once more if it cannot continue.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { everyLoop, type Loop } from '../../base/run/service.ts'
import type { Role } from '../../base/settings/process.ts'
import type { Db, Queryable } from '../../db/connection/db.ts'
import {
  findNewerSchema,
  findSchemaGap,
  findSchemaRights,
  isClosed,
  migrate,
  type SchemaVersions,
} from '../../db/schema/migrate.ts'
import { migrationsOnDisk } from '../../db/schema/migration-files.ts'
import { renewRoles, rightsMissing, whyUnfit } from './database-roles.ts'

export interface SchemaOptions {
  readonly roles: readonly Role[]
  /** Of a process that is only a worker. */
  readonly workerId: string | null
  readonly clock: Clock
  /** Ends the wait with the reason. */
  readonly stopping: AbortSignal
  /** Called when the process begins to wait, and for each new reason. */
  onWaiting(why: MatoolkitError): void
}

const WAIT_MS = 2_000
const WATCH_INTERVAL_MS = 5_000

/** Returns the applied migrations once the schema is current. Throws SCHEMA_NEWER and what else cannot be waited out. */
export async function requireSchema(db: Db, options: SchemaOptions): Promise<string[]> {
  const { clock, stopping } = options
  let said = ''
  for (;;) {
    const { applied, why } = await upgradeOrWait(db, options)
    if (applied) return applied
    if (stopping.aborted) throw why
    if (said !== why.message) options.onWaiting(why)
    said = why.message
    await clock.wait(WAIT_MS, stopping)
  }
}

type Upgraded = { readonly applied: string[]; readonly why?: undefined }
type Waiting = { readonly applied: null; readonly why: MatoolkitError }

async function upgradeOrWait(db: Db, options: SchemaOptions): Promise<Upgraded | Waiting> {
  const { clock, stopping } = options
  // The embedded database belongs to this process.
  if (db.kind === 'postgres' && !(await mayUpgrade(db, options))) {
    const why = await whyNotYet(db, options)
    return why === null ? { applied: [] } : { applied: null, why }
  }
  try {
    const pause = (ms: number) => clock.wait(ms, stopping)
    const applied = await migrate(db, clock.now(), migrationsOnDisk(), { pause })
    if (applied.length > 0) await renewRoles(db, clock.now())
    return { applied }
  } catch (error) {
    const isInUse = error instanceof MatoolkitError && error.code === 'SCHEMA_IN_USE'
    if (!isInUse) throw error
    return { applied: null, why: error }
  }
}

const isOnlyWorker = (roles: readonly Role[]): boolean => roles.every((role) => role === 'worker')

const mayUpgrade = async (db: Db, { roles }: SchemaOptions): Promise<boolean> =>
  !isOnlyWorker(roles) && (await findSchemaRights(db)).mayMigrate

/** The owner upgrades first and renews the rights of other roles right after. */
async function whyNotYet(
  db: Db,
  { roles, workerId: id }: SchemaOptions,
): Promise<MatoolkitError | null> {
  const workerId = isOnlyWorker(roles) ? id : null
  const { role, mayMigrate, mayRead } = await findSchemaRights(db)
  if (!mayRead) return rightsMissing(role, ['select on schema_migrations'], workerId)
  const gap = await findSchemaGap(db)
  if (gap === null) return mayMigrate ? null : whyUnfit(db, role, workerId)
  const why = mayMigrate
    ? 'a worker never does'
    : `the database role "${role}" does not own the tables`
  return new MatoolkitError('SCHEMA_OLDER', { ...gap, why })
}

export interface SchemaWatchOptions {
  readonly db: Queryable
  readonly clock: Clock
  /** Called once for each newer version that this program can work with. */
  onAhead(versions: SchemaVersions): void
  /** Called once, when it cannot. */
  onClosed(versions: SchemaVersions): void
  onError(error: unknown): void
}

/** Watches for a newer program that upgrades the schema under this one. A nudge looks at once. */
export function schemaWatch(options: SchemaWatchOptions): Loop {
  const { db, clock, onAhead, onClosed, onError } = options
  const known = migrationsOnDisk()
  let told = 0
  let isClosedTold = false
  return everyLoop({
    name: 'schema watch',
    clock,
    intervalMs: WATCH_INTERVAL_MS,
    runOnce: async () => {
      const versions = isClosedTold ? null : await findNewerSchema(db, known)
      if (versions === null) return
      isClosedTold = isClosed(versions)
      if (isClosedTold) onClosed(versions)
      else if (versions.found > told) onAhead(versions)
      told = versions.found
    },
    onError,
  })
}
