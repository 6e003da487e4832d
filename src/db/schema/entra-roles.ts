// Login roles for identities of Entra ID on Azure Database for PostgreSQL. Only its functions make them: a role by plain SQL has a
// name, and no identity. They exist in the database postgres. A role keeps the object id of its identity in a security label, also
// through a restore: an identity that was made again, as in another region, has another id.
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../connection/db.ts'
import { hasDatabaseRole } from './database-roles.ts'

export interface EntraRole {
  readonly role: string
  /** Of the managed identity's service principal. */
  readonly objectId: string
}

/** Where the functions are. */
export const ENTRA_DATABASE = 'postgres'

/** No such function, and no such provider of labels. */
const NOT_AZURE = ['42883', '22023']

/** The statement that makes the role the identity's; null if it is already. Names were checked. */
export async function sqlOfEntraRole(
  db: Queryable,
  { role, objectId }: EntraRole,
): Promise<string | null> {
  if (!(await hasDatabaseRole(db, role)))
    return `select pgaadauth_create_principal_with_oid('${role.replaceAll("'", "''")}', '${objectId}', 'service', false, false)`
  const labels = await db.query<{ label: string }>(
    `select label from pg_seclabels where provider = 'pgaadauth' and objtype = 'role' and objname = quote_ident($1)`,
    [role],
  )
  if (labels.some(({ label }) => label.includes(`oid=${objectId.toLowerCase()}`))) return null
  return `security label for pgaadauth on role "${role.replaceAll('"', '""')}" is 'aadauth,oid=${objectId},type=service'`
}

/** False if the role is the identity's already. Throws ENTRA_ROLES_UNAVAILABLE on a server that is not Azure's. */
export async function makeEntraRole(db: Queryable, wanted: EntraRole): Promise<boolean> {
  const sql = await sqlOfEntraRole(db, wanted)
  if (sql === null) return false
  try {
    await db.query(sql)
  } catch (error) {
    if (!NOT_AZURE.includes((error as { code?: string }).code ?? '')) throw error
    throw new MatoolkitError('ENTRA_ROLES_UNAVAILABLE', { role: wanted.role }, { cause: error })
  }
  return true
}
