// Which rights the worker's app lacks, read from its tokens at start: better than learning it from the first failing job at night.
// Only what tokens show: roles that Exchange itself grants do not appear in them.
import { decodeJwt } from 'jose'
import type { WorkerFunction } from '../../worker/functions/catalogue.ts'

/** Null: the token does not show its rights. */
export interface GrantedRights {
  /** Directory roles by the id of their template; null when the token does not show them. */
  readonly directoryRoles?: readonly string[] | null
  readonly graph: readonly string[] | null
  readonly exchange: readonly string[] | null
}

/** Of an app's token, not verified: a service does that. */
function claimOf(token: string, name: 'roles' | 'wids', absent: readonly string[] | null) {
  try {
    const found = decodeJwt(token)[name]
    return Array.isArray(found) ? found.map(String) : absent
  } catch {
    return null
  }
}

export const rightsIn = (token: string) => claimOf(token, 'roles', [])

/** The directory roles of an app ("Access token claims reference"; for apps observed, not documented). */
export const directoryRolesIn = (token: string) => claimOf(token, 'wids', null)

/** Templates of the roles that may do anything to everybody ("Microsoft Entra built-in roles"). */
const OVER_ADMINISTRATORS = [
  '62e90394-69f5-4237-9190-012177145e10',
  '7be44c8a-adaf-4e2a-84d6-ab2649e08a13',
]

/** Whether the app may change people with any admin role; null when the token does not tell. */
export const mayChangeAdministrators = ({ directoryRoles }: GrantedRights): boolean | null =>
  directoryRoles?.some((id) => OVER_ADMINISTRATORS.includes(id.toLowerCase())) ?? null

const DIRECTORY = ['Directory.Read.All', 'Directory.ReadWrite.All'] as const

/** Higher permissions that Microsoft's reference of each call accepts in place of the least one. */
const INCLUDED_IN: Readonly<Record<string, readonly string[]>> = {
  'User.ReadBasic.All': ['User.Read.All', 'User.ReadWrite.All', ...DIRECTORY],
  'User.Read.All': ['User.ReadWrite.All', ...DIRECTORY],
  'User.ReadWrite.All': ['Directory.ReadWrite.All'],
  'User.EnableDisableAccount.All': ['User.ReadWrite.All', 'Directory.ReadWrite.All'],
  'UserAuthMethod-TAP.ReadWrite.All': ['UserAuthenticationMethod.ReadWrite.All'],
  'User.Invite.All': ['User.ReadWrite.All', 'Directory.ReadWrite.All'],
  'CrossTenantContentMigration.Read.All': ['CrossTenantContentMigration.ReadWrite.All'],
  'Domain.Read.All': ['Domain.ReadWrite.All'],
  'GroupMember.Read.All': [
    'GroupMember.ReadWrite.All',
    'Group.Read.All',
    'Group.ReadWrite.All',
    ...DIRECTORY,
  ],
  'GroupMember.ReadWrite.All': ['Group.ReadWrite.All', 'Directory.ReadWrite.All'],
  // subscribedsku-list-permissions (2026-08-04) lists these too.
  'LicenseAssignment.Read.All': [
    'Organization.Read.All',
    'Organization.ReadWrite.All',
    ...DIRECTORY,
  ],
  'LicenseAssignment.ReadWrite.All': ['User.ReadWrite.All', 'Directory.ReadWrite.All'],
}

const EXCHANGE_RIGHT = 'Exchange.ManageAsApp'

/** Functions by the right they lack. */
export function missingRights(
  functions: readonly WorkerFunction[],
  { graph, exchange }: GrantedRights,
): ReadonlyMap<string, readonly string[]> {
  const missing = new Map<string, string[]>()
  const lack = (right: string, { name }: WorkerFunction) =>
    missing.set(right, [...(missing.get(right) ?? []), name])
  for (const definition of functions) {
    const { permissions } = definition
    // user-delete-permissions (2026-08-04): no higher permission deletes a user.
    const isExact = definition.removes === true || definition.isIrreversible === true
    for (const right of graph === null ? [] : (permissions.graph ?? [])) {
      const fitting = [right, ...(isExact ? [] : (INCLUDED_IN[right] ?? []))]
      if (!fitting.some((one) => graph!.includes(one))) lack(right, definition)
    }
    const isOnExchange = (permissions.exchange ?? []).length > 0
    if (isOnExchange && exchange !== null && !exchange.includes(EXCHANGE_RIGHT))
      lack(EXCHANGE_RIGHT, definition)
  }
  return missing
}
