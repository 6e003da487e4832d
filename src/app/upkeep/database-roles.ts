// Sets up database roles, renews them after an upgrade, and tells a process what its own role lacks.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { reportRole, rightsOf } from '../../bus/role-rights.ts'
import type { Db, Queryable } from '../../db/connection/db.ts'
import {
  type DatabaseRole,
  findCurrentSchema,
  forgetDatabaseRole,
  hasDatabaseRole,
  listDatabaseRoles,
  mayServe,
  replaceDatabaseRole,
} from '../../db/schema/database-roles.ts'
import {
  CAN_CREATE,
  grantStatements,
  listMissingRights,
  listPowers,
  type RightsReport,
  revokeStatements,
} from '../../db/schema/rights.ts'

/** The statements that give the role exactly its rights. */
export const sqlOfRole = async (db: Queryable, role: DatabaseRole): Promise<string[]> =>
  grantStatements(role.name, await findCurrentSchema(db), rightsOf(role))

/**
 * Gives the role its rights and remembers it, in one transaction: running processes never lack any. Returns what it lacked before, and
 * what it has in excess afterwards. Does nothing if all is well, because policies lock their tables.
 */
export async function setUpRole(db: Db, role: DatabaseRole, now: Date): Promise<RightsReport> {
  const before = await reportRole(db, role)
  const known = (await listDatabaseRoles(db)).find(({ name }) => name === role.name)
  const isKnown = JSON.stringify(known) === JSON.stringify(role)
  if (isKnown && before.missing.length === 0 && before.excess.length === 0) return before
  const statements = await sqlOfRole(db, role)
  await db.transaction(async (tx) => {
    for (const statement of statements) await tx.script(statement)
    await replaceDatabaseRole(tx, role, now)
  })
  const { excess } = await reportRole(db, role)
  return { missing: before.missing, excess }
}

/** Throws DATABASE_ROLE_UNKNOWN or DATABASE_ROLE_TOO_POWERFUL. */
export async function requireFit(db: Queryable, role: string): Promise<void> {
  if (!(await hasDatabaseRole(db, role)))
    throw new MatoolkitError('DATABASE_ROLE_UNKNOWN', { role })
  // Creating tables is taken away with the rest.
  const why = (await listPowers(db, role)).filter((power) => power !== CAN_CREATE)
  if (why.length > 0)
    throw new MatoolkitError('DATABASE_ROLE_TOO_POWERFUL', { role, why: why.join(', ') })
}

/** After an upgrade. Roles that the server no longer has are forgotten. Returns the names of those that lacked something. */
export async function renewRoles(db: Db, now: Date): Promise<string[]> {
  const renewed: string[] = []
  for (const role of await listDatabaseRoles(db)) {
    if (!(await hasDatabaseRole(db, role.name))) {
      await db.transaction((tx) => forgetDatabaseRole(tx, role.name))
      continue
    }
    if ((await setUpRole(db, role, now)).missing.length > 0) renewed.push(role.name)
  }
  return renewed
}

/** False if the role was never set up. */
export async function removeRole(db: Db, role: string): Promise<boolean> {
  const statements = revokeStatements(role, await findCurrentSchema(db))
  return db.transaction(async (tx) => {
    for (const statement of statements) await tx.script(statement)
    return forgetDatabaseRole(tx, role)
  })
}

/** Why the role of this connection cannot run a process of the application, or of this worker; null when it can. */
export async function whyUnfit(
  db: Queryable,
  role: string,
  workerId: string | null,
): Promise<MatoolkitError | null> {
  const rights = rightsOf({ workerIds: workerId === null ? [] : [workerId] })
  const missing = await listMissingRights(db, role, rights)
  if (missing.length === 0 && !(await mayServe(db, workerId)))
    missing.push(workerId === null ? 'the rows of the bus' : `the jobs of worker ${workerId}`)
  return missing.length === 0 ? null : rightsMissing(role, missing, workerId)
}

const NAMED_MAX = 5

export function rightsMissing(
  role: string,
  missing: readonly string[],
  workerId: string | null,
): MatoolkitError {
  const more = missing.length - NAMED_MAX
  const named = missing.slice(0, NAMED_MAX).join(', ')
  const flag = workerId === null ? `--application ${role}` : `--worker ${workerId}=${role}`
  return new MatoolkitError('RIGHTS_MISSING', {
    role,
    missing: more > 0 ? `${named} and ${more} more` : named,
    command: `matoolkit db grant ${flag}`,
  })
}
