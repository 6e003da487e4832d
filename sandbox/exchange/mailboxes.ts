// What cmdlets tell about a mailbox besides its addresses: size, holds, and who may use it.

import { isSameAddress } from '../addresses.ts'
import type { SandboxCall } from '../call.ts'
import type { JsonObject } from '../json.ts'
import type { Parameters } from './parameters.ts'
import { type Output, recipientOf } from './recipients.ts'

const GIGABYTE = 1024 ** 3

/** As Exchange writes a size: `1.2 GB (1,288,490,189 bytes)`. */
const sizeText = (bytes: number): string =>
  `${(bytes / GIGABYTE).toFixed(3)} GB (${bytes.toLocaleString('en-US')} bytes)`

const mailboxOf = (call: SandboxCall, parameters: Parameters) =>
  recipientOf(call, parameters.required('Identity'), 'mailbox')

export function getStatistics(call: SandboxCall, parameters: Parameters): Output {
  const { recipient, displayName } = mailboxOf(call, parameters)
  const isArchive = parameters.flag('Archive')
  const TotalItemSize = sizeText(isArchive ? recipient.archiveSizeBytes : recipient.sizeBytes)
  const TotalDeletedItemSize = sizeText(isArchive ? 0 : recipient.recoverableBytes)
  const counts = { ItemCount: recipient.itemCount, DeletedItemCount: 0 }
  return {
    items: [{ DisplayName: displayName, TotalItemSize, TotalDeletedItemSize, ...counts }],
  }
}

/** By MailboxLocationType; the names of a location are not documented. */
export function getLocations(call: SandboxCall, parameters: Parameters): Output {
  const { recipient } = recipientOf(call, parameters.required('User'), 'mailbox')
  const locations = [
    'Primary',
    ...(recipient.archiveGuid === null ? [] : ['MainArchive']),
    ...Array.from({ length: recipient.auxiliaryArchives }, () => 'AuxArchive'),
  ]
  const type = parameters.text('MailboxLocationType')
  const found = locations.filter((one) => type === null || isSameAddress(one, type))
  return { items: found.map((one) => ({ MailboxLocationType: one })) }
}

const SELF = 'NT AUTHORITY\\SELF'

export function getMailboxPermissions(call: SandboxCall, parameters: Parameters): Output {
  const { mailNickname, recipient } = mailboxOf(call, parameters)
  const entry = (User: string, AccessRights: string[]): JsonObject => ({
    Identity: mailNickname,
    User,
    AccessRights,
    IsInherited: false,
    Deny: false,
  })
  const own = entry(SELF, ['FullAccess', 'ReadPermission'])
  return { items: [own, ...recipient.fullAccess.map((user) => entry(user, ['FullAccess']))] }
}

export function getRecipientPermissions(call: SandboxCall, parameters: Parameters): Output {
  const { mailNickname, recipient } = mailboxOf(call, parameters)
  const entry = (Trustee: string): JsonObject => ({
    Identity: mailNickname,
    Trustee,
    AccessControlType: 'Allow',
    AccessRights: ['SendAs'],
    IsInherited: false,
  })
  return { items: [SELF, ...recipient.sendAs].map(entry) }
}
