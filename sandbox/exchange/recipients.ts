// Mail users and mailboxes. A mail user has its mailbox elsewhere; with a mailbox here it is found by Get-Mailbox only. SMTP
// addresses need an accepted domain and belong to one recipient.
import { isDeepStrictEqual } from 'node:util'
import {
  bareOf,
  domainOf,
  isSameAddress,
  primaryOf,
  typeOf,
  withAddress,
  withoutAddress,
} from '../addresses.ts'
import { recordUserEffect, type SandboxCall, updateMail } from '../call.ts'
import { NO_GUID } from '../identity.ts'
import type { Json, JsonObject } from '../json.ts'
import { CmdletRefusal, GraphRefusal } from '../refusal.ts'
import { softDeletedNamed } from '../soft-deleted.ts'
import type { Recipient, User } from '../state.ts'
import { isVisible, recipientGuidOf } from '../tenant.ts'
import { noObject, type Parameters } from './parameters.ts'

/** The output and warnings of a cmdlet. */
export interface Output {
  readonly items: readonly JsonObject[]
  readonly warnings?: readonly string[]
}

export const NOTHING: Output = { items: [] }

type Kind = Recipient['kind']
export type RecipientUser = User & { recipient: Recipient }

const isRecipient = (user: User, now: Date, kinds: readonly Kind[]): user is RecipientUser =>
  user.recipient !== null && isVisible(user.recipient, now) && kinds.includes(user.recipient.kind)

export function recipientOf(
  call: SandboxCall,
  identity: string,
  ...kinds: readonly Kind[]
): RecipientUser {
  const user = call.tenant.findUser(identity)
  if (user && isRecipient(user, call.now, kinds)) return user
  throw noObject(call, identity)
}

const typeDetailsOf = ({ userType, recipient }: RecipientUser): string =>
  recipient.kind === 'mailbox'
    ? recipient.isShared
      ? 'SharedMailbox'
      : 'UserMailbox'
    : userType === 'Guest'
      ? 'GuestMailUser'
      : 'MailUser'

/** A recipient as cmdlets show it, with Exchange's type annotations. */
export function cmdletRecipient(user: RecipientUser): JsonObject {
  const { recipient } = user
  const external = recipient.externalEmailAddress
  const forwarding = recipient.forwardingSmtpAddress
  return {
    Identity: user.mailNickname,
    Name: user.mailNickname,
    Alias: user.mailNickname,
    DisplayName: user.displayName,
    'Guid@odata.type': '#Guid',
    Guid: recipientGuidOf(user),
    ExternalDirectoryObjectId: user.id,
    UserPrincipalName: user.userPrincipalName,
    WindowsLiveID: user.userPrincipalName,
    PrimarySmtpAddress: primaryOf(user.proxyAddresses) ?? '',
    WindowsEmailAddress: primaryOf(user.proxyAddresses) ?? '',
    'EmailAddresses@odata.type': '#Collection(String)',
    EmailAddresses: [...user.proxyAddresses],
    ExternalEmailAddress: external === null ? null : `SMTP:${external}`,
    'ExchangeGuid@odata.type': '#Guid',
    ExchangeGuid: recipient.exchangeGuid ?? NO_GUID,
    'ArchiveGuid@odata.type': '#Guid',
    ArchiveGuid: recipient.archiveGuid ?? NO_GUID,
    LegacyExchangeDN: recipient.legacyExchangeDn,
    RecipientType: recipient.kind === 'mailbox' ? 'UserMailbox' : 'MailUser',
    RecipientTypeDetails: typeDetailsOf(user),
    IsDirSynced: user.attributes.onPremisesSyncEnabled === true,
    HiddenFromAddressListsEnabled: recipient.isHidden,
    ForwardingSmtpAddress: forwarding === null ? null : `smtp:${forwarding}`,
    ForwardingAddress: recipient.forwardingAddress,
    DeliverToMailboxAndForward: recipient.deliverToMailboxAndForward,
    LitigationHoldEnabled: recipient.isOnLitigationHold,
    DelayReleaseHoldApplied: recipient.hasDelayReleaseHold,
    InPlaceHolds: [...recipient.inPlaceHolds],
    GrantSendOnBehalfTo: [...recipient.sendOnBehalf],
  }
}

/** One recipient by name, or all of them. */
export function getRecipients(
  call: SandboxCall,
  parameters: Parameters,
  ...kinds: readonly Kind[]
): Output {
  const identity = parameters.text('Identity')
  if (identity !== null) return { items: [cmdletRecipient(recipientOf(call, identity, ...kinds))] }
  const users = call.tenant.users()
  const found = users.filter((user): user is RecipientUser => isRecipient(user, call.now, kinds))
  return { items: found.map(cmdletRecipient) }
}

export function getUsers(call: SandboxCall, parameters: Parameters): Output {
  const identity = parameters.text('Identity')
  const shown = (user: User): JsonObject => ({
    Identity: user.mailNickname,
    UserPrincipalName: user.userPrincipalName,
    DisplayName: user.displayName,
    ExternalDirectoryObjectId: user.id,
    WhenCreatedUTC: user.createdDateTime,
    RecipientType: user.recipient === null ? 'User' : recipientTypeOf(user),
    Guid: recipientGuidOf(user),
    RecipientTypeDetails: user.recipient === null ? 'User' : typeDetailsOf(user as RecipientUser),
    PreviousRecipientTypeDetails: user.previousMailboxGuid === null ? 'None' : 'UserMailbox',
  })
  if (identity === null) return { items: call.tenant.users().map(shown) }
  const user = call.tenant.findUser(identity)
  if (!user || !isVisible(user, call.now)) throw noObject(call, identity)
  return { items: [shown(user)] }
}

const recipientTypeOf = (user: User): Json =>
  user.recipient?.kind === 'mailbox' ? 'UserMailbox' : 'MailUser'

/** Clears the former mailbox permanently. */
export function setUser(call: SandboxCall, parameters: Parameters): Output {
  const identity = parameters.required('Identity')
  const user = call.tenant.findUser(identity)
  if (!user || !isVisible(user, call.now)) throw noObject(call, identity)
  if (!parameters.flag('PermanentlyClearPreviousMailboxInfo') || user.previousMailboxGuid === null)
    return unchanged(user)
  call.tenant.change(user, { previousMailboxGuid: null })
  recordUserEffect(call, 'previous mailbox cleared', user)
  updateMail(call, user)
  return NOTHING
}

const unchanged = (user: User): Output => ({
  items: [],
  warnings: [
    `The command completed successfully but no settings of '${user.mailNickname}' have been modified.`,
  ],
})

export function setMailUser(call: SandboxCall, parameters: Parameters): Output {
  if (parameters.flag('ExcludeFromAllOrgHolds')) {
    const [kept] = softDeletedNamed(call.tenant, parameters.required('Identity'))
    if (!kept) throw noObject(call, parameters.required('Identity'))
    kept.isExcludedFromHolds = true
    return NOTHING
  }
  const user = recipientOf(call, parameters.required('Identity'), 'mailUser')
  const exchangeGuid = parameters.guid('ExchangeGuid')
  const archiveGuid = parameters.guid('ArchiveGuid')
  requireGuidFree(call, exchangeGuid)
  const external = parameters.address('ExternalEmailAddress')
  let proxies = addressesAfter(call, user, parameters)
  if (external !== null) proxies = proxiesWithExternal(user, proxies, external)
  const recipient = {
    ...user.recipient,
    ...(exchangeGuid === null ? {} : { exchangeGuid }),
    ...(archiveGuid === null ? {} : { archiveGuid }),
    ...(external === null ? {} : { externalEmailAddress: external }),
    ...(parameters.flag('EnableLitigationHoldForMigration') ? { isOnLitigationHold: true } : {}),
    ...hiddenChange(parameters),
  }
  return write(call, user, 'mail user changed', recipient, proxies)
}

/** A GUID of a deleted mail user cannot be stamped on another one. */
function requireGuidFree({ tenant }: SandboxCall, guid: string | null): void {
  const holder = tenant.state.softDeletedMailUsers.find(
    ({ exchangeGuid }) => exchangeGuid !== null && exchangeGuid === guid,
  )
  if (!holder) return
  throw new CmdletRefusal(
    400,
    'Microsoft.Exchange.Management.Tasks.RecipientTaskException',
    `The ExchangeGuid ${guid} is already used by the deleted mail user "${holder.mailNickname}".`,
  )
}

/**
 * Removes the old external address. If it was the primary address, or there was none, the new one becomes primary; an address
 * of this tenant stays primary.
 */
function proxiesWithExternal(user: RecipientUser, proxies: string[], external: string): string[] {
  const before = user.recipient.externalEmailAddress
  const primary = primaryOf(proxies)
  const wasPrimary = primary === null || (before !== null && isSameAddress(primary, before))
  const kept = before === null ? proxies : withoutAddress(proxies, `smtp:${before}`)
  return wasPrimary ? withAddress(kept, `SMTP:${external}`) : kept
}

export function setMailbox(call: SandboxCall, parameters: Parameters): Output {
  const user = recipientOf(call, parameters.required('Identity'), 'mailbox')
  const forwarding = parameters.address('ForwardingSmtpAddress')
  const recipient = {
    ...user.recipient,
    ...(parameters.has('ForwardingSmtpAddress') ? { forwardingSmtpAddress: forwarding } : {}),
    ...(parameters.has('LitigationHoldEnabled')
      ? { isOnLitigationHold: parameters.flag('LitigationHoldEnabled') }
      : {}),
    ...(parameters.has('ForwardingAddress')
      ? { forwardingAddress: parameters.text('ForwardingAddress') }
      : {}),
    ...(parameters.has('DeliverToMailboxAndForward')
      ? { deliverToMailboxAndForward: parameters.flag('DeliverToMailboxAndForward') }
      : {}),
    ...hiddenChange(parameters),
    ...onBehalfChange(call, user, parameters),
    ...(parameters.has('Type')
      ? { isShared: isSameAddress(parameters.required('Type'), 'Shared') }
      : {}),
  }
  const proxies = addressesAfter(call, user, parameters)
  return write(call, user, 'mailbox changed', recipient, proxies)
}

/** Shown by name, as Exchange does. */
function onBehalfChange(
  call: SandboxCall,
  { recipient }: RecipientUser,
  parameters: Parameters,
): Partial<Recipient> {
  if (!parameters.has('GrantSendOnBehalfTo')) return {}
  const nameOf = (one: string) => recipientOf(call, one, 'mailUser', 'mailbox').mailNickname
  const { whole, add, remove } = parameters.listChange('GrantSendOnBehalfTo')
  if (whole) return { sendOnBehalf: whole.map(nameOf) }
  const gone = remove.map(nameOf)
  const kept = recipient.sendOnBehalf.filter((name) => !gone.includes(name))
  return { sendOnBehalf: [...new Set([...kept, ...add.map(nameOf)])] }
}

const hiddenChange = (parameters: Parameters): Partial<Recipient> =>
  parameters.has('HiddenFromAddressListsEnabled')
    ? { isHidden: parameters.flag('HiddenFromAddressListsEnabled') }
    : {}

function addressesAfter(call: SandboxCall, user: RecipientUser, parameters: Parameters): string[] {
  if (!parameters.has('EmailAddresses')) return [...user.proxyAddresses]
  const after = parameters.addresses('EmailAddresses', user.proxyAddresses)
  const before = new Set(user.proxyAddresses.map((proxy) => proxy.toLowerCase()))
  const foreign = after.find(
    (proxy) =>
      typeOf(proxy) === 'smtp' &&
      !before.has(proxy.toLowerCase()) &&
      !call.tenant.hasDomain(domainOf(bareOf(proxy))),
  )
  if (foreign === undefined) return after
  throw new CmdletRefusal(
    400,
    'Microsoft.Exchange.Configuration.ObjectModel.NotAcceptedDomainException',
    `You can't use the domain because it's not an accepted domain for your organization. Address: ${foreign}`,
  )
}

function write(
  call: SandboxCall,
  user: RecipientUser,
  what: string,
  recipient: Recipient,
  proxyAddresses: string[],
): Output {
  const isSameAsBefore =
    isDeepStrictEqual(recipient, user.recipient) &&
    isDeepStrictEqual(proxyAddresses, user.proxyAddresses)
  if (isSameAsBefore) return unchanged(user)
  try {
    const mail = primaryOf(proxyAddresses) ?? user.mail
    call.tenant.change(user, { recipient, proxyAddresses, mail })
  } catch (error) {
    if (!(error instanceof GraphRefusal)) throw error
    throw proxyInUse(call, proxyAddresses, user)
  }
  const details = { recipient: { ...recipient }, emailAddresses: proxyAddresses }
  recordUserEffect(call, what, user, details)
  return NOTHING
}

function proxyInUse(call: SandboxCall, proxies: readonly string[], user: User): CmdletRefusal {
  const ownerOf = (proxy: string) => call.tenant.ownerOf(proxy)
  const taken = proxies.find((proxy) => (ownerOf(proxy) ?? user.id) !== user.id) ?? ''
  const owner = call.tenant.user(ownerOf(taken) ?? '')?.mailNickname ?? 'another object'
  return new CmdletRefusal(
    400,
    'Microsoft.Exchange.Data.Directory.ProxyAddressExistsException',
    `The proxy address "${taken}" is already being used by the proxy addresses or LegacyExchangeDN of "${owner}". Please choose another proxy address.`,
  )
}
