// People with admin roles: what Microsoft calls sensitive actions on them needs a higher role of the app besides the permission, or Graph
// answers 403. Source: "Working with users in Microsoft Graph" (learn.microsoft.com/graph/api/resources/users), tables "Who can perform
// sensitive actions" and "Who can reset passwords"; for apps alone "Update user", "Delete user" and "Restore deleted item".
import type { SandboxCall } from '../call.ts'
import { GraphRefusal } from '../refusal.ts'
import type { User } from '../state.ts'

const SENSITIVE_PROPERTIES = [
  'accountEnabled',
  'businessPhones',
  'mobilePhone',
  'onPremisesImmutableId',
  'otherMails',
  'passwordProfile',
  'userPrincipalName',
]
/** For everybody. */
const HIGHEST = ['Global Administrator', 'Privileged Authentication Administrator']

const AUTHENTICATION = 'Authentication Administrator'
const USERS = 'User Administrator'
const HELPDESK = 'Helpdesk Administrator'
const PASSWORDS = 'Password Administrator'

/** Who may act on people with the role, and who besides may reset their password; for all other roles only the highest. */
const MAY_ACT: Readonly<Record<string, readonly [acting: string[], resetting: string[]]>> = {
  [AUTHENTICATION]: [[AUTHENTICATION], []],
  'Directory Readers': [
    [AUTHENTICATION, USERS],
    [HELPDESK, PASSWORDS],
  ],
  'Groups Administrator': [[USERS], []],
  'Guest Inviter': [
    [AUTHENTICATION, USERS],
    [HELPDESK, PASSWORDS],
  ],
  [HELPDESK]: [[USERS], [HELPDESK]],
  'Message Center Reader': [[AUTHENTICATION, USERS], [HELPDESK]],
  [PASSWORDS]: [
    [AUTHENTICATION, USERS],
    [HELPDESK, PASSWORDS],
  ],
  'Reports Reader': [[AUTHENTICATION, USERS], [HELPDESK]],
  'Usage Summary Reports Reader': [[AUTHENTICATION, USERS], [HELPDESK]],
  [USERS]: [[USERS], []],
}

export function requireMayChange(call: SandboxCall, user: User): void {
  const written = SENSITIVE_PROPERTIES.filter((name) => Object.hasOwn(call.body, name))
  if (written.length === 0) return
  requireMayAct(call, user, written.length === 1 && written[0] === 'passwordProfile')
}

export function requireMayAct(call: SandboxCall, user: User, isReset = false): void {
  const { application, tenant } = call
  const isIn = (names: readonly string[]) =>
    application.directoryRoles.some((role) => names.includes(role))
  if (isIn(HIGHEST)) return
  const groups = tenant.groupsContaining(user.id)
  const isGuarded = [...groups].some((id) => tenant.group(id)?.isAssignableToRole)
  const isAllowed = user.directoryRoles.every((role) => {
    const [acting, resetting] = MAY_ACT[role] ?? [[], []]
    return isIn(acting) || (isReset && isIn(resetting))
  })
  if (isAllowed && !isGuarded) return
  throw new GraphRefusal(
    403,
    'Authorization_RequestDenied',
    'Insufficient privileges to complete the operation.',
  )
}
