// `matoolkit db`: set-up of a PostgreSQL server by the owner of the tables.

import { EXIT, MatoolkitError } from '../../base/errors/errors.ts'
import { type RealClock, realClock } from '../../base/run/clock.ts'
import { loadConfig, SETTINGS } from '../../base/settings/config.ts'
import { countText } from '../../base/text/count-text.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { type Column, makeShow, type OutputFormat } from '../../cli/terminal/show.ts'
import type { Db } from '../../db/connection/db.ts'
import { openPostgres } from '../../db/connection/postgres.ts'
import { followDatabaseTime } from '../../db/connection/time.ts'
import {
  type DatabaseRole,
  hasDatabaseRole,
  listDatabaseRoles,
} from '../../db/schema/database-roles.ts'
import {
  ENTRA_DATABASE,
  type EntraRole,
  makeEntraRole,
  sqlOfEntraRole,
} from '../../db/schema/entra-roles.ts'
import { findSchemaRights, findSchemaVersions, isAhead, migrate } from '../../db/schema/migrate.ts'
import { migrationsOnDisk } from '../../db/schema/migration-files.ts'
import { listProcesses } from '../../db/schema/processes.ts'
import type { RightsReport } from '../../db/schema/rights.ts'
import { removeRole, renewRoles, requireFit, setUpRole, sqlOfRole } from './database-roles.ts'
import { databaseAccess } from './database-sign-in.ts'
import { olderLines, planSchemaUpgrade, showPlan } from './upgrade-plan.ts'

/** Plain text unless another format is asked for. */
export interface RevokeFlags {
  readonly output?: OutputFormat
}

export interface MigrateFlags extends RevokeFlags {
  readonly dryRun?: true
  readonly stopOlder?: true
}

type Migrated = ReturnType<typeof planSchemaUpgrade> &
  Readonly<Record<'applied' | 'renewedRoles', readonly string[]>>

const MIGRATED: readonly Column<Migrated>[] = [
  ['FROM', 'found'],
  ['TO', 'known'],
  ['APPLIED', ({ applied }) => applied.join(', ')],
  ['PENDING', ({ pending }) => pending.map(({ file }) => file).join(', ')],
  ['RENEWED ROLES', ({ renewedRoles }) => renewedRoles.join(', ')],
  ['PROCESSES', ({ processes }) => processes.map(({ name }) => name).join(', ')],
]

export function migrateDatabase(flags: MigrateFlags, io: Io): Promise<void> {
  const { dryRun, stopOlder, output = 'table' } = flags
  return asOwner(async (db, clock) => {
    const migrations = migrationsOnDisk()
    const plan = planSchemaUpgrade(
      await findSchemaVersions(db),
      migrations,
      await listProcesses(db),
    )
    const { found, known, pending } = plan
    const isToDo = pending.length > 0 && !dryRun
    const options = { pause: (ms: number) => clock.wait(ms), stopsOlder: stopOlder === true }
    const applied = isToDo ? await migrate(db, clock.now(), migrations, options) : []
    const renewedRoles = isToDo ? await renewRoles(db, clock.now()) : []
    const show = makeShow(output, io)
    if (output !== 'table') {
      const done = { ...plan, ...(isToDo && { pending: [] }), applied, renewedRoles }
      return show.one(done, MIGRATED)
    }
    if (found > known)
      return io.out(
        `The schema has version ${found}, made by a newer release; this one works with it. Nothing to do.`,
      )
    if (pending.length === 0) return io.out('The schema is current. Nothing to do.')
    if (dryRun) return showPlan(show, plan)
    io.out(`Applied ${countText(applied.length, 'migration')}: ${applied.join(', ')}`)
    for (const role of renewedRoles) io.out(`Renewed the rights of ${role}`)
    for (const line of olderLines(plan)) io.out(line)
  })
}

export interface GrantFlags extends RevokeFlags {
  readonly application?: readonly string[]
  readonly worker?: readonly string[]
  readonly entra?: readonly string[]
  readonly migrate?: true
  readonly dryRun?: true
}

/** Sets up the named roles, and renews those that were set up before. */
export function grantRights(flags: GrantFlags, io: Io): Promise<void> {
  return asOwner(async (db, clock, openDatabase) => {
    await requireCurrent(db)
    const known = await listDatabaseRoles(db)
    const named = namedRoles(flags, known)
    const planned = await makeEntraRoles(flags, openDatabase, io)
    for (const { name } of named) if (!planned.includes(name)) await requireFit(db, name)
    const others = known.filter(({ name }) => named.every((role) => role.name !== name))
    const roles = [...named, ...others]
    if (roles.length === 0) {
      const reason = 'No role was ever set up. Name one: --application ROLE or --worker ID=ROLE.'
      throw new MatoolkitError('USAGE', { reason })
    }
    const { dryRun, output = 'table' } = flags
    const rows: Granted[] = []
    for (const role of roles) {
      const sql = dryRun ? await sqlOfRole(db, role) : []
      const report = dryRun ? null : await setUpRole(db, role, clock.now())
      rows.push({ ...role, workerIds: [...role.workerIds], sql, ...grantedOf(report) })
      if (output === 'table' && dryRun) io.out(`${sql.join(';\n')};`)
      if (report) tell(role, report, output === 'table', io)
    }
    if (output !== 'table')
      await makeShow(output, io).list({
        whole: { roles: rows },
        rows,
        columns: GRANTED,
        empty: '',
      })
  })
}

/** The roles that a dry run only plans. */
async function makeEntraRoles(
  { entra = [], dryRun, output = 'table' }: GrantFlags,
  openDatabase: OpenDatabase,
  io: Io,
): Promise<string[]> {
  const wanted = entra.map(entraRole)
  if (wanted.length === 0) return []
  const say = output === 'table' ? io.out : io.err
  const db = await openDatabase(ENTRA_DATABASE)
  try {
    for (const role of wanted)
      if (dryRun) {
        const sql = await sqlOfEntraRole(db, role)
        if (sql !== null) say(`${sql}; -- in ${ENTRA_DATABASE}`)
      } else if (await makeEntraRole(db, role))
        say(`${role.role}: made for identity ${role.objectId}`)
  } finally {
    await db.close()
  }
  return dryRun ? wanted.map(({ role }) => role) : []
}

const ENTRA = /^([^=\p{Cc}]{1,63})=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/iu

function entraRole(text: string): EntraRole {
  const [, role, objectId] = ENTRA.exec(text) ?? []
  if (role !== undefined && objectId !== undefined) return { role, objectId }
  const reason = `--entra is "${text}", but must be a role and the object id of its identity, such as matoolkit-api=6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10.`
  throw new MatoolkitError('USAGE', { reason })
}

const grantedOf = (report: RightsReport | null) => ({
  granted: [...(report?.missing ?? [])],
  excess: [...(report?.excess ?? [])],
})

type Granted = DatabaseRole & ReturnType<typeof grantedOf> & { readonly sql: readonly string[] }

const GRANTED: readonly Column<Granted>[] = [
  ['ROLE', 'name'],
  ['WORKERS', ({ workerIds }) => workerIds.join(', ')],
  ['GRANTED', ({ granted }) => granted.join(', ')],
  ['EXCESS', ({ excess }) => excess.join(', ')],
  ['SQL', ({ sql }) => sql.join('; ')],
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
  const versions = await findSchemaVersions(db)
  const why = 'this command changes rights only'
  if (versions.found < versions.known)
    throw new MatoolkitError('SCHEMA_OLDER', { ...versions, why })
  // It would take from newer programs what they use.
  if (isAhead(versions)) throw new MatoolkitError('SCHEMA_AHEAD', { ...versions })
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
    reason: `A role is of the application or of workers, and "${name}" would be both. Use two roles, or "matoolkit db grant --revoke ${name}" first.`,
  })

function workerAndRole(text: string): { workerId: string; role: string } {
  const at = text.indexOf('=')
  const [workerId, role] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  if (SETTINGS.workerId.read(workerId) && role !== '') return { workerId, role }
  const reason = `--worker is "${text}", but must be the worker's id and its role, such as contoso-worker=matoolkit_contoso.`
  throw new MatoolkitError('USAGE', { reason })
}

/** A large index takes minutes, and nobody waits for it. */
const STATEMENT_TIMEOUT_MS = 3_600_000

type OpenDatabase = (name: string) => Promise<Db>

/** Runs on the server of DATABASE_URL. Throws NOT_OWNER unless its role may change the tables. */
async function asOwner(
  work: (db: Db, clock: RealClock, openDatabase: OpenDatabase) => Promise<void>,
): Promise<void> {
  const config = loadConfig()
  const { databaseUrl } = config
  if (databaseUrl === null) {
    const reason = 'DATABASE_URL is not set. The embedded database is upgraded at every start.'
    throw new MatoolkitError('USAGE', { reason })
  }
  const clock = realClock()
  const access = databaseAccess({ ...config, databaseUrl }, clock)
  const open = (url: string) =>
    openPostgres({
      ...access,
      url,
      applicationName: 'matoolkit db',
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    })
  const db = await open(access.url)
  try {
    const { role, mayMigrate } = await findSchemaRights(db)
    if (!mayMigrate) throw new MatoolkitError('NOT_OWNER', { role })
    await followDatabaseTime(db, clock)
    await work(db, clock, (name) => {
      const url = new URL(access.url)
      url.pathname = `/${name}`
      return open(url.href)
    })
  } finally {
    await db.close()
  }
}
