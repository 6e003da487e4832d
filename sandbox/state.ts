// The state of all tenants as plain JSON; times are ISO texts. A seed is the same shape with most of it left out, so the output
// of GET /_sandbox/state can seed another sandbox.
import { z } from 'zod'
import { guidOf } from './identity.ts'
import type { Json } from './json.ts'
import { DEFAULT_SKUS } from './skus.ts'

export const USERS_MAX = 200_000
const GROUPS_MAX = 20_000
const TENANTS_MAX = 20

const guid = z.guid().toLowerCase()
const address = z
  .string()
  .regex(/^[^@\s]+@[^@\s]+$/, 'must be an address such as ada@contoso.example')
  .max(320)
const domain = z
  .string()
  .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, 'must be a domain such as contoso.example')
  .toLowerCase()
const instant = z.iso.datetime()
const json: z.ZodType<Json> = z.json() as z.ZodType<Json>

const recipientSchema = z.strictObject({
  kind: z.enum(['mailUser', 'mailbox']),
  exchangeGuid: guid.nullable().default(null),
  archiveGuid: guid.nullable().default(null),
  externalEmailAddress: address.nullable().default(null),
  legacyExchangeDn: z.string().min(1).optional(),
  isHidden: z.boolean().default(false),
  forwardingSmtpAddress: address.nullable().default(null),
  deliverToMailboxAndForward: z.boolean().default(false),
  /** A recipient of the tenant that mail goes to, whatever forwardingSmtpAddress says. */
  forwardingAddress: z.string().nullable().default(null),
  sizeBytes: z.int().min(0).default(0),
  itemCount: z.int().min(0).default(0),
  /** Items that cannot be copied: somebody must approve their loss before a mailbox move completes. */
  brokenItemCount: z.int().min(0).default(0),
  isOnLitigationHold: z.boolean().default(false),
  /** For 30 days after a hold on the Teams data of the mailbox ended. */
  hasDelayReleaseHold: z.boolean().default(false),
  recoverableBytes: z.int().min(0).default(0),
  archiveSizeBytes: z.int().min(0).default(0),
  auxiliaryArchives: z.int().min(0).default(0),
  /** Ids of other holds. */
  inPlaceHolds: z.array(z.string()).default([]),
  /** UPNs: may open it, send as it, send on its behalf. */
  fullAccess: z.array(z.string()).default([]),
  sendAs: z.array(z.string()).default([]),
  sendOnBehalf: z.array(z.string()).default([]),
  /** In the language of the owner. */
  calendarName: z.string().min(1).default('Calendar'),
  isShared: z.boolean().default(false),
  autoReply: z
    .strictObject({
      state: z.enum(['Enabled', 'Disabled', 'Scheduled']).default('Disabled'),
      internal: z.string().default(''),
      external: z.string().default(''),
      audience: z.string().default('All'),
      start: instant.nullable().default(null),
      end: instant.nullable().default(null),
    })
    .prefault({}),
  calendarRights: z.array(z.strictObject({ userId: guid, right: z.string() })).default([]),
  /** From when Exchange knows it. */
  visibleAt: instant.nullable().default(null),
})

const userSchema = z.strictObject({
  id: guid.optional(),
  userPrincipalName: address,
  displayName: z.string().optional(),
  mailNickname: z.string().optional(),
  mail: address.nullable().default(null),
  proxyAddresses: z.array(z.string().regex(/^[a-z0-9]+:./i)).default([]),
  accountEnabled: z.boolean().default(true),
  userType: z.enum(['Member', 'Guest']).default('Member'),
  creationType: z.enum(['Invitation']).nullable().default(null),
  externalUserState: z.enum(['PendingAcceptance', 'Accepted']).nullable().default(null),
  externalUserStateChangeDateTime: instant.nullable().default(null),
  convertedToInternalUserDateTime: instant.nullable().default(null),
  usageLocation: z.string().length(2).nullable().default(null),
  /** All other writable directory properties. */
  attributes: z.record(z.string(), json).default({}),
  managerId: guid.nullable().default(null),
  /** Admin roles by name: an app needs a higher one to change the account. */
  directoryRoles: z.array(z.string()).default([]),
  assignedLicenses: z
    .array(
      z.strictObject({
        skuId: guid,
        disabledPlans: z.array(guid).default([]),
        /** The group it comes from; null when assigned directly. */
        groupId: guid.nullable().default(null),
      }),
    )
    .default([]),
  passwordHash: z.string().nullable().default(null),
  signInSessionsValidFromDateTime: instant.nullable().default(null),
  createdDateTime: instant.nullable().default(null),
  /** From when reads find it. */
  visibleAt: instant.nullable().default(null),
  deletedDateTime: instant.nullable().default(null),
  recipient: recipientSchema.nullable().default(null),
  /** GUID of a former mailbox: a mailbox move with another GUID is refused until it is cleared. */
  previousMailboxGuid: guid.nullable().default(null),
})

const groupSchema = z.strictObject({
  id: guid.optional(),
  displayName: z.string().min(1),
  mail: address.nullable().default(null),
  kind: z
    .enum(['security', 'microsoft365', 'distribution', 'mailEnabledSecurity', 'dynamic'])
    .default('security'),
  /** Its members get a directory role; only with the right to manage roles does an application change them. */
  isAssignableToRole: z.literal(true).optional(),
  /** Ids of users and groups; a seed may also use UPNs and names of earlier groups. */
  members: z.array(z.string()).default([]),
  visibleAt: instant.nullable().default(null),
})

const skuSchema = z.strictObject({
  skuId: guid,
  skuPartNumber: z.string(),
  enabledUnits: z.int().min(0),
  servicePlans: z.array(z.strictObject({ servicePlanId: guid, servicePlanName: z.string() })),
})

const applicationSchema = z.strictObject({
  clientId: guid,
  displayName: z.string().default('matoolkit worker'),
  secret: z.string().nullable().default(null),
  /** PEM. Accepts client assertions signed with their keys. */
  certificates: z.array(z.string()).default([]),
  /** Issuers whose tokens may sign in as the application. */
  federatedCredentials: z
    .array(
      z.strictObject({
        issuer: z.string(),
        subject: z.string(),
        audience: z.string().default('api://AzureADTokenExchange'),
        publicKey: z.string(),
      }),
    )
    .default([]),
  /** Application permissions; null grants all. */
  roles: z.array(z.string()).nullable().default(null),
  directoryRoles: z.array(z.string()).default(['Exchange Administrator', 'User Administrator']),
})

const mailboxMoveSchema = z.strictObject({
  guid,
  address,
  userId: guid.nullable(),
  status: z.enum([
    'Syncing',
    'Synced',
    'Completing',
    'Completed',
    'NeedsApproval',
    'Failed',
    'Stopping',
    'Stopped',
    'Removing',
  ]),
  /** When the status changes next. */
  dueAt: instant.nullable(),
  error: z.string().nullable(),
  /** Overrides the batch's. */
  completeAfter: instant.nullable().default(null),
  /** The loss of broken items is approved. */
  isApproved: z.boolean().default(false),
  /** Auxiliary archives move as users of their own ("Migration Failures", IncludeAssociatedUsers). Their names are not documented. */
  associated: z.array(z.string()).default([]),
})

const migrationBatchSchema = z.strictObject({
  id: guid,
  name: z.string(),
  sourceEndpoint: z.string(),
  targetDeliveryDomain: domain,
  createdAt: instant,
  startedAt: instant.nullable(),
  stoppedAt: instant.nullable(),
  /** When a removed batch is gone. */
  goneAt: instant.nullable().default(null),
  /** Earliest completion; null waits for Complete-MigrationBatch or a date of the user's own. */
  completeAfter: instant.nullable(),
  mailboxMoves: z.array(mailboxMoveSchema),
  /** Associated users that stayed when only their person was removed. */
  leftBehind: z.array(z.string()).default([]),
})

const crossTenantJobSchema = z.strictObject({
  id: guid,
  displayName: z.string().min(1),
  sourceTenantId: guid,
  completeAfter: instant,
  sourceEndpoint: z.string().nullable().default(null),
  targetDeliveryDomain: domain.nullable().default(null),
  workloads: z.array(z.enum(['Exchange', 'ODSP', 'Teams', 'Meeting'])),
  /** People of this tenant. */
  resources: z.array(guid),
  status: z.enum([
    'submitted',
    'validateSubmitted',
    'validatePassed',
    'validateFailed',
    'processing',
    'inProgress',
    'cuttingOver',
    'completed',
    'completedWithErrors',
    'failed',
    'pendingCancel',
    'cancelled',
  ]),
  /** When the status changes next, if it does so by itself. */
  dueAt: instant.nullable().default(null),
  validatedAt: instant.nullable().default(null),
  createdAt: instant,
  updatedAt: instant,
  cancelledUsers: z.array(guid).default([]),
  /** What validation found. */
  problems: z.array(z.strictObject({ userId: guid, message: z.string() })).default([]),
  /** Its mailboxes, once it migrates. */
  batch: migrationBatchSchema.nullable().default(null),
})

const oneDriveMoveSchema = z.strictObject({
  id: guid,
  sourceUserPrincipalName: address,
  targetUserPrincipalName: address,
  targetOrganizationHost: z.string(),
  status: z.enum(['notStarted', 'inProgress', 'completed', 'cancelled', 'failed']),
  /** When the status changes next. */
  dueAt: instant.nullable(),
  error: z.string().nullable().default(null),
  startAt: instant.nullable().default(null),
  latestStartAt: instant.nullable().default(null),
  startedAt: instant.nullable().default(null),
  finishedAt: instant.nullable().default(null),
  updatedAt: instant.nullable().default(null),
})

/** Of an endpoint: the source must name it too. */
const usualApp = guid.nullable().default(() => DEFAULT_CLIENT_ID)
/** The permission to move mailboxes between this tenant and another one. */
const relationshipSchema = z.strictObject({
  name: z.string().min(1),
  /** The id of the other tenant. */
  domainNames: z.array(z.string()).default([]),
  isEnabled: z.boolean().default(true),
  isMoveEnabled: z.boolean().default(true),
  /** Inbound at the target, RemoteOutbound at the source. */
  moveCapability: z
    .enum(['Inbound', 'Outbound', 'RemoteInbound', 'RemoteOutbound', 'None'])
    .default('None'),
  /** At the source: the app that moves mailboxes. */
  applicationId: guid.nullable().default(null),
})

/** Forms of Exchange that no document settles: each was observed somewhere, so a worker must understand all of them. */
const dialectSchema = z.strictObject({
  /** An object that Exchange does not know: the status of its exception, or `text`, a 400 without the exception's name. */
  notFound: z.enum(['404', '400', '500', 'text']).default('404'),
  /** The primary address of a new mail user: the given one, or the external address whatever was given. */
  newMailUserPrimary: z.enum(['given', 'external']).default('given'),
  /** The bytes of CSVData: with their type, as Microsoft's module sends them, as plain base64 text, or either. */
  csvData: z.enum(['any', 'typed', 'text']).default('any'),
  /** A mailbox move without a licence fails, or waits for an approval. */
  missingLicence: z.enum(['failed', 'needsApproval']).default('failed'),
  /** Graph's list of a user's licence details: closed to applications, as documented, or open, as reported. */
  licenseDetails: z.enum(['refused', 'allowed']).default('refused'),
  /** Microsoft's test of one mailbox's connection: its answer, a refusal of its parameters, or an answer without content. */
  connectionTest: z.enum(['answered', 'refused', 'empty']).default('answered'),
  /** Reading a user's manager as an app: closed by its page, open as observed. */
  manager: z.enum(['allowed', 'refused']).default('allowed'),
})

/** What Exchange keeps of a deleted mail user: its addresses and GUIDs are in the way of another one. */
const softDeletedSchema = z.strictObject({
  guid,
  /** Null once the directory has purged the user: only then Exchange purges it too. */
  userId: guid.nullable(),
  userPrincipalName: address,
  mailNickname: z.string(),
  proxyAddresses: z.array(z.string()),
  externalEmailAddress: address.nullable(),
  exchangeGuid: guid.nullable(),
  archiveGuid: guid.nullable(),
  /** From the retention policies of the organisation, which refuse the purge. */
  isExcludedFromHolds: z.boolean().default(false),
  deletedAt: instant,
})

export const CLOUDS = ['public', 'usgov', 'usdod', 'china'] as const

const tenantSchema = z.strictObject({
  id: guid.optional(),
  displayName: z.string().optional(),
  /** Verified and accepted; the first is the default. The initial domain is the one under onmicrosoft.com, else the first. */
  domains: z.array(domain).min(1),
  /** Those of the domains whose people sign in elsewhere, such as at Active Directory Federation Services. */
  federatedDomains: z.array(domain).default([]),
  applications: z.array(applicationSchema).default([]),
  dialect: dialectSchema.prefault({}),
  /** Its services have the names of this cloud, for which tokens are issued. */
  cloud: z.enum(CLOUDS).default('public'),
  skus: z.array(skuSchema).default(() => DEFAULT_SKUS.map((sku) => structuredClone(sku))),
  users: z.array(userSchema).max(USERS_MAX).default([]),
  softDeletedMailUsers: z.array(softDeletedSchema).default([]),
  groups: z.array(groupSchema).max(GROUPS_MAX).default([]),
  migrationEndpoints: z
    .array(z.strictObject({ name: z.string(), remoteTenant: domain, applicationId: usualApp }))
    .default([]),
  /** Default: what moves through the migration endpoints of the seed need; `[]` for none. */
  organizationRelationships: z.array(relationshipSchema).optional(),
  migrationBatches: z.array(migrationBatchSchema).default([]),
  /** Microsoft's own migration of people into this tenant. */
  crossTenantJobs: z.array(crossTenantJobSchema).default([]),
  /** OneDrives that leave this tenant. */
  oneDriveMoves: z.array(oneDriveMoveSchema).default([]),
  /** Only members of this group may be moved to another tenant; null allows everybody. */
  moveScopeGroupId: guid.nullable().default(null),
  /** Retention policies for all mailboxes, such as `mbx7cfb30345d454ac0a989ab3041051209:2`. */
  organizationHolds: z.array(z.string()).default([]),
  /** As a trial tenant begins, and the policy of temporary access passes. */
  isDehydrated: z.boolean().default(false),
  accessPasses: z.enum(['off', 'once', 'on']).default('on'),
  /** Of the default outbound spam policy; what Automatic means differs by tenant (Set-HostedOutboundSpamFilterPolicy). */
  autoForwardingMode: z.enum(['Automatic', 'On', 'Off']).default('Automatic'),
})

export const seedSchema = z.strictObject({ tenants: z.array(tenantSchema).min(1).max(TENANTS_MAX) })

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T

export type Seed = DeepReadonly<z.input<typeof seedSchema>>
type CheckedSeed = z.output<typeof seedSchema>
export type State = ReturnType<typeof completeState>
export type TenantState = State['tenants'][number]
export type User = TenantState['users'][number]
export type Group = TenantState['groups'][number]
export type Recipient = NonNullable<User['recipient']>
export type SoftDeletedMailUser = z.output<typeof softDeletedSchema>
export type Sku = z.output<typeof skuSchema>
export type Application = z.output<typeof applicationSchema>
export type MigrationBatch = z.output<typeof migrationBatchSchema>
export type OrganizationRelationship = z.output<typeof relationshipSchema>
export type CrossTenantJob = z.output<typeof crossTenantJobSchema>
export type OneDriveMove = z.output<typeof oneDriveMoveSchema>
export type MailboxMove = z.output<typeof mailboxMoveSchema>

/** Completes a seed with defaults. */
export function completeState(seed: CheckedSeed) {
  const tenants = seed.tenants.map(completeTenant)
  return {
    tenants: tenants.map((one) => ({
      ...one,
      organizationRelationships: one.organizationRelationships ?? usualRelationships(one, tenants),
    })),
  }
}

type CompleteTenant = ReturnType<typeof completeTenant>

/** Both tenants name each other ("Cross-tenant mailbox migration", learn.microsoft.com). */
function usualRelationships(
  tenant: CompleteTenant,
  all: readonly CompleteTenant[],
): OrganizationRelationship[] {
  const from = tenant.migrationEndpoints.map(({ remoteTenant }) => ({
    name: `From ${remoteTenant}`,
    domainNames: [all.find(({ domains }) => domains.includes(remoteTenant))?.id ?? remoteTenant],
    moveCapability: 'Inbound' as const,
  }))
  const to = all
    .filter((one) =>
      one.migrationEndpoints.some(({ remoteTenant }) => tenant.domains.includes(remoteTenant)),
    )
    .map((one) => ({
      name: `To ${one.domains[0]}`,
      domainNames: [one.id],
      moveCapability: 'RemoteOutbound' as const,
      applicationId: DEFAULT_CLIENT_ID,
    }))
  return [...from, ...to].map((one) => relationshipSchema.parse(one))
}

export const DEFAULT_CLIENT_ID = guidOf('sandbox', 'application')
/** Valid for sandboxes only. */
export const DEFAULT_SECRET = 'sandbox-secret'

function completeTenant(seed: CheckedSeed['tenants'][number]) {
  const id = seed.id ?? guidOf('tenant', seed.domains[0]!)
  const users = seed.users.map((user) => completeUser(id, user))
  const groups = seed.groups.map((group) => ({
    ...group,
    id: group.id ?? guidOf(id, 'group', group.displayName),
  }))
  const idOfMember = memberIds(users, groups)
  return {
    ...seed,
    id,
    displayName: seed.displayName ?? seed.domains[0]!.split('.')[0]!,
    applications:
      seed.applications.length > 0
        ? seed.applications
        : [applicationSchema.parse({ clientId: DEFAULT_CLIENT_ID, secret: DEFAULT_SECRET })],
    users,
    groups: groups.map((group) => ({ ...group, members: group.members.map(idOfMember) })),
  }
}

/** Maps a seed's names of members to ids; ids and unknown names stay. */
function memberIds(
  users: readonly { id: string; userPrincipalName: string }[],
  groups: readonly { id: string; displayName: string }[],
): (member: string) => string {
  const ids = new Map([
    ...groups.map(({ id, displayName }) => [displayName.toLowerCase(), id] as const),
    ...users.map(({ id, userPrincipalName }) => [userPrincipalName.toLowerCase(), id] as const),
  ])
  return (member) => ids.get(member.toLowerCase()) ?? member
}

function completeUser(tenantId: string, user: z.output<typeof userSchema>) {
  const localPart = user.userPrincipalName.split('@')[0]!
  const id = user.id ?? guidOf(tenantId, 'user', user.userPrincipalName.toLowerCase())
  const isReachable = user.recipient !== null && user.proxyAddresses.length === 0
  const primary = user.mail ?? user.userPrincipalName
  return {
    ...user,
    id,
    mail: isReachable ? primary : user.mail,
    proxyAddresses: isReachable ? [`SMTP:${primary}`] : user.proxyAddresses,
    displayName: user.displayName ?? localPart,
    mailNickname: user.mailNickname ?? localPart,
    recipient: user.recipient && completeRecipient(id, user.recipient),
  }
}

function completeRecipient(userId: string, recipient: z.output<typeof recipientSchema>) {
  const exchangeGuid =
    recipient.exchangeGuid ?? (recipient.kind === 'mailbox' ? guidOf(userId, 'mailbox') : null)
  const legacyExchangeDn = recipient.legacyExchangeDn ?? legacyExchangeDnOf(userId)
  return { ...recipient, exchangeGuid, legacyExchangeDn }
}

/** A mail user with defaults. */
export const newRecipient = (userId: string, visibleAt: string): Recipient =>
  completeRecipient(userId, recipientSchema.parse({ kind: 'mailUser', visibleAt }))

const legacyExchangeDnOf = (userId: string): string =>
  `/o=ExchangeLabs/ou=Exchange Administrative Group (FYDIBOHF23SPDLT)/cn=Recipients/cn=${userId.replaceAll('-', '')}`

/** A user with defaults, for users created while the sandbox runs. */
export const newUser = (tenantId: string, seed: z.input<typeof userSchema>): User =>
  completeUser(tenantId, userSchema.parse(seed))
