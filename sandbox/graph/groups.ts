// Groups and their members. Graph changes only its own kinds: distribution lists and dynamic groups refuse. Removing a
// non-member returns the same 404 as a missing group.

import { NO_CONTENT, ok, recordEffect, type SandboxCall, type SandboxResponse } from '../call.ts'
import { isGuidText } from '../identity.ts'
import type { JsonObject } from '../json.ts'
import { badRequest, GraphRefusal, notFound } from '../refusal.ts'
import type { Group, User } from '../state.ts'
import { isVisible } from '../tenant.ts'
import { type Items, odataPage, type PropertyKind, pick, selectOf } from './odata.ts'
import { graphUser, USER } from './user-properties.ts'
import { referredId, removeUser, userOf } from './users.ts'

const GROUP: PropertyKind = {
  type: 'microsoft.graph.group',
  properties: [
    'id',
    'displayName',
    'mail',
    'mailEnabled',
    'securityEnabled',
    'groupTypes',
    'visibility',
  ],
  usual: ['id', 'displayName', 'mail', 'mailEnabled', 'securityEnabled', 'groupTypes'],
}

const GROUP_TYPES: Readonly<Record<Group['kind'], readonly string[]>> = {
  security: [],
  microsoft365: ['Unified'],
  distribution: [],
  mailEnabledSecurity: [],
  dynamic: ['DynamicMembership'],
}

const graphGroup = ({ id, displayName, mail, kind }: Group): JsonObject => ({
  id,
  displayName,
  mail,
  mailEnabled: ['microsoft365', 'distribution', 'mailEnabledSecurity'].includes(kind),
  securityEnabled: ['security', 'mailEnabledSecurity', 'dynamic'].includes(kind),
  groupTypes: [...GROUP_TYPES[kind]],
  visibility: null,
})

function groupOf(call: SandboxCall): Group {
  const id = call.params.group!
  if (!isGuidText(id)) throw badRequest(`Invalid object identifier '${id}'.`)
  const group = call.tenant.group(id)
  if (!group || !isVisible(group, call.now)) throw notFound(id)
  return group
}

export function getGroup(call: SandboxCall): SandboxResponse {
  const names = selectOf(call, GROUP)
  return ok(pick(graphGroup(groupOf(call)), names))
}

export const listGroups = (call: SandboxCall): SandboxResponse =>
  odataPage(call, { all: call.tenant.groups(), toGraph: graphGroup }, GROUP, 'groups')

/** Users and groups by id, each with its type. */
function membersOf(call: SandboxCall, ids: Iterable<string>): Items<User | Group> {
  const { tenant } = call
  return {
    all: [...ids].flatMap((id) => tenant.user(id) ?? tenant.group(id) ?? []),
    toGraph: typedMember,
  }
}

/** A user or group with its type, as lists of directory objects show it. */
export const typedMember = (one: User | Group): JsonObject =>
  'userPrincipalName' in one
    ? { '@odata.type': '#microsoft.graph.user', ...graphUser(one) }
    : typedGroup(one)

const typedGroup = (group: Group): JsonObject => ({
  '@odata.type': '#microsoft.graph.group',
  ...graphGroup(group),
})

export const listGroupMembers = (call: SandboxCall): SandboxResponse =>
  odataPage(call, membersOf(call, groupOf(call).members), USER, 'directoryObjects')

export function listTransitiveMembers(call: SandboxCall): SandboxResponse {
  const found = new Set<string>()
  const open = [...groupOf(call).members]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue
    found.add(id)
    open.push(...(call.tenant.group(id)?.members ?? []))
  }
  return odataPage(call, membersOf(call, found), USER, 'directoryObjects')
}

/** Source: "Use Microsoft Entra groups to manage role assignments" and "Add members" (learn.microsoft.com). */
const MANAGES_ROLES = 'RoleManagement.ReadWrite.Directory'

function requireWritable({ application: { roles } }: SandboxCall, group: Group): void {
  if (group.isAssignableToRole && roles !== null && !roles.includes(MANAGES_ROLES))
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation.',
    )
  if (group.kind === 'dynamic')
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation: the membership of a dynamic group is made by its rule.',
    )
  if (group.kind === 'distribution' || group.kind === 'mailEnabledSecurity')
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Cannot Update a mail-enabled security groups and or distribution list.',
    )
}

export function addGroupMember(call: SandboxCall): SandboxResponse {
  addMembers(call, [referredId(call.body)])
  return NO_CONTENT
}

/** All of them or none. */
function addMembers(call: SandboxCall, ids: readonly string[]): void {
  const { tenant, now } = call
  const group = tenant.group(call.params.group!)
  if (!group) throw notFound(call.params.group!)
  // For a too new group Graph reports a wrong reference, not a missing group.
  if (!isVisible(group, now))
    throw badRequest(
      "The source resource object or one of the objects being referenced don't exist.",
    )
  requireWritable(call, group)
  const members = ids.map((id) => {
    const member = tenant.visibleUser(id, now) ?? tenant.group(id)
    if (!member) throw notFound(id)
    return member.id
  })
  if (members.some((id) => group.members.includes(id)))
    throw badRequest(
      "One or more added object references already exist for the following modified properties: 'members'.",
    )
  for (const member of members) {
    group.members.push(member)
    recordEffect(call, 'member added', { id: group.id, name: group.displayName }, { member })
  }
}

const BOUND_MAX = 20

/** Only `members@odata.bind`: adds up to twenty members at once. */
export function updateGroup(call: SandboxCall): SandboxResponse {
  const { 'members@odata.bind': bound, ...others } = call.body
  const [other] = Object.keys(others)
  if (other !== undefined) throw badRequest(`The sandbox does not change '${other}' of groups.`)
  if (!Array.isArray(bound) || bound.length === 0 || bound.length > BOUND_MAX)
    throw badRequest(`'members@odata.bind' must hold 1 to ${BOUND_MAX} references.`)
  addMembers(
    call,
    bound.map((reference) => referredId({ '@odata.id': reference })),
  )
  return NO_CONTENT
}

/** Only the users among the members: a cast in the path. */
export function listUserMembers(call: SandboxCall): SandboxResponse {
  const users = groupOf(call).members.filter((id) => call.tenant.visibleUser(id, call.now))
  return odataPage(call, membersOf(call, users), USER, 'users')
}

export function removeGroupMember(call: SandboxCall): SandboxResponse {
  const group = call.tenant.group(call.params.group!)
  const member = call.params.member!.toLowerCase()
  if (!group || !isVisible(group, call.now) || !group.members.includes(member))
    throw notFound(call.params.group!)
  requireWritable(call, group)
  group.members.splice(group.members.indexOf(member), 1)
  recordEffect(call, 'member removed', { id: group.id, name: group.displayName }, { member })
  return NO_CONTENT
}

/** Without `/$ref` the path names the user, not the membership, so the user is deleted. */
export const deleteMemberObject = (call: SandboxCall): SandboxResponse => {
  groupOf(call)
  return removeUser(call, userOf(call, 'member'))
}

const CHECKED_MAX = 20

export function checkMemberGroups(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  const ids = call.body.groupIds
  if (!Array.isArray(ids) || ids.length > CHECKED_MAX)
    throw badRequest(`The parameter 'groupIds' must hold at most ${CHECKED_MAX} ids.`)
  const wrong = ids.find((id) => typeof id !== 'string' || !isGuidText(id))
  if (wrong !== undefined) throw badRequest(`Invalid object identifier '${String(wrong)}'.`)
  const containing = call.tenant.groupsContaining(user.id)
  return ok({ value: ids.filter((id) => containing.has(String(id).toLowerCase())) })
}

export const listMemberOf = (call: SandboxCall): SandboxResponse => {
  const user = userOf(call)
  const groups = call.tenant.groups().filter(({ members }) => members.includes(user.id))
  return odataPage(call, { all: groups, toGraph: typedGroup }, GROUP, 'directoryObjects')
}
