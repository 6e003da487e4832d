// The mail user to which a mailbox moves: making it, and stamping what Microsoft asks of it (cross-tenant-mailbox-migration, "Prepare
// target user objects"). Both write as little as possible and can be repeated after any failure. New-ExchangeMailUser never takes
// over somebody else's account.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import type { ApiError } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { createOnce } from '../create-once.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { password } from '../entra/entra-user.ts'
import { FunctionRefused, noRecipient } from '../failure.ts'
import { by, never, whenChanged, whenOwn } from '../inverse.ts'
import {
  address,
  isNoGuid,
  isSameText,
  listParameter,
  nameParameter,
  optional,
  proxyAddress,
  recipientId,
  smtpAddress,
} from '../parameters.ts'
import { type ReplicationContext, retryUntilFound, retryWhileTooEarly } from '../replication.ts'
import { GUIDS_STAY, stampedMailbox } from './exchange-mail-user.ts'
import { holdersOf, holderText } from './exchange-name-holders.ts'
import {
  changeRecipient,
  type ExchangeRecipient,
  findRecipient,
  readRecipient,
  runOrNone,
} from './exchange-recipient.ts'

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }
const NAME_CHARS_MAX = 64

const newMailUser = z.strictObject({
  UserPrincipalName: address,
  ExternalEmailAddress: smtpAddress.describe('Address of the mailbox in the source tenant.'),
  PrimarySmtpAddress: smtpAddress.describe('Address in a domain of this tenant.'),
  Alias: nameParameter.max(NAME_CHARS_MAX).regex(/^[^\s@()\\[\]";:<>,]+$/, 'is not an alias'),
  DisplayName: nameParameter.max(256),
  FirstName: optional(nameParameter.max(64)),
  LastName: optional(nameParameter.max(64)),
  Password: password,
  AllowExisting: z
    .boolean()
    .default(false)
    .describe('Use an existing mail user with this UPN even if something else created it.'),
})
type NewMailUser = z.infer<typeof newMailUser>

const madeMailUser = z.object({
  Id: z.string().describe('Object id of the account.'),
  UserPrincipalName: z.string(),
  PrimarySmtpAddress: z.string(),
  ExternalEmailAddress: z.string(),
  Created: z.boolean().describe('False when the mail user already existed.'),
  PasswordSecret: z.string().nullable().describe('Reference of the password in the vault.'),
})

export const newExchangeMailUser = defineM365Function({
  name: 'New-ExchangeMailUser',
  description:
    'Creates an account that is a mail user, in one call: the start of a mailbox move. Returns one that an earlier run created; refuses any created elsewhere. Unconfirmed: whether Exchange takes PrimarySmtpAddress at once; if not, a second write sets it.',
  parameters: newMailUser,
  result: madeMailUser,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  creates: true,
  undo: 'Remove-ExchangeMailUser with the Id.',
  undoneBy: ['Remove-ExchangeMailUser'],
  effectOf: whenOwn((_, { Id, UserPrincipalName, PrimarySmtpAddress }) =>
    by({
      target: UserPrincipalName,
      before: { exists: false },
      run: 'Remove-ExchangeMailUser',
      with: { UserId: Id, UserPrincipalName },
      creates: [Id, UserPrincipalName, PrimarySmtpAddress],
    }),
  ),
  run: async (call: M365Call<NewMailUser>): Promise<z.infer<typeof madeMailUser>> => {
    const { UserPrincipalName: upn, PrimarySmtpAddress, ExternalEmailAddress } = call.params
    const creation = {
      upn,
      password: call.params.Password,
      find: () => findAccount(call, upn),
      create: (secret: string) => create(call, secret),
      madeAt: ({ WhenCreatedUTC }: JsonObject) => textOrNull(WhenCreatedUTC),
      isTaken,
    }
    const made = await createOnce(call, creation).catch(async (error: unknown) => {
      throw await inTheWay(call, error)
    })
    requireOurs(call.params, made.found, made.passwordSecret)
    // Just made: the next server may not know it yet.
    const recipient = await readRecipient({ ...call, isRecent: true }, textOf(made.found.Guid))
    if (!isSameText(recipient.external, ExternalEmailAddress) && recipient.kind === 'MailUser')
      throw new FunctionRefused(
        `"${upn}" exists and points to "${recipient.external}", not to "${ExternalEmailAddress}". Change it first: Set-ExchangeExternalAddress.`,
      )
    // Its page says that New-MailUser ignores PrimarySmtpAddress in the cloud; Microsoft's own script relies on it.
    if (!isSameText(recipient.primary, PrimarySmtpAddress))
      await makePrimaryOnly(call, recipient, PrimarySmtpAddress)
    if (recipient.objectId === '')
      throw new FunctionRefused(
        `Exchange made "${upn}" but does not show its object id yet. Retry the step in a few minutes.`,
      )
    return {
      Id: recipient.objectId,
      UserPrincipalName: upn,
      PrimarySmtpAddress,
      ExternalEmailAddress,
      Created: made.isCreated,
      PasswordSecret: made.passwordSecret,
    }
  },
})

const ACCOUNT = [
  'Guid',
  'UserPrincipalName',
  'RecipientTypeDetails',
  'DisplayName',
  'WhenCreatedUTC',
]

/** Every account, with mail or without. Exchange matches loosely, hence the filter. */
async function findAccount(
  { tenant, signal }: ReplicationContext,
  upn: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-User', { Identity: upn }, { signal, select: ACCOUNT }),
  )
  return found.find((user) => isSameText(textOf(user.UserPrincipalName), upn)) ?? null
}

async function create(call: M365Call<NewMailUser>, secret: string): Promise<JsonObject> {
  const { params, tenant, signal } = call
  const upn = params.UserPrincipalName
  const parameters: JsonObject = {
    // Unique in the tenant, unlike the names of people.
    Name: upn.length <= NAME_CHARS_MAX ? upn : params.Alias,
    DisplayName: params.DisplayName,
    ...(params.FirstName === null ? {} : { FirstName: params.FirstName }),
    ...(params.LastName === null ? {} : { LastName: params.LastName }),
    Alias: params.Alias,
    MicrosoftOnlineServicesID: upn,
    ExternalEmailAddress: params.ExternalEmailAddress,
    PrimarySmtpAddress: params.PrimarySmtpAddress,
    // As plain text: the REST endpoint turns it into a SecureString.
    Password: secret,
  }
  const [made] = await tenant.exchange.run('New-MailUser', parameters, { signal })
  const shown = made ?? (await retryUntilFound(call, () => findAccount(call, upn)))
  if (shown === null) throw noRecipient(upn)
  return { ...shown, RecipientTypeDetails: 'MailUser' }
}

const TAKEN = /already (?:exists|being used|in use|used)|existing identity/i
const isTaken = ({ code, message }: ApiError): boolean =>
  /(?:Exists|AlreadyUsed|InUse)Exception$/i.test(code) || TAKEN.test(message)

/** Says what holds the name, and the remedy that fits it. */
async function inTheWay(call: M365Call<NewMailUser>, error: unknown): Promise<unknown> {
  const isName = error instanceof Error && 'code' in error && isTaken(error as ApiError)
  if (!isName) return error
  const { UserPrincipalName: upn, ExternalEmailAddress, PrimarySmtpAddress, Alias } = call.params
  const holders = await holdersOf(call, [upn, PrimarySmtpAddress, ExternalEmailAddress, Alias])
  const found = holders.map(holderText).join(' ')
  return new FunctionRefused(
    `${error.message} ${found || `Another object has a name or address of "${upn}". A deleted mail user keeps both: remove it for good with Remove-ExchangeMailUser, then retry the step.`}`,
  )
}

function requireOurs(
  { UserPrincipalName: upn, AllowExisting }: NewMailUser,
  found: JsonObject,
  passwordSecret: string | null,
): void {
  const type = textOf(found.RecipientTypeDetails)
  if (isSameText(type, 'User'))
    throw new FunctionRefused(
      `"${upn}" is an account without mail, and Exchange makes no mail user where an account exists. ` +
        'Delete the account for good or rename it, then retry the step.',
    )
  if (passwordSecret !== null || AllowExisting) return
  throw new FunctionRefused(
    `"${upn}" belongs to a ${type || 'recipient'} created elsewhere (${textOf(found.DisplayName)}). ` +
      'If it is the right person, set AllowExisting or mark the step as done; otherwise choose another UPN.',
  )
}

/** Without the external address, which must not stay among the addresses: its domain is not accepted here. */
async function makePrimaryOnly(
  caller: ReplicationContext,
  recipient: ExchangeRecipient,
  primary: string,
): Promise<void> {
  const foreign = [`smtp:${primary}`, `smtp:${recipient.external}`]
  const kept = recipient.addresses.filter((one) => !foreign.some((two) => isSameText(one, two)))
  const EmailAddresses = [`SMTP:${primary}`, ...kept.map(demoted)]
  const write = () => changeRecipient(caller, recipient, { EmailAddresses })
  await retryWhileTooEarly(caller, write, isNotFound)
}

const demoted = (one: string): string => one.replace(/^SMTP:/, 'smtp:')

const target = z.strictObject({
  Identity: recipientId,
  ExchangeGuid: z.guid().describe('Of the source mailbox.'),
  ArchiveGuid: optional(z.guid()).describe('Of the source mailbox, if it has an archive.'),
  X500Addresses: listParameter(proxyAddress.regex(/^x500:/i, 'is not an x500 address')).describe(
    'The LegacyExchangeDN and all x500 addresses of the source mailbox, each with x500: before it.',
  ),
  TargetDeliveryDomain: nameParameter.describe(
    'Domain of this tenant that the migration batch delivers to, such as contoso.mail.onmicrosoft.com.',
  ),
})
type Target = z.infer<typeof target>

const stampedTarget = z.object({
  Identity: z.string(),
  ExchangeGuid: z.string(),
  ArchiveGuid: z.string().nullable(),
  DeliveryAddress: z.string(),
  EmailAddresses: z.array(z.string()),
  Dropped: z
    .array(z.string())
    .describe('Addresses removed because their domains are not accepted here: they block a move.'),
  Changed: z.boolean(),
})

export const setExchangeMoveTarget = defineM365Function({
  name: 'Set-ExchangeMoveTarget',
  description:
    'Prepares a mail user for a mailbox move: GUIDs, all x500 addresses and an address in the delivery domain, in one write, whatever was there before. Run it before assigning an Exchange licence.',
  parameters: target,
  result: stampedTarget,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Remove-ExchangeMailUser; a stamped GUID cannot be taken back.',
  undoneBy: ['Remove-ExchangeMailUser'],
  effectOf: whenChanged((_, { Identity }) => never(Identity, GUIDS_STAY)),
  run: async (call: M365Call<Target>): Promise<z.infer<typeof stampedTarget>> => {
    const { Identity, ExchangeGuid, ArchiveGuid } = call.params
    const recipient = await readRecipient(call, Identity)
    const wanted = await wantedOf(call, recipient)
    const isMoved = recipient.kind === 'Mailbox' && isSameText(recipient.exchangeGuid, ExchangeGuid)
    const isChange = !isMoved && !isStamped(recipient, call.params, wanted.addresses)
    if (isChange) {
      if (recipient.kind === 'Mailbox') throw stampedMailbox(Identity, recipient.exchangeGuid)
      await changeRecipient(call, recipient, {
        ExchangeGuid,
        ...(ArchiveGuid === null ? {} : { ArchiveGuid }),
        // The whole list: on mail users no other form was seen to work over REST.
        EmailAddresses: [...wanted.addresses],
      })
      await requireShown(call, recipient.guid, wanted.addresses)
    }
    return {
      Identity,
      ExchangeGuid,
      ArchiveGuid,
      DeliveryAddress: wanted.delivery,
      EmailAddresses: [...(isMoved ? recipient.addresses : wanted.addresses)],
      Dropped: isChange ? wanted.dropped : [],
      Changed: isChange,
    }
  },
})

interface WantedAddresses {
  readonly addresses: readonly string[]
  readonly dropped: string[]
  readonly delivery: string
}

const domainOf = (proxy: string): string => proxy.slice(proxy.lastIndexOf('@') + 1).toLowerCase()
const isSmtp = (proxy: string): boolean => /^smtp:/i.test(proxy)
const bareOf = (proxy: string): string => proxy.replace(/^smtp:/i, '')

async function wantedOf(
  call: M365Call<Target>,
  { addresses, primary, identity }: ExchangeRecipient,
): Promise<WantedAddresses> {
  const { TargetDeliveryDomain, X500Addresses } = call.params
  const delivers = TargetDeliveryDomain.toLowerCase()
  const accepted = await acceptedDomains(call)
  if (!accepted.includes(delivers))
    throw new FunctionRefused(
      `"${TargetDeliveryDomain}" is not an accepted domain of this tenant. Use one of: ${accepted.join(', ')}.`,
    )
  if (!accepted.includes(domainOf(primary)))
    throw new FunctionRefused(
      `The primary address of "${identity}", ${primary}, is not in a domain of this tenant, which blocks the move. Set one first: Set-ExchangePrimaryEmail.`,
    )
  const isForeign = (one: string) => isSmtp(one) && !accepted.includes(domainOf(one))
  const kept = addresses.filter((one) => !isForeign(one))
  const delivery =
    kept.find((one) => isSmtp(one) && domainOf(one) === delivers) ??
    `smtp:${primary.slice(0, primary.lastIndexOf('@'))}@${delivers}`
  const added = [delivery, ...X500Addresses].filter(
    (one) => !kept.some((has) => isSameText(has, one)),
  )
  return {
    addresses: [...kept, ...new Set(added)],
    dropped: addresses.filter(isForeign),
    delivery: bareOf(delivery),
  }
}

async function acceptedDomains({ tenant, signal }: ReplicationContext): Promise<string[]> {
  const select = ['DomainName']
  const found = await tenant.exchange.run('Get-AcceptedDomain', {}, { signal, select })
  return found.map(({ DomainName }) => textOf(DomainName).toLowerCase())
}

const hasAll = (has: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((one) => has.some((other) => isSameText(one, other)))

const isStamped = (
  { exchangeGuid, archiveGuid, addresses }: ExchangeRecipient,
  { ExchangeGuid, ArchiveGuid }: Target,
  wanted: readonly string[],
): boolean =>
  isSameText(exchangeGuid, ExchangeGuid) &&
  (ArchiveGuid === null || isSameText(archiveGuid, ArchiveGuid)) &&
  hasAll(addresses, wanted) &&
  hasAll(wanted, addresses)

async function requireShown(
  caller: ReplicationContext,
  guid: string,
  wanted: readonly string[],
): Promise<void> {
  const shown = await retryUntilFound(caller, async () => {
    const now = await findRecipient(caller, guid)
    return now && hasAll(now.addresses, wanted) && !isNoGuid(now.exchangeGuid) ? now : null
  })
  if (shown) return
  const list = wanted.join(', ')
  throw new FunctionRefused(
    `Exchange accepted the stamp but does not show all of it. Check the mail user in Exchange (${list}), then retry the step.`,
  )
}
