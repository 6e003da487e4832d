// Exchange's cmdlets as the sandbox has them: their parameters, the role that allows them and their rules in a sentence. The table
// in docs/sandbox.md is made from this one. The answer of a cmdlet is paged, and its errors wrapped, as the REST endpoint of
// Microsoft's PowerShell module does.
import type { Json, JsonObject } from '../../domain/json.ts'
import { ok, type SandboxCall, type SandboxResponse } from '../call.ts'
import * as lists from './lists.ts'
import * as migration from './migration.ts'
import { Parameters, refuseParameter } from './parameters.ts'
import type { Output } from './recipients.ts'
import * as recipients from './recipients.ts'

export interface Cmdlet {
  readonly parameters: readonly string[]
  /** Needs more than the Exchange Recipient Administrator. */
  readonly isAdministrators?: true
  readonly about: string
  run(call: SandboxCall, parameters: Parameters): Output
}

const FOUND = ['Identity', 'ResultSize']

export const CMDLETS: Readonly<Record<string, Cmdlet>> = {
  'Get-Recipient': {
    parameters: FOUND,
    about:
      'Mail users and mailboxes. 404 `ManagementObjectNotFoundException` for what is unknown, or not known to Exchange yet.',
    run: (call, given) => recipients.getRecipients(call, given, 'mailUser', 'mailbox'),
  },
  'Get-MailUser': {
    parameters: FOUND,
    about: 'Mail users only: 404 once somebody has a mailbox.',
    run: (call, given) => recipients.getRecipients(call, given, 'mailUser'),
  },
  'Set-MailUser': {
    parameters: [
      'Identity',
      'EmailAddresses',
      'ExternalEmailAddress',
      'ExchangeGuid',
      'ArchiveGuid',
      'HiddenFromAddressListsEnabled',
    ],
    about:
      'Addresses as a whole list or by Add and Remove; a new primary makes the old one an alias. `NotAcceptedDomainException` for a foreign domain, `ProxyAddressExistsException` for an address that is taken, a warning when nothing changes.',
    run: recipients.setMailUser,
  },
  'Get-Mailbox': {
    parameters: FOUND,
    about: 'Mailboxes only.',
    run: (call, given) => recipients.getRecipients(call, given, 'mailbox'),
  },
  'Set-Mailbox': {
    parameters: [
      'Identity',
      'EmailAddresses',
      'ForwardingSmtpAddress',
      'DeliverToMailboxAndForward',
      'HiddenFromAddressListsEnabled',
    ],
    about: 'Addresses as for a mail user; forwarding.',
    run: recipients.setMailbox,
  },
  'Get-User': {
    parameters: FOUND,
    about: 'Everybody, with the GUID of a former mailbox.',
    run: recipients.getUsers,
  },
  'Set-User': {
    parameters: ['Identity', 'PermanentlyClearPreviousMailboxInfo'],
    about: 'Forgets a former mailbox, which stands in the way of a move.',
    run: recipients.setUser,
  },
  'Get-DistributionGroup': {
    parameters: FOUND,
    about: 'Distribution lists and mail-enabled security groups.',
    run: lists.getLists,
  },
  'Get-DistributionGroupMember': {
    parameters: FOUND,
    about: 'Direct members, 1,000 unless `ResultSize` says `Unlimited`.',
    run: lists.getListMembers,
  },
  'Add-DistributionGroupMember': {
    parameters: ['Identity', 'Member', 'BypassSecurityGroupManagerCheck'],
    about: '`MemberAlreadyExistsException` for a member.',
    run: lists.addListMember,
  },
  'Remove-DistributionGroupMember': {
    parameters: ['Identity', 'Member', 'BypassSecurityGroupManagerCheck'],
    about: '`MemberNotFoundException` for somebody who is none.',
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
      'At most 2,000 addresses in the column EmailAddress; a name once; 404 for an unknown endpoint. Its users progress with the clock.',
    run: migration.newBatch,
  },
  'Get-MigrationBatch': {
    parameters: FOUND,
    isAdministrators: true,
    about: '404 for an unknown name.',
    run: migration.getBatches,
  },
  'Start-MigrationBatch': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Also tries again what has failed.',
    run: migration.startBatch,
  },
  'Complete-MigrationBatch': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Switches over what is synced, and the rest as it comes.',
    run: migration.completeBatch,
  },
  'Stop-MigrationBatch': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Everything that has not ended.',
    run: migration.stopBatch,
  },
  'Remove-MigrationBatch': {
    parameters: ['Identity', 'Force'],
    isAdministrators: true,
    about: 'Refused while it runs.',
    run: migration.removeBatch,
  },
  'Get-MigrationUser': {
    parameters: [...FOUND, 'BatchId'],
    isAdministrators: true,
    about: 'Gives **everybody** when it does not know the name, as in Exchange.',
    run: migration.getMigrationUsers,
  },
  'Get-MigrationEndpoint': {
    parameters: ['Identity'],
    isAdministrators: true,
    about: 'Ways to other tenants, from the seed.',
    run: migration.getEndpoints,
  },
  'Get-AcceptedDomain': {
    parameters: FOUND,
    about: 'The domains of the tenant.',
    run: migration.getAcceptedDomains,
  },
  'Get-OrganizationConfig': {
    parameters: [],
    about: 'The tenant.',
    run: migration.getOrganization,
  },
}

const ROLES = ['Exchange Administrator', 'Global Administrator']
const RECIPIENT_ROLE = 'Exchange Recipient Administrator'

/** Bytes that are said to be gzip and are not: how Exchange answers to a cmdlet that it does not let the caller see. */
const FORBIDDEN: SandboxResponse = { status: 403, headers: { 'content-encoding': 'gzip' } }

const PAGE_MAX = 1_000

export function invokeCommand(call: SandboxCall): SandboxResponse {
  const input = call.body.CmdletInput as JsonObject | undefined
  const asked = cmdletNameOf(call.body)
  const name = Object.keys(CMDLETS).find((one) => one.toLowerCase() === asked?.toLowerCase())
  const cmdlet = CMDLETS[name ?? '']
  if (!cmdlet || !isAllowed(call, cmdlet)) return FORBIDDEN
  const given = (input?.Parameters ?? {}) as JsonObject
  const { items, warnings = [] } = cmdlet.run(call, new Parameters(given, cmdlet.parameters))
  return page(call, items, warnings)
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

/** The caller posts the same body to the next link. */
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

/** A property that there is not is simply not there, unlike in Graph. */
function selected(item: JsonObject, names: readonly string[] | undefined): Json {
  if (!names) return { ...item }
  return Object.fromEntries(
    Object.entries(item).filter(([key]) => names.includes(key.split('@')[0]!.toLowerCase())),
  )
}
