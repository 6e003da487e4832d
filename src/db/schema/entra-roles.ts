// Login roles for identities of Entra ID on Azure Database for PostgreSQL. Only its functions make them: a role by plain SQL has a
// name, and no identity. They exist in the database postgres.
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

const CREATE = 'select pgaadauth_create_principal_with_oid'
const UNDEFINED_FUNCTION = '42883'

/** For people: the statement without parameters. Names were checked. */
export const sqlOfEntraRole = ({ role, objectId }: EntraRole): string =>
  `${CREATE}('${role.replaceAll("'", "''")}', '${objectId}', 'service', false, false)`

/** False if the role is there already. Throws ENTRA_ROLES_UNAVAILABLE on a server that is not Azure's. */
export async function createEntraRole(
  db: Queryable,
  { role, objectId }: EntraRole,
): Promise<boolean> {
  if (await hasDatabaseRole(db, role)) return false
  try {
    await db.query(`${CREATE}($1, $2, 'service', false, false)`, [role, objectId])
  } catch (error) {
    if ((error as { code?: string }).code !== UNDEFINED_FUNCTION) throw error
    throw new MatoolkitError('ENTRA_ROLES_UNAVAILABLE', { role }, { cause: error })
  }
  return true
}
