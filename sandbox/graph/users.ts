// Users: create, read, change, delete, restore; manager and sessions.
import { isDeepStrictEqual } from 'node:util'
import { withAddress } from '../addresses.ts'
import {
  created,
  NO_CONTENT,
  ok,
  recordUserEffect,
  type SandboxCall,
  type SandboxResponse,
  updateMail,
} from '../call.ts'
import type { Json, JsonObject } from '../json.ts'
import { badRequest, GraphRefusal, notFound } from '../refusal.ts'
import { purgeAccount, softDelete, undelete } from '../soft-deleted.ts'
import { newUser, type User } from '../state.ts'
import { isVisible } from '../tenant.ts'
import { requireMayAct, requireMayChange } from './administrators.ts'
import { odataCount, odataPage, pick, selectOf } from './odata.ts'
import { graphUser, plansOfUser, readUserChanges, USER } from './user-properties.ts'

/** The user in the path, if visible. */
export function userOf(call: SandboxCall, name = 'user'): User {
  const reference = call.params[name]!
  const user = call.tenant.visibleUser(reference, call.now)
  if (!user) throw notFound(reference)
  return user
}

export function createUser(call: SandboxCall): SandboxResponse {
  const { tenant, world, now, body } = call
  const missing = [
    'accountEnabled',
    'displayName',
    'mailNickname',
    'userPrincipalName',
    'passwordProfile',
  ].find((name) => body[name] === undefined)
  if (missing !== undefined)
    throw badRequest(`A value is required for property '${missing}' of resource 'User'.`)
  const written = readUserChanges(tenant, null, body)
  const upn = written.userPrincipalName!
  const user: User = {
    ...newUser(tenant.id, { userPrincipalName: upn, id: tenant.newId('user', upn) }),
    ...written,
    createdDateTime: now.toISOString(),
    visibleAt: world.after(now, world.timing.replicationLagSec),
  }
  tenant.add(user)
  recordUserEffect(call, 'user created', user)
  updateMail(call, user)
  return created(pick(graphUser(user), USER.usual))
}

export const getUser = (call: SandboxCall): SandboxResponse => {
  const names = selectOf(call, USER)
  const user = userOf(call)
  return ok(pick({ ...graphUser(user), ...plansOfUser(call.tenant, user) }, names))
}

const visibleUsers = (call: SandboxCall) => ({
  all: call.tenant.users().filter((user) => isVisible(user, call.now)),
  toGraph: graphUser,
})

export const listUsers = (call: SandboxCall): SandboxResponse =>
  odataPage(call, visibleUsers(call), USER, 'users')

export const countUsers = (call: SandboxCall): SandboxResponse =>
  odataCount(call, visibleUsers(call), USER)

export function updateUser(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  requireMayChange(call, user)
  const written = readUserChanges(call.tenant, user, call.body)
  const changed = Object.entries(written).filter(
    ([name, value]) => !isDeepStrictEqual(value, user[name as keyof User]),
  )
  if (changed.length === 0) return NO_CONTENT
  call.tenant.change(user, { ...written, ...proxiesAfter(user, written) })
  const details = Object.fromEntries(
    changed.map(([name, value]) => [
      name,
      name === 'passwordHash' ? '(not shown)' : (value as Json),
    ]),
  )
  recordUserEffect(call, 'user changed', user, details)
  updateMail(call, user)
  return NO_CONTENT
}

/**
 * A renamed recipient keeps the old address and gains the new one. `mail` becomes the primary address and the former one stays, as an
 * alias: nothing but Exchange removes it (user resource type, "mail and proxyAddresses properties").
 */
function proxiesAfter(user: User, { userPrincipalName, mail }: Partial<User>): Partial<User> {
  const added = [
    ...(userPrincipalName === undefined || user.recipient === null
      ? []
      : [`smtp:${userPrincipalName}`]),
    ...(mail ? [...(user.mail ? [`SMTP:${user.mail}`] : []), `SMTP:${mail}`] : []),
  ]
  return added.length === 0
    ? {}
    : {
        proxyAddresses: added.reduce((all, one) => withAddress(all, one), [...user.proxyAddresses]),
      }
}

export function deleteUser(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  requireMayAct(call, user)
  return removeUser(call, user)
}

export function removeUser(call: SandboxCall, user: User): SandboxResponse {
  softDelete(call.tenant, user, call.now.toISOString())
  recordUserEffect(call, 'user deleted', user)
  return NO_CONTENT
}

function deletedOf(call: SandboxCall): User {
  const { world, tenant, now } = call
  const user = tenant.deletedUser(call.params.item!)
  const lagMs = world.timing.replicationLagSec * 1000
  // One deleted a moment ago is not there yet.
  if (!user || Date.parse(user.deletedDateTime!) + lagMs > +now) throw notFound(call.params.item!)
  return user
}

export const getDeleted = (call: SandboxCall): SandboxResponse => {
  const names = selectOf(call, USER)
  const user = graphUser(deletedOf(call))
  return ok({ '@odata.type': '#microsoft.graph.user', ...pick(user, names) })
}

export const listDeleted = (call: SandboxCall): SandboxResponse =>
  odataPage(call, { all: call.tenant.deletedUsers(), toGraph: graphUser }, USER, 'directoryObjects')

export function restoreUser(call: SandboxCall): SandboxResponse {
  const user = deletedOf(call)
  requireMayAct(call, user)
  undelete(call.tenant, user)
  recordUserEffect(call, 'user restored', user)
  return ok({ '@odata.type': '#microsoft.graph.user', ...pick(graphUser(user), USER.usual) })
}

export function purgeUser(call: SandboxCall): SandboxResponse {
  const user = deletedOf(call)
  requireMayAct(call, user)
  purgeAccount(call.tenant, user)
  recordUserEffect(call, 'user purged', user)
  return NO_CONTENT
}

/** The id at the end of a reference such as https://graph.microsoft.com/v1.0/directoryObjects/42. */
export function referredId(body: JsonObject): string {
  const reference = body['@odata.id']
  const found =
    typeof reference === 'string' &&
    /^https?:\/\/[^/]+\/(?:v1\.0|beta)\/(?:directoryObjects|users|groups)\/([^/?#]+)$/.exec(
      reference,
    )
  if (!found) throw badRequest("Invalid URL format specified in '@odata.id'.")
  return decodeURIComponent(found[1]!)
}

export function getManagerOf(call: SandboxCall): SandboxResponse {
  if (call.tenant.state.dialect.manager === 'refused')
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation.',
    )
  const user = userOf(call)
  const manager = call.tenant.user(user.managerId ?? '')
  if (!manager) throw notFound('manager')
  const names = selectOf(call, USER)
  return ok({ '@odata.type': '#microsoft.graph.user', ...pick(graphUser(manager), names) })
}

export function setManagerOf(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  const reference = referredId(call.body)
  const manager = call.tenant.visibleUser(reference, call.now)
  if (!manager) throw notFound(reference)
  if (user.managerId === manager.id) return NO_CONTENT
  call.tenant.change(user, { managerId: manager.id })
  recordUserEffect(call, 'manager set', user, { manager: manager.userPrincipalName })
  return NO_CONTENT
}

export function removeManagerOf(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  if (user.managerId === null) throw notFound('manager')
  call.tenant.change(user, { managerId: null })
  recordUserEffect(call, 'manager removed', user)
  return NO_CONTENT
}

export function revokeSessions(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  call.tenant.change(user, { signInSessionsValidFromDateTime: call.now.toISOString() })
  recordUserEffect(call, 'sessions revoked', user)
  return ok({ value: true })
}
