// `matoolkit db`: set-up of a PostgreSQL server by the owner of the tables.
import type { Io } from '../cli/terminal/io.ts'
import { type Column, makeShow, type OutputFormat, type Row } from '../cli/terminal/show.ts'
import { realClock } from '../clock.ts'
import { loadConfig, SETTINGS } from '../config.ts'
import { type DatabaseRole, hasDatabaseRole, listDatabaseRoles } from '../db/database-roles.ts'
import type { Db } from '../db/db.ts'
import { findSchemaGap, findSchemaRights, migrate, migrationsOnDisk } from '../db/migrate.ts'
import { openPostgres } from '../db/postgres.ts'
import type { RightsReport } from '../db/rights.ts'
import { followDatabaseTime } from '../db/time.ts'
import { countText } from '../domain/count-text.ts'
import type { Json } from '../domain/json.ts'
import { EXIT, MatoolkitError } from '../errors.ts'
import { removeRole, renewRoles, requireFit, setUpRole, sqlOfRole } from './database-roles.ts'
import { databaseAccess } from './database-sign-in.ts'

/** Plain text unless another format is asked for. */
export interface RevokeFlags {
  readonly output?: OutputFormat
}

export interface MigrateFlags extends RevokeFlags {
  readonly dryRun?: true
}

const MIGRATED: readonly Column[] = [
  ['APPLIED', ({ applied }) => (applied as string[]).join(', ')],
  ['MISSING', ({ missing }) => (missing as string[]).join(', ')],
  ['RENEWED ROLES', ({ renewedRoles }) => (renewedRoles as string[]).join(', ')],
]

export function migrateDatabase({ dryRun, output = 'table' }: MigrateFlags, io: Io): Promise<void> {
  return asOwner(async (db, now) => {
    const gap = await findSchemaGap(db)
    const isToDo = gap !== null && !dryRun
    const applied = isToDo ? await migrate(db, now) : []
    const renewedRoles = isToDo ? await renewRoles(db, now) : []
    if (output !== 'table') {
      const missing = gap === null || isToDo ? [] : filesAfter(gap.found)
      return makeShow(output, io).one({ applied, missing, renewedRoles }, MIGRATED)
    }
    if (gap === null) return io.out('The schema is current. Nothing to do.')
    const { found, known } = gap
    if (dryRun)
      return io.out(`The schema has version ${found}; "matoolkit db migrate" makes it ${known}.`)
    io.out(`Applied ${countText(applied.length, 'migration')}: ${applied.join(', ')}`)
    for (const role of renewedRoles) io.out(`Renewed the rights of ${role}`)
  })
}

const filesAfter = (found: number): string[] =>
  migrationsOnDisk().flatMap(({ version, file }) => (version > found ? [file] : []))

export interface GrantFlags extends RevokeFlags {
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
    const { dryRun, output = 'table' } = flags
    const rows: Row[] = []
    for (const role of roles) {
      const sql = dryRun ? await sqlOfRole(db, role) : []
      const report = dryRun ? null : await setUpRole(db, role, now)
      rows.push({ ...role, workerIds: [...role.workerIds], sql, ...grantedOf(report) })
      if (output === 'table' && dryRun) io.out(`${sql.join(';\n')};`)
      if (report) tell(role, report, output === 'table', io)
    }
    if (output !== 'table')
      await makeShow(output, io).list({
        ...{ whole: { roles: rows as Json[] }, rows, columns: GRANTED, empty: '' },
      })
  })
}

const grantedOf = (report: RightsReport | null): Row => ({
  granted: [...(report?.missing ?? [])],
  excess: [...(report?.excess ?? [])],
})

const GRANTED: readonly Column[] = [
  ['ROLE', 'name'],
  ['WORKERS', ({ workerIds }) => (workerIds as string[]).join(', ')],
  ['GRANTED', ({ granted }) => (granted as string[]).join(', ')],
  ['EXCESS', ({ excess }) => (excess as string[]).join(', ')],
  ['SQL', ({ sql }) => (sql as string[]).join('; ')],
]

function tell(
  { name, workerIds }: DatabaseRole,
  { missing, excess }: RightsReport,
  isText: boolean,
  io: Io,
): void {
  const kind = workerIds.length === 0 ? 'application' : `worker ${workerIds.join(', ')}`
  const granted =
    missing.length === 0 ? 'has its rights' : `granted ${countText(missing.length, 'right')}`
  if (isText) io.out(`${name} (${kind}): ${granted}`)
  if (excess.length === 0) return
  io.exitCode = EXIT.failed
  io.err(
    `${name} has more than it needs, by another role or by PUBLIC: ${excess.join(', ')}. Take it away.`,
  )
}

export function revokeRights(
  role: string,
  { output = 'table' }: RevokeFlags,
  io: Io,
): Promise<void> {
  return asOwner(async (db) => {
    await requireCurrent(db)
    if (!(await hasDatabaseRole(db, role)))
      throw new MatoolkitError('DATABASE_ROLE_UNKNOWN', { role })
    await removeRole(db, role)
    if (output === 'table') return io.out(`${role} has no more rights.`)
    await makeShow(output, io).one({ role, isRevoked: true }, [
      ['ROLE', 'role'],
      ['REVOKED', 'isRevoked'],
    ])
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
  const config = loadConfig()
  const { databaseUrl, maxClockSkewSec } = config
  if (databaseUrl === null) {
    const reason = 'DATABASE_URL is not set. The embedded database is upgraded at every start.'
    throw new MatoolkitError('USAGE', { reason })
  }
  const clock = realClock()
  const access = databaseAccess({ ...config, databaseUrl }, clock)
  const db = await openPostgres({ ...access, applicationName: 'matoolkit db' })
  try {
    const { role, mayMigrate } = await findSchemaRights(db)
    if (!mayMigrate) throw new MatoolkitError('NOT_OWNER', { role })
    await followDatabaseTime(db, clock, maxClockSkewSec * 1_000)
    await work(db, clock.now())
  } finally {
    await db.close()
  }
}
