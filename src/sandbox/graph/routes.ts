// Microsoft Graph as the sandbox has it: every path, which permissions open it, what it costs of the quota, and its rules in a
// sentence. The table in docs/sandbox.md is made from this one, and what is not in it is refused as Graph refuses it.
import { ok, type SandboxCall, type SandboxResponse } from '../call.ts'
import * as external from './external.ts'
import * as groups from './groups.ts'
import * as licences from './licences.ts'
import * as users from './users.ts'

export interface GraphRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Below the version; a name in braces stands for one part. */
  readonly path: string
  readonly isBeta?: true
  /** One of these application permissions is needed. */
  readonly permissions: readonly string[]
  readonly units?: number
  readonly about: string
  handle(call: SandboxCall): SandboxResponse
}

const READ_USER = [
  'User.Read.All',
  'User.ReadBasic.All',
  'User.ReadWrite.All',
  'User.ReadUpdate.All',
  'Directory.Read.All',
  'Directory.ReadWrite.All',
]
const WRITE_USER = ['User.ReadWrite.All', 'User.ReadUpdate.All', 'Directory.ReadWrite.All']
const READ_GROUP = [
  'GroupMember.Read.All',
  'Group.Read.All',
  'Directory.Read.All',
  'GroupMember.ReadWrite.All',
  'Group.ReadWrite.All',
  'Directory.ReadWrite.All',
]
const WRITE_MEMBER = ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'Directory.ReadWrite.All']
const DELETE_USER = ['User.DeleteRestore.All', 'User.ReadWrite.All', 'Directory.ReadWrite.All']

export const GRAPH_ROUTES: readonly GraphRoute[] = [
  {
    method: 'GET',
    path: '/users',
    permissions: READ_USER,
    units: 2,
    about: 'Pages by `@odata.nextLink`; `$select`, `$filter`, `$top`, `$count`.',
    handle: users.listUsers,
  },
  {
    method: 'POST',
    path: '/users',
    permissions: ['User.Create', 'User.ReadWrite.All', 'Directory.ReadWrite.All'],
    about:
      '201. 400 for a UPN or an address that is taken, an unverified domain, a weak password, an unknown property. Reads find the user only after the replication lag.',
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
    permissions: [...WRITE_USER, 'User.EnableDisableAccount.All'],
    about:
      '204. As for a new user; `proxyAddresses` and other read-only properties are refused, and `mail` of somebody who has a mailbox.',
    handle: users.updateUser,
  },
  {
    method: 'DELETE',
    path: '/users/{user}',
    permissions: DELETE_USER,
    about: '204. Can be restored for 30 days; names and licences are free at once.',
    handle: users.deleteUser,
  },
  {
    method: 'GET',
    path: '/users/{user}/manager',
    permissions: READ_USER,
    about: '404 without one.',
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
    about: '204, 404 without one.',
    handle: users.removeManagerOf,
  },
  {
    method: 'POST',
    path: '/users/{user}/revokeSignInSessions',
    permissions: ['User.RevokeSessions.All', 'User.ReadWrite.All', 'Directory.ReadWrite.All'],
    about: 'Sets `signInSessionsValidFromDateTime`.',
    handle: users.revokeSessions,
  },
  {
    method: 'POST',
    path: '/users/{user}/sendMail',
    permissions: ['Mail.Send'],
    about: '202; the journal has the recipients and the subject. 404 without a mailbox.',
    handle: users.sendMail,
  },
  {
    method: 'POST',
    path: '/users/{user}/checkMemberGroups',
    permissions: READ_GROUP,
    units: 4,
    about:
      'At most 20 ids; also by way of other groups; 400 for a malformed id, unknown groups are left out.',
    handle: groups.checkMemberGroups,
  },
  {
    method: 'GET',
    path: '/users/{user}/memberOf',
    permissions: READ_GROUP,
    units: 2,
    about: 'Direct memberships.',
    handle: groups.listMemberOf,
  },
  {
    method: 'GET',
    path: '/users/{user}/licenseDetails',
    permissions: READ_USER,
    units: 2,
    about: 'Licences with their plans.',
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
      '400 without `usageLocation`, for an unknown SKU, when none is left, and when one is removed that the user does not have. An Exchange plan brings a mailbox, unless an ExchangeGuid was stamped before.',
    handle: licences.assignLicence,
  },
  {
    method: 'GET',
    path: '/subscribedSkus',
    permissions: [
      'LicenseAssignment.Read.All',
      'LicenseAssignment.ReadWrite.All',
      'Organization.Read.All',
      'Directory.Read.All',
      'Directory.ReadWrite.All',
    ],
    units: 3,
    about: 'With `consumedUnits`.',
    handle: licences.listSkus,
  },
  {
    method: 'GET',
    path: '/groups',
    permissions: READ_GROUP,
    about: 'Like `/users`.',
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
    method: 'GET',
    path: '/groups/{group}/members',
    permissions: READ_GROUP,
    units: 3,
    about: 'Direct members, paged.',
    handle: groups.listGroupMembers,
  },
  {
    method: 'GET',
    path: '/groups/{group}/transitiveMembers',
    permissions: READ_GROUP,
    units: 5,
    about: 'All members, paged.',
    handle: groups.listTransitiveMembers,
  },
  {
    method: 'POST',
    path: '/groups/{group}/members/$ref',
    permissions: WRITE_MEMBER,
    about:
      '204. 400 for a member already and for a too new group, 404 for an unknown or too new member, 403 for dynamic groups, distribution lists and mail-enabled security groups.',
    handle: groups.addGroupMember,
  },
  {
    method: 'DELETE',
    path: '/groups/{group}/members/{member}/$ref',
    permissions: WRITE_MEMBER,
    about: '204. The same 404 for no member and for no group.',
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
      '201. For a new guest, or by `invitedUser.id` for somebody who is here: 400 unless their `mail` is the invited address, 412 after a conversion. Accepted by itself after a while.',
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
    about: 'Deleted users, paged.',
    handle: users.listDeleted,
  },
  {
    method: 'GET',
    path: '/directory/deletedItems/{item}',
    permissions: READ_USER,
    about: '404 unless deleted within 30 days.',
    handle: users.getDeleted,
  },
  {
    method: 'POST',
    path: '/directory/deletedItems/{item}/restore',
    permissions: DELETE_USER,
    about: '400 when the name was given to somebody else.',
    handle: users.restoreUser,
  },
  {
    method: 'DELETE',
    path: '/directory/deletedItems/{item}',
    permissions: DELETE_USER,
    about: '204. For good.',
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
    about: 'The tenant and its verified domains.',
    handle: organization,
  },
  {
    method: 'GET',
    path: '/domains',
    permissions: ['Domain.Read.All', 'Directory.Read.All', 'Directory.ReadWrite.All'],
    about: 'The verified domains.',
    handle: domains,
  },
]

const domainItems = ({ tenant }: SandboxCall) =>
  tenant.state.domains.map((id, at) => ({
    id,
    isDefault: at === 0,
    isInitial: id === tenant.initialDomain,
    isVerified: true,
    authenticationType: 'Managed',
  }))

function organization(call: SandboxCall): SandboxResponse {
  const { id, displayName } = call.tenant.state
  const verifiedDomains = domainItems(call).map(({ id: name, isDefault, isInitial }) => ({
    name,
    isDefault,
    isInitial,
    type: 'Managed',
  }))
  return ok({ value: [{ id, displayName, verifiedDomains }] })
}

function domains(call: SandboxCall): SandboxResponse {
  return ok({ value: domainItems(call) })
}
