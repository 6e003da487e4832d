// The sandbox's Microsoft Graph: paths, permissions, cost and rules. docs/rehearsal.md is generated from this table; anything
// else is refused as Graph refuses it.
import type { SandboxCall, SandboxResponse } from '../call.ts'
import { badRequest } from '../refusal.ts'
import * as domains from './domains.ts'
import * as external from './external.ts'
import * as groups from './groups.ts'
import * as licences from './licences.ts'
import * as mail from './mail.ts'
import { MIGRATION_ROUTES } from './migration-routes.ts'
import { READ_GROUP, READ_USER } from './permissions.ts'
import { makeAccessPass, readAccessPassPolicy } from './sign-in-methods.ts'
import * as users from './users.ts'

export interface GraphRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Without the version; a name in braces matches one segment. */
  readonly path: string
  readonly isBeta?: true
  /** Requires one of these application permissions. */
  readonly permissions: readonly string[]
  readonly units?: number
  readonly about: string
  handle(call: SandboxCall): SandboxResponse
}

const WRITE_USER = ['User.ReadWrite.All', 'User.ReadUpdate.All', 'Directory.ReadWrite.All']
const WRITE_MEMBER = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'Directory.ReadWrite.All']
const READ_DOMAIN = ['Domain.Read.All', 'Domain.ReadWrite.All', 'Directory.Read.All']
/** "Delete user" names no other, "Restore deleted item" and "Permanently delete item" the first of these. */
const DELETE_USER = ['User.ReadWrite.All']
const DELETED_USER = ['User.DeleteRestore.All', 'User.ReadWrite.All']

export const GRAPH_ROUTES: readonly GraphRoute[] = [
  {
    method: 'GET',
    path: '/me',
    permissions: [],
    about: '400: an application has no signed-in user.',
    handle: noSignedInUser,
  },
  {
    method: 'GET',
    path: '/users/delta',
    permissions: READ_USER,
    about: '400: the sandbox tracks no changes.',
    handle: noDelta,
  },
  {
    method: 'GET',
    path: '/users',
    permissions: READ_USER,
    units: 2,
    about:
      'Lists users, paged by `@odata.nextLink`; takes `$select`, `$filter`, `$orderby`, `$top`, `$count`.',
    handle: users.listUsers,
  },
  {
    method: 'GET',
    path: '/users/$count',
    permissions: READ_USER,
    about: 'The number as plain text; needs `ConsistencyLevel: eventual`.',
    handle: users.countUsers,
  },
  {
    method: 'POST',
    path: '/users',
    permissions: ['User.Create', 'User.ReadWrite.All', 'Directory.ReadWrite.All'],
    about:
      '201. 400 for a UPN or an address in use, an unverified domain, a weak password, an unknown property. Reads find the user after the replication lag.',
    handle: users.createUser,
  },
  {
    method: 'GET',
    path: '/users/{user}',
    permissions: READ_USER,
    about:
      'By id or UPN. 404 for an unknown, deleted or too new user; 400 for an unknown property in `$select`.',
    handle: users.getUser,
  },
  {
    method: 'PATCH',
    path: '/users/{user}',
    permissions: [
      ...WRITE_USER,
      'User.EnableDisableAccount.All',
      'User-PasswordProfile.ReadWrite.All',
    ],
    about:
      '204. Rules as for a new user; refuses `proxyAddresses` and other read-only properties, and `mail` of a mail user or a user with a mailbox, which Exchange masters.',
    handle: users.updateUser,
  },
  {
    method: 'POST',
    path: '/users/{user}/authentication/temporaryAccessPassMethods',
    permissions: ['UserAuthMethod-TAP.ReadWrite.All', 'UserAuthenticationMethod.ReadWrite.All'],
    about: '201, with the value, told this once. Replaces an earlier pass. 10 to 43,200 minutes.',
    handle: makeAccessPass,
  },
  {
    method: 'GET',
    path: '/policies/authenticationMethodsPolicy/authenticationMethodConfigurations/TemporaryAccessPass',
    permissions: ['Policy.Read.AuthenticationMethod', 'Policy.ReadWrite.AuthenticationMethod'],
    about: 'The policy of access passes, the `accessPasses` of the seed.',
    handle: readAccessPassPolicy,
  },
  {
    method: 'DELETE',
    path: '/users/{user}',
    permissions: DELETE_USER,
    about:
      '204. The user can be restored for 30 days. Names and licences are free at once in the directory; Exchange keeps a mail user’s addresses and GUIDs.',
    handle: users.deleteUser,
  },
  {
    method: 'GET',
    path: '/users/{user}/manager',
    permissions: READ_USER,
    about: '404 without a manager.',
    handle: users.getManagerOf,
  },
  {
    method: 'PUT',
    path: '/users/{user}/manager/$ref',
    permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All'],
    about: '204. 404 for an unknown manager.',
    handle: users.setManagerOf,
  },
  {
    method: 'DELETE',
    path: '/users/{user}/manager/$ref',
    permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All'],
    about: '204. 404 without a manager.',
    handle: users.removeManagerOf,
  },
  {
    method: 'POST',
    path: '/users/{user}/revokeSignInSessions',
    permissions: ['User.RevokeSessions.All'],
    about: 'Sets `signInSessionsValidFromDateTime`.',
    handle: users.revokeSessions,
  },
  {
    method: 'POST',
    path: '/users/{user}/sendMail',
    permissions: ['Mail.Send'],
    about:
      '202. Records recipients and subject in the journal and keeps a copy in Sent Items. 404 without a mailbox.',
    handle: mail.sendMail,
  },
  {
    method: 'GET',
    path: '/users/{user}/mailFolders/{folder}/messages',
    permissions: ['Mail.Read', 'Mail.ReadWrite'],
    about:
      'Sent Items only; `$filter` on the value of an extended property. 404 without a mailbox.',
    handle: mail.listSentItems,
  },
  {
    method: 'POST',
    path: '/users/{user}/checkMemberGroups',
    permissions: READ_GROUP,
    units: 4,
    about:
      'Checks at most 20 ids, through nested groups too. 400 for a malformed id; ignores unknown groups.',
    handle: groups.checkMemberGroups,
  },
  {
    method: 'GET',
    path: '/users/{user}/memberOf',
    permissions: READ_GROUP,
    units: 2,
    about: 'Lists direct memberships.',
    handle: groups.listMemberOf,
  },
  {
    method: 'GET',
    path: '/users/{user}/licenseDetails',
    permissions: READ_USER,
    units: 2,
    about:
      'Closed to applications, as documented: 403. In another dialect, lists licences with their plans.',
    handle: licences.listLicenceDetails,
  },
  {
    method: 'POST',
    path: '/users/{user}/assignLicense',
    permissions: [
      'LicenseAssignment.ReadWrite.All',
      'User.ReadWrite.All',
      'Directory.ReadWrite.All',
    ],
    about:
      '400 without `usageLocation`, for an unknown SKU, without available licences, and when removing a licence the user does not have. An Exchange plan creates a mailbox, unless an ExchangeGuid was stamped before.',
    handle: licences.assignLicence,
  },
  {
    method: 'GET',
    path: '/subscribedSkus',
    permissions: [
      'LicenseAssignment.Read.All',
      'Organization.Read.All',
      'Directory.Read.All',
      'Directory.ReadWrite.All',
    ],
    units: 3,
    about: 'Lists SKUs with `consumedUnits`.',
    handle: licences.listSkus,
  },
  {
    method: 'GET',
    path: '/groups',
    permissions: READ_GROUP,
    about: 'Lists groups, as `/users` does.',
    handle: groups.listGroups,
  },
  {
    method: 'GET',
    path: '/groups/{group}',
    permissions: READ_GROUP,
    about: '404 for an unknown or too new group.',
    handle: groups.getGroup,
  },
  {
    method: 'PATCH',
    path: '/groups/{group}',
    permissions: WRITE_MEMBER,
    about: '204. Adds up to 20 members by `members@odata.bind`, all or none; changes nothing else.',
    handle: groups.updateGroup,
  },
  {
    method: 'GET',
    path: '/groups/{group}/members/microsoft.graph.user',
    permissions: READ_GROUP,
    units: 3,
    about: 'Lists the users among the direct members, paged.',
    handle: groups.listUserMembers,
  },
  {
    method: 'GET',
    path: '/groups/{group}/members',
    permissions: READ_GROUP,
    units: 3,
    about: 'Lists direct members, paged.',
    handle: groups.listGroupMembers,
  },
  {
    method: 'GET',
    path: '/groups/{group}/transitiveMembers',
    permissions: READ_GROUP,
    units: 5,
    about: 'Lists all members, paged.',
    handle: groups.listTransitiveMembers,
  },
  {
    method: 'POST',
    path: '/groups/{group}/members/$ref',
    permissions: WRITE_MEMBER,
    about:
      '204. 400 for an existing member and for a too new group, 404 for an unknown or too new member, 403 for dynamic groups, distribution lists, mail-enabled security groups, and, without `RoleManagement.ReadWrite.Directory`, groups with `isAssignableToRole`.',
    handle: groups.addGroupMember,
  },
  {
    method: 'DELETE',
    path: '/groups/{group}/members/{member}/$ref',
    permissions: WRITE_MEMBER,
    about: '204. The same 404 for a missing member and a missing group.',
    handle: groups.removeGroupMember,
  },
  {
    method: 'DELETE',
    path: '/groups/{group}/members/{member}',
    permissions: DELETE_USER,
    about: 'Deletes the user: the trap of a forgotten `/$ref`, as in Graph.',
    handle: groups.deleteMemberObject,
  },
  {
    method: 'POST',
    path: '/invitations',
    permissions: ['User.Invite.All', 'User.ReadWrite.All', 'Directory.ReadWrite.All'],
    about:
      '201. Invites a new guest or, by `invitedUser.id`, an existing user: 400 unless their `mail` is the invited address, 412 after a conversion. The invitation is accepted after a while.',
    handle: external.invite,
  },
  {
    method: 'POST',
    path: '/users/{user}/convertExternalToInternalMemberUser',
    isBeta: true,
    permissions: ['User-ConvertToInternal.ReadWrite.All', 'User.ReadWrite.All'],
    about: '400 for an internal user, an empty UPN, an unverified domain, a weak password.',
    handle: external.convertToInternal,
  },
  {
    method: 'GET',
    path: '/directory/deletedItems/microsoft.graph.user',
    permissions: READ_USER,
    about: 'Lists deleted users, paged.',
    handle: users.listDeleted,
  },
  {
    method: 'GET',
    path: '/directory/deletedItems/{item}',
    permissions: READ_USER,
    about: '404 unless deleted within 30 days, and for a moment after the deletion.',
    handle: users.getDeleted,
  },
  {
    method: 'POST',
    path: '/directory/deletedItems/{item}/restore',
    permissions: DELETED_USER,
    about: 'Restores the user. 400 when another user has the name.',
    handle: users.restoreUser,
  },
  {
    method: 'DELETE',
    path: '/directory/deletedItems/{item}',
    permissions: DELETED_USER,
    about:
      '204. Deletes permanently. Exchange keeps a mail user until `Remove-MailUser` purges it.',
    handle: users.purgeUser,
  },
  {
    method: 'GET',
    path: '/organization',
    permissions: [
      'Organization.Read.All',
      'Directory.Read.All',
      'User.Read.All',
      'User.ReadWrite.All',
      'Directory.ReadWrite.All',
    ],
    about: 'Returns the tenant and its verified domains.',
    handle: domains.organization,
  },
  {
    method: 'GET',
    path: '/domains',
    permissions: READ_DOMAIN,
    about: 'Lists the verified domains.',
    handle: domains.listDomains,
  },
  {
    method: 'GET',
    path: '/domains/{domain}',
    permissions: READ_DOMAIN,
    about: 'One domain; `authenticationType` is `Managed` or `Federated`. 404 for an unknown one.',
    handle: domains.getDomain,
  },
  {
    method: 'GET',
    path: '/domains/{domain}/domainNameReferences',
    permissions: ['Domain.Read.All', 'Domain.ReadWrite.All'],
    about:
      'Lists users and groups with a name or address in the domain, paged. Without the permission to read users or groups, only their type and id.',
    handle: domains.listDomainReferences,
  },
  ...MIGRATION_ROUTES,
]

function noSignedInUser(): never {
  throw badRequest(
    '/me request is only valid with delegated authentication flow: there is no signed-in user.',
  )
}

function noDelta(): never {
  throw badRequest("The sandbox has no 'delta' of users.")
}
