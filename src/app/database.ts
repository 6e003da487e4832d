// `matoolkit db`: set-up of a PostgreSQL server by the owner of the tables.
import type { Io } from '../cli/terminal/io.ts'
import { realClock } from '../clock.ts'
import { loadConfig, SETTINGS } from '../config.ts'
import { type DatabaseRole, hasDatabaseRole, listDatabaseRoles } from '../db/database-roles.ts'
import type { Db } from '../db/db.ts'
import { findSchemaGap, findSchemaRights, migrate } from '../db/migrate.ts'
import { openPostgres } from '../db/postgres.ts'
import type { RightsReport } from '../db/rights.ts'
import { followDatabaseTime } from '../db/time.ts'
import { countText } from '../domain/count-text.ts'
import { EXIT, MatoolkitError } from '../errors.ts'
import { removeRole, renewRoles, requireFit, setUpRole, sqlOfRole } from './database-roles.ts'

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
    for (const role of await renewRoles(db, now)) io.out(`Renewed the rights of ${role}`)
  })
}

export interface GrantFlags {
  readonly application?: readonly string[]
  readonly worker?: readonly string[]
  readonly dryRun?: true
}

/** Sets up the named roles, and renews those that were set up before. */
export function grantRights(flags: GrantFlags, io: Io): Promise<void> {
  return asOwner(async (db, now) => {
    await requireCurrent(db)
    const known = await listDatabaseRoles(db)
    const named = namedRoles(flags, known)
    for (const { name } of named) await requireFit(db, name)
    const others = known.filter(({ name }) => named.every((role) => role.name !== name))
    const roles = [...named, ...others]
    if (roles.length === 0) {
      const reason = 'No role was ever set up. Name one: --application ROLE or --worker ID=ROLE.'
      throw new MatoolkitError('USAGE', { reason })
    }
    for (const role of roles) {
      if (flags.dryRun) io.out(`${(await sqlOfRole(db, role)).join(';\n')};`)
      else tell(role, await setUpRole(db, role, now), io)
    }
  })
}

function tell(role: DatabaseRole, { missing, excess }: RightsReport, io: Io): void {
  const { name, workerIds } = role
  const kind = workerIds.length === 0 ? 'application' : `worker ${workerIds.join(', ')}`
  const granted =
    missing.length === 0 ? 'has its rights' : `granted ${countText(missing.length, 'right')}`
  io.out(`${name} (${kind}): ${granted}`)
  if (excess.length === 0) return
  io.exitCode = EXIT.failed
  io.err(
    `${name} has more than it needs, by another role or by PUBLIC: ${excess.join(', ')}. Take it away.`,
  )
}

export function revokeRights(role: string, io: Io): Promise<void> {
  return asOwner(async (db) => {
    await requireCurrent(db)
    if (!(await hasDatabaseRole(db, role)))
      throw new MatoolkitError('DATABASE_ROLE_UNKNOWN', { role })
    await removeRole(db, role)
    io.out(`${role} has no more rights.`)
  })
}

async function requireCurrent(db: Db): Promise<void> {
  const gap = await findSchemaGap(db)
  const why = 'this command changes rights only'
  if (gap !== null) throw new MatoolkitError('SCHEMA_OLDER', { ...gap, why })
}

/** The named roles; a worker's role keeps the ids that it has. */
function namedRoles(
  { application = [], worker = [] }: GrantFlags,
  known: readonly DatabaseRole[],
): DatabaseRole[] {
  const pairs = worker.map(workerAndRole)
  const names = new Set([...application, ...pairs.map(({ role }) => role)])
  return [...names].map((name) => {
    const before = known.find((one) => one.name === name)
    const added = pairs.filter(({ role }) => role === name).map(({ workerId }) => workerId)
    const wasApplication = before?.workerIds.length === 0
    const isApplication = application.includes(name)
    if (added.length > 0 && (isApplication || wasApplication)) throw twoKinds(name)
    if (isApplication && before && !wasApplication) throw twoKinds(name)
    const workerIds = [...new Set([...(before?.workerIds ?? []), ...added])].sort()
    return { name, workerIds }
  })
}

const twoKinds = (name: string): MatoolkitError =>
  new MatoolkitError('USAGE', {
    reason: `A role is of the application or of workers, and "${name}" would be both. Use two roles, or "matoolkit db revoke ${name}" first.`,
  })

function workerAndRole(text: string): { workerId: string; role: string } {
  const at = text.indexOf('=')
  const [workerId, role] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  if (SETTINGS.workerId.read(workerId) && role !== '') return { workerId, role }
  const reason = `--worker is "${text}", but must be the worker's id and its role, such as contoso-worker=matoolkit_contoso.`
  throw new MatoolkitError('USAGE', { reason })
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
