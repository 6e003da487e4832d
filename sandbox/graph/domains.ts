// The tenant's domains, and who still refers to one: users by sign-in name, mail or proxy address, groups by mail. A domain with references
// cannot be removed from a tenant.

import { bareOf, domainOf, typeOf } from '../addresses.ts'
import { ok, type SandboxCall, type SandboxResponse } from '../call.ts'
import type { JsonObject } from '../json.ts'
import { notFound } from '../refusal.ts'
import type { Group, User } from '../state.ts'
import { isVisible } from '../tenant.ts'
import { typedMember } from './groups.ts'
import { odataPage, type PropertyKind, pick } from './odata.ts'
import { READ_GROUP, READ_USER } from './permissions.ts'

const authenticationOf = ({ tenant }: SandboxCall, id: string): string =>
  tenant.isFederated(id) ? 'Federated' : 'Managed'

const domainItems = (call: SandboxCall) =>
  call.tenant.state.domains.map((id, at) => ({
    id,
    isDefault: at === 0,
    isInitial: id === call.tenant.initialDomain,
    isVerified: true,
    authenticationType: authenticationOf(call, id),
  }))

export function listDomains(call: SandboxCall): SandboxResponse {
  return ok({ value: domainItems(call) })
}

export function getDomain(call: SandboxCall): SandboxResponse {
  return ok(domainItems(call).find(({ id }) => id === domainIn(call))!)
}

export function organization(call: SandboxCall): SandboxResponse {
  const { id, displayName } = call.tenant.state
  const verifiedDomains = domainItems(call).map((one) => ({
    name: one.id,
    isDefault: one.isDefault,
    isInitial: one.isInitial,
    type: one.authenticationType,
  }))
  return ok({ value: [{ id, displayName, verifiedDomains }] })
}

function domainIn({ params, tenant }: SandboxCall): string {
  const domain = params.domain!.toLowerCase()
  if (!tenant.hasDomain(domain)) throw notFound(params.domain!)
  return domain
}

const REFERENCE: PropertyKind = {
  type: 'microsoft.graph.directoryObject',
  properties: ['id', 'displayName', 'mail', 'userPrincipalName', 'proxyAddresses'],
  usual: ['id', 'displayName', 'mail', 'userPrincipalName'],
}

export function listDomainReferences(call: SandboxCall): SandboxResponse {
  const domain = domainIn(call)
  const { tenant, now } = call
  const all: (User | Group)[] = [
    ...tenant.users().filter((user) => isVisible(user, now) && userRefers(user, domain)),
    ...tenant.groups().filter(({ mail }) => mail !== null && domainOf(mail) === domain),
  ]
  const toGraph = (one: User | Group) => limited(call, typedMember(one))
  return odataPage(call, { all, toGraph }, REFERENCE, 'directoryObjects')
}

const userRefers = ({ userPrincipalName, mail, proxyAddresses }: User, domain: string): boolean =>
  [
    userPrincipalName,
    mail ?? '',
    ...proxyAddresses.filter((one) => ['smtp', 'sip'].includes(typeOf(one))).map(bareOf),
  ].some((one) => domainOf(one) === domain)

/** An app that may not read users or groups gets no more than their type and id ("Limited information", permissions-overview). */
function limited({ application: { roles } }: SandboxCall, object: JsonObject): JsonObject {
  const needed = object['@odata.type'] === '#microsoft.graph.user' ? READ_USER : READ_GROUP
  const mayRead = roles === null || needed.some((role) => roles.includes(role))
  return mayRead ? object : pick(object, ['@odata.type', 'id'])
}
