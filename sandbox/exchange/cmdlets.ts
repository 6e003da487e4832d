// The sandbox's Exchange cmdlets: parameters, required role and rules. docs/rehearsal.md is generated from this table. Output is
// paged and errors are wrapped as the REST endpoint of Microsoft's PowerShell module does.

import { ok, type SandboxCall, type SandboxResponse } from '../call.ts'
import type { Json, JsonObject } from '../json.ts'
import * as lists from './lists.ts'
import * as mailUsers from './mail-users.ts'
import { PERMISSION_CMDLETS } from './mailbox-permissions.ts'
import { SETTING_CMDLETS } from './mailbox-settings.ts'
import * as mailboxes from './mailboxes.ts'
import * as migration from './migration.ts'
import * as migrationUsers from './migration-users.ts'
import * as moveSetup from './move-setup.ts'
import { Parameters, refuseParameter } from './parameters.ts'
import type { Output } from './recipients.ts'
import * as recipients from './recipients.ts'

export interface Cmdlet {
  readonly parameters: readonly string[]
  /** Requires more than Exchange Recipient Administrator. */
  readonly isAdministrators?: true
  readonly about: string
  run(call: SandboxCall, parameters: Parameters): Output
}

const FOUND = ['Identity', 'ResultSize']

export const CMDLETS: Readonly<Record<string, Cmdlet>> = {
  ...PERMISSION_CMDLETS,
  ...SETTING_CMDLETS,
  'Get-Recipient': {
    parameters: FOUND,
    about:
      'Returns mail users and mailboxes. 404 `ManagementObjectNotFoundException` for a recipient that Exchange does not know, or not yet.',
    run: (call, given) => recipients.getRecipients(call, given, 'mailUser', 'mailbox'),
  },
  'Get-MailUser': {
    parameters: [...FOUND, 'SoftDeletedMailUser'],
    about:
      'Returns mail users only: 404 for a user with a mailbox. With `SoftDeletedMailUser`, deleted ones that Exchange has kept.',
    run: mailUsers.getMailUsers,
  },
  'New-MailUser': {
    parameters: [
      'Name',
      'DisplayName',
      'FirstName',
      'LastName',
      'Alias',
      'Password',
      'MicrosoftOnlineServicesID',
      'ExternalEmailAddress',
      'PrimarySmtpAddress',
    ],
    about:
      'Makes an account and its mail user. Refused where an account, a recipient or a deleted mail user has one of the names.',
    run: mailUsers.newMailUser,
  },
  'Remove-MailUser': {
    parameters: ['Identity', 'PermanentlyDelete'],
    about:
      'Deletes a mail user and its account. With `PermanentlyDelete` it purges a deleted mail user whose account the directory has purged, and no other.',
    run: mailUsers.removeMailUser,
  },
  'Set-MailUser': {
    parameters: [
      'Identity',
      'EmailAddresses',
      'ExternalEmailAddress',
      'ExchangeGuid',
      'ArchiveGuid',
      'EnableLitigationHoldForMigration',
      'ExcludeFromAllOrgHolds',
      'HiddenFromAddressListsEnabled',
    ],
    about:
      'Sets addresses as a whole list or by Add and Remove; a new primary demotes the old one to an alias. `NotAcceptedDomainException` for a foreign domain, `ProxyAddressExistsException` for an address in use, a warning when nothing changes.',
    run: recipients.setMailUser,
  },
  'Get-Mailbox': {
    parameters: FOUND,
    about: 'Returns mailboxes only.',
    run: (call, given) => recipients.getRecipients(call, given, 'mailbox'),
  },
  'Get-MailboxStatistics': {
    parameters: ['Identity', 'Archive'],
    about: 'Returns the size of a mailbox, or of its archive.',
    run: mailboxes.getStatistics,
  },
  'Get-MailboxLocation': {
    parameters: ['User', 'MailboxLocationType'],
    about: 'Returns the mailbox, its archive and auxiliary archives.',
    run: mailboxes.getLocations,
  },
  'Get-MailboxPermission': {
    parameters: FOUND,
    about: 'Returns who may open a mailbox, its owner included.',
    run: mailboxes.getMailboxPermissions,
  },
  'Get-RecipientPermission': {
    parameters: FOUND,
    about: 'Returns who may send as a mailbox.',
    run: mailboxes.getRecipientPermissions,
  },
  'Set-Mailbox': {
    parameters: [
      'Identity',
      'EmailAddresses',
      'ForwardingSmtpAddress',
      'ForwardingAddress',
      'LitigationHoldEnabled',
      'DeliverToMailboxAndForward',
      'HiddenFromAddressListsEnabled',
      'GrantSendOnBehalfTo',
      'Type',
    ],
    about:
      'Sets forwarding, litigation hold, type, who may send on behalf, and addresses as for a mail user.',
    run: recipients.setMailbox,
  },
  'Get-User': {
    parameters: FOUND,
    about:
      'Returns all users. `PreviousRecipientTypeDetails` is `UserMailbox` after a former mailbox.',
    run: recipients.getUsers,
  },
  'Set-User': {
    parameters: ['Identity', 'PermanentlyClearPreviousMailboxInfo'],
    about: 'Clears a former mailbox, which blocks a mailbox move.',
    run: recipients.setUser,
  },
  'Get-DistributionGroup': {
    parameters: FOUND,
    about: 'Returns distribution lists and mail-enabled security groups.',
    run: lists.getLists,
  },
  'Get-DistributionGroupMember': {
    parameters: FOUND,
    about: 'Returns direct members, 1,000 unless `ResultSize` is `Unlimited`.',
    run: lists.getListMembers,
  },
  'Add-DistributionGroupMember': {
    parameters: ['Identity', 'Member', 'BypassSecurityGroupManagerCheck'],
    isAdministrators: true,
    about:
      'Adds a member. `MemberAlreadyExistsException` for an existing one; refused without `BypassSecurityGroupManagerCheck`.',
    run: lists.addListMember,
  },
  'Remove-DistributionGroupMember': {
    parameters: ['Identity', 'Member', 'BypassSecurityGroupManagerCheck'],
    isAdministrators: true,
    about:
      'Removes a member. `MemberNotFoundException` for anyone else; refused without `BypassSecurityGroupManagerCheck`.',
    run: lists.removeListMember,
  },
  'New-MigrationBatch': {
    parameters: [
      'Name',
      'SourceEndpoint',
      'TargetDeliveryDomain',
      'CSVData',
      'AutoStart',
      'AutoComplete',
      'CompleteAfter',
      'NotificationEmails',
    ],
    isAdministrators: true,
    about:
      'Creates a batch of at most 2,000 addresses in the column EmailAddress; a tenant has at most 100 batches. Names are unique; 404 for an unknown endpoint. Mailbox moves progress with the clock and, without a date, stay synced.',
    run: migration.newBatch,
  },
  'Get-MigrationBatch': {
    parameters: FOUND,
    isAdministrators: true,
    about:
      'Returns **all batches** for an unknown name, as documented; not found in other dialects.',
    run: migration.getBatches,
  },
  'Set-MigrationBatch': {
    parameters: ['Identity', 'AddUsers', 'CSVData', 'CompleteAfter', 'NotificationEmails'],
    isAdministrators: true,
    about:
      'Adds the new addresses of a list (`AddUsers`), which start with the batch, and changes the date of completion.',
    run: migration.setBatch,
  },
  'Start-MigrationBatch': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Starts a batch and retries failed mailbox moves.',
    run: migration.startBatch,
  },
  'Complete-MigrationBatch': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Completes synced mailbox moves now and the others once synced.',
    run: migration.completeBatch,
  },
  'Stop-MigrationBatch': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Stops all unfinished mailbox moves.',
    run: migration.stopBatch,
  },
  'Remove-MigrationBatch': {
    parameters: ['Identity', 'Force'],
    isAdministrators: true,
    about: 'Removes a batch. Refused while it runs.',
    run: migration.removeBatch,
  },
  'Get-MigrationUser': {
    parameters: [...FOUND, 'BatchId', 'IncludeAssociatedUsers'],
    isAdministrators: true,
    about: 'Returns **all users** for an unknown name, as Exchange does.',
    run: migrationUsers.getMigrationUsers,
  },
  'Set-MigrationUser': {
    parameters: ['Identity', 'CompleteAfter', 'ApproveSkippedItems'],
    isAdministrators: true,
    about: 'Sets a date of completion that overrides the batch’s, and approves skipped items.',
    run: migrationUsers.setMigrationUser,
  },
  'Start-MigrationUser': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Starts one mailbox move again.',
    run: migrationUsers.startMigrationUser,
  },
  'Stop-MigrationUser': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Stops one mailbox move.',
    run: migrationUsers.stopMigrationUser,
  },
  'Remove-MigrationUser': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Removes one user from its batch. Refused while the mailbox move runs.',
    run: migrationUsers.removeMigrationUser,
  },
  'Get-MigrationEndpoint': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Returns the migration endpoints of the seed.',
    run: migration.getEndpoints,
  },
  'Test-MigrationServerAvailability': {
    parameters: ['Endpoint', 'TestMailbox'],
    isAdministrators: true,
    about:
      'Tries the way to the source of one mail user: `Result` is `Success`, or `Failed` with `Message`. The scope group counts. Unconfirmed.',
    run: moveSetup.testAvailability,
  },
  'Get-OrganizationRelationship': {
    parameters: ['Identity'],
    about:
      'Returns the organisation relationships: those of the seed, or else those that its migration endpoints need. A mailbox move needs `Inbound` at the target and `RemoteOutbound` with an app at the source.',
    run: moveSetup.getRelationships,
  },
  'Get-HostedOutboundSpamFilterPolicy': {
    parameters: ['Identity'],
    isAdministrators: true,
    about:
      'Returns the default outbound spam policy with `AutoForwardingMode`, the `autoForwardingMode` of the seed.',
    run: moveSetup.getOutboundPolicies,
  },
  'Get-AcceptedDomain': {
    parameters: FOUND,
    about: 'Returns the domains of the tenant.',
    run: migration.getAcceptedDomains,
  },
  'Get-OrganizationConfig': {
    parameters: [],
    about: 'Returns the tenant.',
    run: migration.getOrganization,
  },
}

const ROLES = ['Exchange Administrator', 'Global Administrator']
const RECIPIENT_ROLE = 'Exchange Recipient Administrator'

/** Not gzip despite its header: Exchange's response to a cmdlet that the caller may not see. */
const FORBIDDEN: SandboxResponse = { status: 403, headers: { 'content-encoding': 'gzip' } }

const PAGE_MAX = 1_000

export function invokeCommand(call: SandboxCall): SandboxResponse {
  const input = call.body.CmdletInput as JsonObject | undefined
  const requested = cmdletNameOf(call.body)
  const name = Object.keys(CMDLETS).find(
    (known) => known.toLowerCase() === requested?.toLowerCase(),
  )
  const cmdlet = CMDLETS[name ?? '']
  if (!cmdlet || !isAllowed(call, cmdlet)) return FORBIDDEN
  const given = (input?.Parameters ?? {}) as JsonObject
  const { replay } = call.world
  const refusal = replay?.refusal(name!, Object.keys(given), call.tenant.initialDomain)
  if (refusal) return refusal
  const { items, warnings = [] } = cmdlet.run(call, new Parameters(given, cmdlet.parameters))
  return page(call, replay?.shaped(name!, items) ?? items, warnings)
}

export function cmdletNameOf(body: JsonObject): string | null {
  const name = (body.CmdletInput as JsonObject | null | undefined)?.CmdletName
  return typeof name === 'string' ? name : null
}

function isAllowed({ application }: SandboxCall, { isAdministrators }: Cmdlet): boolean {
  const { roles, directoryRoles } = application
  if (roles !== null && !roles.includes('Exchange.ManageAsApp')) return false
  const fitting = isAdministrators ? ROLES : [...ROLES, RECIPIENT_ROLE]
  return directoryRoles.some((role) => fitting.includes(role))
}

/** Callers post the same body to the next link. */
function page(
  call: SandboxCall,
  items: readonly JsonObject[],
  warnings: readonly string[],
): SandboxResponse {
  const { searchParams } = call.url
  const size = Math.min(
    Number(/odata\.maxpagesize=(\d+)/.exec(call.headers.prefer ?? '')?.[1] ?? PAGE_MAX),
    PAGE_MAX,
  )
  if (!(size > 0)) throw refuseParameter('The page size must be at least 1.')
  const from = Number(searchParams.get('$skiptoken') ?? 0)
  const names = searchParams
    .get('$select')
    ?.toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const next = new URL(call.url)
  next.searchParams.set('$skiptoken', String(from + size))
  const isMore = items.length > from + size
  return ok({
    '@odata.context': `${call.url.origin}/adminapi/beta/${call.tenant.id}/$metadata#Collection(Exchange.GenericHashTable)`,
    '@adminapi.warnings@odata.type': '#Collection(String)',
    '@adminapi.warnings': [...warnings],
    value: items.slice(from, from + size).map((item) => selected(item, names)),
    ...(isMore ? { '@odata.nextLink': next.href } : {}),
  })
}

/** Unlike Graph, Exchange omits unknown properties silently. */
function selected(item: JsonObject, names: readonly string[] | undefined): Json {
  if (!names) return { ...item }
  return Object.fromEntries(
    Object.entries(item).filter(([key]) => names.includes(key.split('@')[0]!.toLowerCase())),
  )
}
