// The properties of a Microsoft Graph user: which exist, which are returned by default, which are writable, and valid values.

import { domainOf, isAddress } from '../addresses.ts'
import { hashOf } from '../identity.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import { badRequest, type GraphRefusal, objectConflict } from '../refusal.ts'
import type { User } from '../state.ts'
import type { SandboxTenant } from '../tenant.ts'
import type { PropertyKind } from './odata.ts'

const TEXT_ATTRIBUTES: readonly string[] = [
  'ageGroup',
  'city',
  'companyName',
  'consentProvidedForMinor',
  'country',
  'department',
  'employeeHireDate',
  'employeeId',
  'employeeLeaveDateTime',
  'employeeType',
  'faxNumber',
  'givenName',
  'jobTitle',
  'mobilePhone',
  'officeLocation',
  'onPremisesImmutableId',
  'postalCode',
  'preferredDataLocation',
  'preferredLanguage',
  'state',
  'streetAddress',
  'surname',
  'passwordPolicies',
]
const LIST_ATTRIBUTES: readonly string[] = ['businessPhones', 'otherMails']
const EXTENSIONS = 'onPremisesExtensionAttributes'
const EXTENSION = /^extensionAttribute([1-9]|1[0-5])$/
const ATTRIBUTES: readonly string[] = [
  ...TEXT_ATTRIBUTES,
  ...LIST_ATTRIBUTES,
  EXTENSIONS,
  'showInAddressList',
]
const NAMED: readonly string[] = [
  'accountEnabled',
  'displayName',
  'mail',
  'mailNickname',
  'passwordProfile',
  'usageLocation',
  'userPrincipalName',
  'userType',
]
const READ_ONLY: readonly string[] = [
  'id',
  'proxyAddresses',
  'assignedLicenses',
  'createdDateTime',
  'creationType',
  'licenseAssignmentStates',
  'assignedPlans',
  'provisionedPlans',
  'deletedDateTime',
  'externalUserState',
  'externalUserStateChangeDateTime',
  'onPremisesSyncEnabled',
  'onPremisesUserPrincipalName',
  'signInSessionsValidFromDateTime',
]

export const USER: PropertyKind = {
  type: 'microsoft.graph.user',
  properties: [...ATTRIBUTES, ...NAMED, ...READ_ONLY],
  usual: [
    'businessPhones',
    'displayName',
    'givenName',
    'jobTitle',
    'mail',
    'mobilePhone',
    'officeLocation',
    'preferredLanguage',
    'surname',
    'userPrincipalName',
    'id',
  ],
}

/** All properties but the password, which cannot be read. */
export function graphUser(user: User): JsonObject {
  const { attributes } = user
  const extensions = (attributes[EXTENSIONS] ?? {}) as JsonObject
  return {
    ...Object.fromEntries(TEXT_ATTRIBUTES.map((name) => [name, attributes[name] ?? null])),
    ...Object.fromEntries(LIST_ATTRIBUTES.map((name) => [name, attributes[name] ?? []])),
    [EXTENSIONS]: Object.fromEntries(
      Array.from({ length: 15 }, (_, at) => `extensionAttribute${at + 1}`).map((name) => [
        name,
        extensions[name] ?? null,
      ]),
    ),
    showInAddressList: attributes.showInAddressList ?? null,
    id: user.id,
    accountEnabled: user.accountEnabled,
    displayName: user.displayName,
    mail: user.mail,
    mailNickname: user.mailNickname,
    passwordProfile: null,
    usageLocation: user.usageLocation,
    userPrincipalName: user.userPrincipalName,
    userType: user.userType,
    proxyAddresses: [...user.proxyAddresses],
    assignedLicenses: user.assignedLicenses.map(({ skuId, disabledPlans }) => ({
      skuId,
      disabledPlans,
    })),
    licenseAssignmentStates: user.assignedLicenses.map(({ skuId, disabledPlans, groupId }) => ({
      skuId,
      disabledPlans,
      assignedByGroup: groupId,
      state: 'Active',
      error: 'None',
    })),
    assignedPlans: [],
    provisionedPlans: [],
    createdDateTime: user.createdDateTime,
    creationType: user.creationType,
    deletedDateTime: user.deletedDateTime,
    externalUserState: user.externalUserState,
    externalUserStateChangeDateTime: user.externalUserStateChangeDateTime,
    onPremisesSyncEnabled: null,
    onPremisesUserPrincipalName: null,
    signInSessionsValidFromDateTime: user.signInSessionsValidFromDateTime,
  }
}

const SERVICES: readonly (readonly [RegExp, string])[] = [
  [/^EXCHANGE/, 'exchange'],
  [/^SHAREPOINT/, 'SharePoint'],
  [/./, 'AADPremiumService'],
]

/** The plans of a user's licences. Only services with a store of their own are provisioned. */
export function plansOfUser(tenant: SandboxTenant, user: User): JsonObject {
  const plans = user.assignedLicenses.flatMap(({ skuId, disabledPlans }) =>
    (tenant.state.skus.find((sku) => sku.skuId === skuId)?.servicePlans ?? []).map((plan) => ({
      servicePlanId: plan.servicePlanId,
      service: SERVICES.find(([pattern]) => pattern.test(plan.servicePlanName))![1],
      capabilityStatus: disabledPlans.includes(plan.servicePlanId) ? 'Deleted' : 'Enabled',
    })),
  )
  const provisioned = plans.filter(
    ({ service, capabilityStatus }) =>
      service !== 'AADPremiumService' && capabilityStatus === 'Enabled',
  )
  return {
    assignedPlans: plans,
    provisionedPlans: provisioned.map(({ service, capabilityStatus }) => ({
      service,
      capabilityStatus,
      provisioningStatus: 'Success',
    })),
  }
}

const invalidValue = (name: string): GraphRefusal =>
  badRequest(`Invalid value specified for property '${name}' of resource 'User'.`)

/** The validated changes of a body; changes nothing yet. */
export function readUserChanges(
  tenant: SandboxTenant,
  user: User | null,
  body: JsonObject,
): Partial<User> {
  const changes: Partial<User> = {}
  for (const [name, value] of Object.entries(body)) {
    if (name.startsWith('@')) continue
    if (READ_ONLY.includes(name))
      throw badRequest(`Property '${name}' is read-only and cannot be set.`)
    if (NAMED.includes(name)) Object.assign(changes, namedValue(tenant, user, name, value))
    else if (ATTRIBUTES.includes(name)) {
      const attributes = changes.attributes ?? user?.attributes ?? {}
      changes.attributes = { ...attributes, [name]: attributeValue(attributes, name, value) }
    } else
      throw badRequest(
        `Property '${name}' does not exist as a declared property or extension property.`,
      )
  }
  requireAnchor(tenant, user, changes)
  return changes
}

/**
 * A name in a federated domain needs an anchor in the other directory, and none goes from one federated domain to another (source:
 * user resource type, onPremisesImmutableId; the texts: microsoft-graph-docs-contrib#5070, "Unable to update … FederatedUser").
 */
function requireAnchor(tenant: SandboxTenant, user: User | null, changes: Partial<User>): void {
  const upn = changes.userPrincipalName
  if (upn === undefined || !tenant.isFederated(domainOf(upn))) return
  const before = user && domainOf(user.userPrincipalName)
  if (before !== null && before !== domainOf(upn) && tenant.isFederated(before))
    throw badRequest(
      'Unable to update this object because the attribute FederatedUser.UserPrincipalName is not valid.',
    )
  const attributes = changes.attributes ?? user?.attributes ?? {}
  if (!attributes.onPremisesImmutableId)
    throw badRequest('SourceAnchor is a required property for creation of a federated user.')
}

const UPN_LOCAL = /^[A-Za-z0-9'._!#^~-]{1,64}$/
const NICKNAME = /^[^\s@()\\[\]";:<>,]{1,64}$/

function namedValue(
  tenant: SandboxTenant,
  user: User | null,
  name: string,
  value: Json,
): Partial<User> {
  const isText = typeof value === 'string' && value !== ''
  switch (name) {
    case 'accountEnabled':
      if (typeof value === 'boolean') return { accountEnabled: value }
      break
    case 'displayName':
      if (isText && value.length <= 256) return { displayName: value }
      break
    case 'mailNickname':
      if (isText && NICKNAME.test(value)) return { mailNickname: value }
      break
    case 'usageLocation':
      if (isText && /^[A-Z]{2}$/.test(value)) return { usageLocation: value }
      break
    case 'userType':
      if (value === 'Member' || value === 'Guest') return { userType: value }
      break
    case 'userPrincipalName':
      if (!isText || !UPN_LOCAL.test(value.slice(0, value.lastIndexOf('@')))) break
      tenant.requireVerified(value)
      return { userPrincipalName: value }
    case 'mail':
      return { mail: mailValue(tenant, user, value) }
    case 'passwordProfile':
      return { passwordHash: passwordHashOf(value) }
  }
  throw invalidValue(name)
}

function mailValue(tenant: SandboxTenant, user: User | null, value: Json): string | null {
  if (user?.recipient && user.userType !== 'Guest')
    throw badRequest(
      'Unable to update the specified properties for objects that have originated within an external service.',
    )
  if (value === null) return null
  if (!isAddress(value)) throw invalidValue('mail')
  const owner = tenant.ownerOf(`smtp:${value}`)
  if (owner !== undefined && owner !== user?.id)
    throw objectConflict('proxyAddresses', `smtp:${value}`, owner)
  return value
}

/** At least eight characters of three classes, as Entra requires by default. */
export function passwordHashOf(profile: Json): string {
  const password = (profile as JsonObject | null)?.password
  const text = typeof password === 'string' ? password : ''
  const classes = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^A-Za-z0-9]/].filter((kind) => kind.test(text))
  if (text.length >= 8 && text.length <= 256 && classes.length >= 3) return hashOf(text)
  throw badRequest(
    'The specified password does not comply with password complexity requirements. Please provide a different password.',
  )
}

function attributeValue(before: User['attributes'], name: string, value: Json): Json {
  if (name === EXTENSIONS) {
    const isFit =
      isObject(value) &&
      Object.entries(value).every(([key, one]) => EXTENSION.test(key) && isTextOrNull(one))
    if (!isFit) throw invalidValue(name)
    // Attributes not named stay unchanged.
    return { ...((before[name] ?? {}) as JsonObject), ...(value as JsonObject) }
  }
  const isFit = LIST_ATTRIBUTES.includes(name)
    ? Array.isArray(value) && value.every((one) => typeof one === 'string')
    : name === 'showInAddressList'
      ? value === null || typeof value === 'boolean'
      : isTextOrNull(value) && value !== ''
  if (!isFit) throw invalidValue(name)
  return value
}

const isTextOrNull = (value: Json): boolean => value === null || typeof value === 'string'
