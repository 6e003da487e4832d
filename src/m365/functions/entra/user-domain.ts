// Takes a domain away from one person, and gives it back. Three places hold names: the sign-in name belongs to Graph; the addresses of a
// recipient belong to Exchange (Graph: proxyAddresses is read-only); `mail` of an account that is no recipient belongs to Graph. Takes the
// object id only, because the old name finds nobody afterwards.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { IF_STILL } from '../../../domain/state/effects.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import {
  changeRecipient,
  type ExchangeRecipient,
  findRecipient,
  readRecipient,
  textsOf,
} from '../exchange/exchange-recipient.ts'
import { FunctionRefused } from '../failure.ts'
import { by, never, whenChanged } from '../inverse.ts'
import {
  address,
  anyList,
  domainName,
  isSameText,
  objectId,
  optional,
  proxyAddress,
  withoutSmtp,
} from '../parameters.ts'
import { type ReplicationContext, retryUntilFound } from '../replication.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import { changeUser, readUser, textOf, textOrNull } from './entra-directory.ts'

const permissions = {
  graph: ['User.ReadWrite.All'],
  exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'],
}

const domainOf = (name: string): string => name.slice(name.lastIndexOf('@') + 1).toLowerCase()
const inDomain = (name: string, domain: string): boolean => domainOf(name) === domain
const moved = (name: string, domain: string): string =>
  `${name.slice(0, name.lastIndexOf('@'))}@${domain}`
const isSmtp = (proxy: string): boolean => /^smtp:/i.test(proxy)

const stripParameters = z.strictObject({
  UserId: objectId.describe('Object id, as Get-ExchangeMoveSource returns it.'),
  Domain: domainName.describe('To take away.'),
  NewDomain: optional(domainName).describe(
    'For the sign-in name and the primary address; the initial domain of the tenant if missing.',
  ),
})
type Strip = z.infer<typeof stripParameters>

const stripped = z.object({
  UserId: z.string(),
  UserPrincipalName: z.string(),
  PrimarySmtpAddress: z.string().nullable().describe('Null for an account without addresses.'),
  PreviousUserPrincipalName: z.string().nullable().describe('Null when it was not changed.'),
  PreviousPrimarySmtpAddress: z.string().nullable().describe('Null when it was not changed.'),
  PreviousMail: z
    .string()
    .nullable()
    .describe('Of an account that is no recipient; null when it was not changed.'),
  Removed: z.array(z.string()).describe('The addresses that were removed.'),
  Added: z.boolean().describe('The primary address was no address of the person before.'),
  Left: z
    .array(z.string())
    .describe('Names in the domain that no app can remove, such as sip: addresses.'),
  Changed: z.boolean(),
})
type Stripped = z.infer<typeof stripped>

const PERSON = ['id', 'userPrincipalName', 'mail', 'proxyAddresses', 'onPremisesSyncEnabled']

export const removeUserDomain = defineM365Function({
  name: 'Remove-UserDomain',
  description:
    'Takes a domain away from one person: sign-in name, primary address, other addresses and mail move to another domain or go. Get-DomainReferences lists who is left. Unconfirmed: whether Entra drops the old mail of an account that is no recipient; if not, it is among Left.',
  parameters: stripParameters,
  result: stripped,
  permissions,
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Restore-UserDomain with what the result names Previous… and Removed.',
  undoneBy: ['Restore-UserDomain'],
  removes: true,
  effectOf: whenChanged((_, result) => {
    const { UserId, UserPrincipalName, PrimarySmtpAddress, Removed, Added } = result
    const { PreviousUserPrincipalName, PreviousPrimarySmtpAddress, PreviousMail } = result
    const before = {
      UserPrincipalName: PreviousUserPrincipalName,
      PrimarySmtpAddress: PreviousPrimarySmtpAddress,
      Mail: PreviousMail,
    }
    const still = {
      ...(PreviousUserPrincipalName === null ? {} : { UserPrincipalName }),
      ...(PreviousPrimarySmtpAddress === null ? {} : { PrimarySmtpAddress }),
    }
    return by({
      target: UserPrincipalName,
      before: { ...before, EmailAddresses: Removed },
      run: 'Restore-UserDomain',
      with: { UserId, ...before, EmailAddresses: Removed, DropFormer: Added, [IF_STILL]: still },
    })
  }),
  run: async (call: M365Call<Strip>): Promise<Stripped> => {
    const { UserId, Domain } = call.params
    const target = call.params.NewDomain ?? call.tenant.organization.toLowerCase()
    if (target === Domain)
      throw new FunctionRefused(
        `NewDomain is "${Domain}" itself. Give another domain of the tenant as NewDomain.`,
      )
    const user = await readPerson(call, UserId)
    const recipient = await findRecipient(call, UserId)
    if (recipient !== null && inDomain(recipient.external, Domain))
      throw new FunctionRefused(
        `The external address "${recipient.external}" of ${UserId} is in "${Domain}", so mail would go nowhere. Set another one first: Set-ExchangeExternalAddress.`,
      )
    const inGraph = await stripInGraph(call, user, recipient === null, target)
    const inExchange = recipient && (await stripInExchange(call, recipient, target))
    const now = await readPerson(call, UserId)
    const left = textsOf(now.proxyAddresses).filter((one) => inDomain(one, Domain))
    return {
      UserId,
      UserPrincipalName: inGraph.upn,
      PrimarySmtpAddress: inExchange?.primary ?? null,
      PreviousUserPrincipalName: inGraph.previousUpn,
      PreviousPrimarySmtpAddress: inExchange?.previousPrimary ?? null,
      PreviousMail: inGraph.previousMail,
      Removed: inExchange?.removed ?? [],
      Added: inExchange?.isAdded ?? false,
      // Exchange writes to the directory with a delay: what it just removed is gone.
      Left: recipient ? left.filter((one) => !isSmtp(one)) : left,
      Changed: inGraph.isChange || (inExchange?.isChange ?? false),
    }
  },
})

async function readPerson(caller: ReplicationContext, userId: string): Promise<JsonObject> {
  const user = await readUser(caller, userId, PERSON)
  if (user.onPremisesSyncEnabled !== true) return user
  throw new FunctionRefused(
    `"${textOf(user.userPrincipalName)}" is synchronised from Active Directory, which has its names. Change them there.`,
  )
}

async function stripInGraph(
  call: M365Call<Strip>,
  user: JsonObject,
  ownsMail: boolean,
  target: string,
) {
  const { Domain } = call.params
  const before = textOf(user.userPrincipalName)
  const mail = textOf(user.mail)
  const upn = inDomain(before, Domain) ? moved(before, target) : before
  const isNameChange = upn !== before
  const isMailChange = ownsMail && inDomain(mail, Domain)
  const change = {
    ...(isNameChange ? { userPrincipalName: upn } : {}),
    ...(isMailChange ? { mail: moved(mail, target) } : {}),
  }
  const isChange = isNameChange || isMailChange
  if (isChange) await changeUser(call, textOf(user.id), change)
  return {
    upn,
    isChange,
    previousUpn: isNameChange ? before : null,
    previousMail: isMailChange ? mail : null,
  }
}

/** One write of the whole list: a person never has no primary address. Reads it again, because a new sign-in name may be an address too. */
async function stripInExchange(
  call: M365Call<Strip>,
  { guid, primary: before, addresses: had }: ExchangeRecipient,
  target: string,
) {
  const { Domain } = call.params
  const recipient = await readRecipient(call, guid)
  const removed = recipient.addresses.filter((one) => isSmtp(one) && inDomain(one, Domain))
  const primary = inDomain(before, Domain) ? moved(before, target) : before
  const isChange = removed.length > 0
  if (isChange) {
    const kept = recipient.addresses.filter((one) => !removed.includes(one))
    await writeAddresses(call, recipient, kept, primary)
  }
  const previousPrimary = isChange && !isSameText(primary, before) ? before : null
  const isAdded = isChange && !had.some((one) => isSameText(one, `smtp:${primary}`))
  return { primary, previousPrimary, removed: removed.map(withoutSmtp), isChange, isAdded }
}

async function writeAddresses(
  caller: ReplicationContext,
  recipient: ExchangeRecipient,
  addresses: readonly string[],
  primary: string,
): Promise<void> {
  const others = addresses
    .filter((one) => !isSameText(one, `smtp:${primary}`))
    .map((one) => (isSmtp(one) ? `smtp:${withoutSmtp(one)}` : one))
  const EmailAddresses = [`SMTP:${primary}`, ...others]
  await changeRecipient(caller, recipient, { EmailAddresses })
  const isShown = await retryUntilFound(caller, async () => {
    const now = await readRecipient(caller, recipient.guid)
    const hasAll = EmailAddresses.every((one) => now.addresses.some((has) => isSameText(has, one)))
    return hasAll && isSameText(now.primary, primary) ? true : null
  })
  if (isShown === null)
    throw new FunctionRefused(
      `Exchange accepted the addresses of "${recipient.identity}" but does not show "${primary}" as the primary one. Check the recipient in Exchange, then retry the step.`,
    )
}

const restoreParameters = z.strictObject({
  UserId: objectId,
  UserPrincipalName: optional(address).describe('PreviousUserPrincipalName of Remove-UserDomain.'),
  PrimarySmtpAddress: optional(address).describe(
    'PreviousPrimarySmtpAddress of Remove-UserDomain.',
  ),
  Mail: optional(address).describe('PreviousMail of Remove-UserDomain.'),
  EmailAddresses: anyList(proxyAddress).describe('Removed of Remove-UserDomain; may be empty.'),
  DropFormer: z
    .boolean()
    .default(false)
    .describe('Remove the present primary address instead of keeping it as a secondary one.'),
  IfStill: ifStill,
})
type Restore = z.infer<typeof restoreParameters>

const restored = z.object({ UserId: z.string(), Changed: z.boolean() })

export const restoreUserDomain = defineM365Function({
  name: 'Restore-UserDomain',
  description:
    'Gives one person the names back that Remove-UserDomain took away. Leaves what is missing or empty as it is.',
  parameters: restoreParameters,
  result: restored,
  permissions,
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Remove-UserDomain.',
  undoneBy: ['Remove-UserDomain'],
  effectOf: whenChanged((_, { UserId }) =>
    never(UserId, 'Remove-UserDomain takes the domain away again.'),
  ),
  run: async (call: M365Call<Restore>): Promise<z.infer<typeof restored>> => {
    const { UserId } = call.params
    const inGraph = await restoreInGraph(call)
    const inExchange = await restoreInExchange(call)
    return { UserId, Changed: inGraph || inExchange }
  },
})

async function restoreInGraph(call: M365Call<Restore>): Promise<boolean> {
  const { UserId, UserPrincipalName, Mail } = call.params
  const user = await readPerson(call, UserId)
  const differs = (wanted: string | null, name: string): wanted is string =>
    wanted !== null && textOrNull(user[name]) !== wanted
  const change = {
    ...(differs(UserPrincipalName, 'userPrincipalName')
      ? { userPrincipalName: UserPrincipalName }
      : {}),
    ...(differs(Mail, 'mail') ? { mail: Mail } : {}),
  }
  const isChange = Object.keys(change).length > 0
  if (isChange) {
    const { UserPrincipalName: name, Mail: mail } = call.params.IfStill ?? {}
    const now = { UserPrincipalName: textOf(user.userPrincipalName), Mail: textOf(user.mail) }
    const still = {
      ...(change.userPrincipalName && name !== undefined ? { UserPrincipalName: name } : {}),
      ...(change.mail && mail !== undefined ? { Mail: mail } : {}),
    }
    requireStill(still, now, UserId)
    await changeUser(call, UserId, change)
  }
  return isChange
}

async function restoreInExchange(call: M365Call<Restore>): Promise<boolean> {
  const { UserId, EmailAddresses, PrimarySmtpAddress } = call.params
  if (EmailAddresses.length === 0 && PrimarySmtpAddress === null) return false
  const recipient = await readRecipient(call, UserId)
  const wanted = EmailAddresses.map((one) => (isSmtp(one) ? one : `smtp:${one}`))
  const missing = wanted.filter((one) => !recipient.addresses.some((has) => isSameText(has, one)))
  const primary = PrimarySmtpAddress ?? recipient.primary
  const isChange = missing.length > 0 || !isSameText(primary, recipient.primary)
  if (isChange) {
    const { PrimarySmtpAddress: still } = call.params.IfStill ?? {}
    const isOther = !isSameText(primary, recipient.primary)
    if (isOther && still !== undefined)
      requireStill({ PrimarySmtpAddress: still }, { PrimarySmtpAddress: recipient.primary }, UserId)
    const former = isOther && call.params.DropFormer ? `smtp:${recipient.primary}` : ''
    const kept = recipient.addresses.filter((one) => !isSameText(one, former))
    await writeAddresses(call, recipient, [...kept, ...missing], primary)
  }
  return isChange
}
