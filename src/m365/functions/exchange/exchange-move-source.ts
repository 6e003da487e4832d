// Reads from the source tenant what a mailbox move needs, so that a member file needs to name only people: GUIDs, the x500 addresses
// under which old mail finds the mailbox, its size, what blocks the move, and who else uses it. Changes nothing.
import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { defineM365Function } from '../define.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { isNoGuid, isSameText, recipientId, withoutSmtp } from '../parameters.ts'
import { readMailbox } from './exchange-mailbox.ts'
import { textsOf } from './exchange-recipient.ts'
import { accessRightsOf, addressesOfTrustees } from './exchange-trustee.ts'

const source = z.object({
  UserId: z.string().describe('Object id of the account in the source tenant.'),
  UserPrincipalName: z.string(),
  DisplayName: z.string(),
  Alias: z.string(),
  PrimarySmtpAddress: z.string(),
  EmailAddresses: z.array(z.string()).describe('All addresses, each with its prefix.'),
  X500Addresses: z
    .array(z.string())
    .describe('For Set-ExchangeMoveTarget: the LegacyExchangeDN and all other x500 addresses.'),
  ExchangeGuid: z.string(),
  ArchiveGuid: z.string().nullable().describe('Null without an archive.'),
  LegacyExchangeDN: z.string(),
  SizeBytes: z.number().nullable().describe('Null when Exchange does not tell.'),
  ItemCount: z.number().nullable(),
  Holds: z.array(z.string()).describe('Each of them blocks the mailbox move.'),
  OrganizationHolds: z
    .array(z.string())
    .describe('Policies of the organisation that hold it; unconfirmed whether they block a move.'),
  RecoverableBytes: z
    .number()
    .nullable()
    .describe('Size of the recoverable items, which move too.'),
  ArchiveSizeBytes: z.number().nullable().describe('Null without an archive.'),
  AuxiliaryArchives: z.number().describe('Further archives of an auto-expanding one; 12 can move.'),
  FullAccess: z
    .array(z.string())
    .describe('Addresses of people who may open the mailbox. Moves with it, when both move.'),
  SendAs: z.array(z.string()).describe('Does not move: grant it again, to their new accounts.'),
  SendOnBehalf: z.array(z.string()).describe('Like SendAs.'),
  LeftOut: z
    .array(z.string())
    .describe('Entries of rights that are nobody any more: deleted accounts and system groups.'),
})

/** Identify a hold on an Exchange Online mailbox (Microsoft Learn) names these. */
const FLAGS = [
  'LitigationHoldEnabled',
  'ComplianceTagHoldApplied',
  'DelayHoldApplied',
  'DelayReleaseHoldApplied',
]
const MAILBOX = [
  'Guid',
  'ExternalDirectoryObjectId',
  'UserPrincipalName',
  'DisplayName',
  'Alias',
  'PrimarySmtpAddress',
  'EmailAddresses',
  'ExchangeGuid',
  'ArchiveGuid',
  'LegacyExchangeDN',
  'InPlaceHolds',
  'GrantSendOnBehalfTo',
  ...FLAGS,
]

export const getExchangeMoveSource = defineM365Function({
  name: 'Get-ExchangeMoveSource',
  description:
    'Reads what a mailbox move needs; run it on the worker of the source and pass its outputs on.',
  parameters: z.strictObject({ Identity: recipientId }),
  result: source,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  run: async (call): Promise<z.infer<typeof source>> => {
    const mailbox = await readMailbox(call, call.params.Identity, MAILBOX)
    const addresses = textsOf(mailbox.EmailAddresses)
    const archive = textOf(mailbox.ArchiveGuid)
    const dn = textOf(mailbox.LegacyExchangeDN)
    const { tenant, signal } = call
    const guid = textOf(mailbox.Guid)
    const ask = (cmdlet: string, select: readonly string[], more: JsonObject = {}) =>
      tenant.exchange.run(cmdlet, { Identity: guid, ...more }, { signal, select })
    const [size] = await ask('Get-MailboxStatistics', SIZES)
    const hasArchive = !isNoGuid(archive)
    const [archived] = hasArchive ? await ask('Get-MailboxStatistics', SIZES, IN_ARCHIVE) : []
    const auxiliary = { User: guid, MailboxLocationType: 'AuxArchive' }
    const further = hasArchive
      ? await tenant.exchange.run('Get-MailboxLocation', auxiliary, { signal })
      : []
    const [organization] = await tenant.exchange.run(
      'Get-OrganizationConfig',
      {},
      { signal, select: ['InPlaceHolds'] },
    )
    const access = await ask('Get-MailboxPermission', ['User', ...RIGHTS])
    const sending = await ask('Get-RecipientPermission', ['Trustee', ...RIGHTS])
    const full = await addressesOfTrustees(call, allowedTo('FullAccess', access, 'User'))
    const as = await addressesOfTrustees(call, allowedTo('SendAs', sending, 'Trustee'))
    const behalf = await addressesOfTrustees(call, textsOf(mailbox.GrantSendOnBehalfTo))
    return {
      UserId: textOf(mailbox.ExternalDirectoryObjectId),
      UserPrincipalName: textOf(mailbox.UserPrincipalName),
      DisplayName: textOf(mailbox.DisplayName),
      Alias: textOf(mailbox.Alias),
      PrimarySmtpAddress: withoutSmtp(textOf(mailbox.PrimarySmtpAddress)),
      EmailAddresses: addresses,
      X500Addresses: x500Of(dn, addresses),
      ExchangeGuid: textOf(mailbox.ExchangeGuid),
      ArchiveGuid: hasArchive ? archive : null,
      LegacyExchangeDN: dn,
      SizeBytes: bytesOf(size?.TotalItemSize),
      ItemCount: typeof size?.ItemCount === 'number' ? size.ItemCount : null,
      Holds: holdsOf(mailbox),
      OrganizationHolds: organizationHoldsOn(mailbox, textsOf(organization?.InPlaceHolds)),
      RecoverableBytes: bytesOf(size?.TotalDeletedItemSize),
      ArchiveSizeBytes: bytesOf(archived?.TotalItemSize),
      AuxiliaryArchives: further.length,
      FullAccess: full.addresses,
      SendAs: as.addresses,
      SendOnBehalf: behalf.addresses,
      LeftOut: [...new Set([...full.leftOut, ...as.leftOut, ...behalf.leftOut])],
    }
  },
})

/** Microsoft wants the LegacyExchangeDN and every x500 address of the source on the target (cross-tenant-mailbox-migration). */
function x500Of(dn: string, addresses: readonly string[]): string[] {
  const all = [`x500:${dn}`, ...addresses.filter((one) => /^x500:/i.test(one))]
  return all.filter((one, at) => all.findIndex((other) => isSameText(one, other)) === at)
}

/** `1.2 GB (1,288,490,189 bytes)`: the thousands separator depends on the server. */
function bytesOf(size: Json | undefined): number | null {
  if (typeof size === 'number') return size
  const digits = /\(([\d\s.,'’]+)bytes\)/i.exec(textOf(size))?.[1]?.replaceAll(/\D/g, '')
  return digits ? Number(digits) : null
}

const SIZES = ['TotalItemSize', 'TotalDeletedItemSize', 'ItemCount']
const IN_ARCHIVE = { Archive: true }

/** `mbx…` holds all mailboxes but those that name it as `-mbx…` (Identify a hold on an Exchange Online mailbox, Microsoft Learn). */
function organizationHoldsOn(mailbox: JsonObject, all: readonly string[]): string[] {
  const idOf = (hold: string) => hold.replace(/^-/, '').replace(/:\d$/, '').toLowerCase()
  const excepted = textsOf(mailbox.InPlaceHolds).filter((hold) => hold.startsWith('-'))
  return all.filter(
    (hold) =>
      /^mbx/i.test(hold) && isHold(hold) && !excepted.some((one) => idOf(one) === idOf(hold)),
  )
}

/** `-mbx…` is an exception from a policy, and `:1` at the end deletes without holding. */
const isHold = (id: string): boolean => !id.startsWith('-') && !id.endsWith(':1')

const holdsOf = (mailbox: JsonObject): string[] => [
  ...FLAGS.filter((flag) => mailbox[flag] === true),
  ...textsOf(mailbox.InPlaceHolds).filter(isHold),
]

const RIGHTS = ['AccessRights', 'IsInherited', 'Deny', 'AccessControlType']

/** Explicit grants to others; the owner's own entry is left out. */
function allowedTo(right: string, entries: readonly JsonObject[], who: string): string[] {
  const isGrant = (entry: JsonObject) =>
    entry.IsInherited !== true &&
    entry.Deny !== true &&
    !isSameText(textOf(entry.AccessControlType), 'Deny') &&
    accessRightsOf(entry).some((one) => isSameText(one, right))
  return entries.filter(isGrant).flatMap((entry) => textOrNull(entry[who]) ?? [])
}
