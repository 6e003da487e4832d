// A recipient's mail addresses: secondary, primary, and a mail user's external address. The primary address is set by writing
// the whole list with one `SMTP:` entry, the documented form, and is then read back: Exchange has other ways to choose a
// primary address, and a wrong one loses mail.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { IF_STILL } from '../../../domain/state/effects.ts'
import { changeOfList } from '../../client/tenant.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { FunctionRefused } from '../failure.ts'
import { by, listChange, whenChanged } from '../inverse.ts'
import {
  anyList,
  isSameText,
  proxyAddress,
  recipientId,
  smtpAddress,
  withoutSmtp,
} from '../parameters.ts'
import { type ReplicationContext, retryUntilFound } from '../replication.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import {
  changeRecipient,
  type ExchangeRecipient,
  readMailUser,
  readRecipient,
} from './exchange-recipient.ts'

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }

const withAddresses = z.object({
  Identity: z.string(),
  EmailAddress: z.array(z.string()).describe('Those that were changed.'),
  Changed: z.boolean(),
})
type WithAddresses = z.infer<typeof withAddresses>

const KIND = /^[a-z0-9]+:/i
/** As a secondary address: lower-case `smtp:` unless it has another prefix. */
const asSecondary = (address: string): string =>
  KIND.test(address) && !/^smtp:/i.test(address) ? address : `smtp:${withoutSmtp(address)}`

const hasAddress = (addresses: readonly string[], address: string): boolean =>
  addresses.some((existing) => isSameText(existing, asSecondary(address)))

const addressParameters = z.strictObject({
  Identity: recipientId,
  EmailAddress: anyList(proxyAddress).describe(
    'One address or a list; an empty list does nothing.',
  ),
})

export const addExchangeSecondaryEmail = defineM365Function({
  name: 'Add-ExchangeSecondaryEmail',
  answeredTrue: true,
  description:
    'Adds secondary addresses to a mail user or mailbox: mail addresses or prefixed ones such as x500:/o=….',
  parameters: addressParameters,
  result: withAddresses,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Remove-ExchangeSecondaryEmail with the EmailAddress of the result.',
  undoneBy: ['Remove-ExchangeSecondaryEmail'],
  effectOf: listChange('Remove-ExchangeSecondaryEmail', 'EmailAddress', 'Identity'),
  run: async (call): Promise<WithAddresses> => {
    const { Identity, EmailAddress } = call.params
    const recipient = await readRecipient(call, Identity)
    const added = EmailAddress.filter((one) => !hasAddress(recipient.addresses, one))
    await changeAddresses(call, recipient, { add: added.map(asSecondary) })
    return { Identity, EmailAddress: added, Changed: added.length > 0 }
  },
})

export const removeExchangeSecondaryEmail = defineM365Function({
  name: 'Remove-ExchangeSecondaryEmail',
  description:
    'Removes secondary addresses from a mail user or mailbox. Refuses the primary address.',
  parameters: addressParameters,
  result: withAddresses,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Add-ExchangeSecondaryEmail with the EmailAddress of the result.',
  undoneBy: ['Add-ExchangeSecondaryEmail'],
  effectOf: listChange('Add-ExchangeSecondaryEmail', 'EmailAddress', 'Identity'),
  run: async (call): Promise<WithAddresses> => {
    const { Identity, EmailAddress } = call.params
    const recipient = await readRecipient(call, Identity)
    const primary = EmailAddress.find((one) => isSameText(recipient.primary, withoutSmtp(one)))
    if (primary !== undefined) {
      throw new FunctionRefused(
        `"${primary}" is the primary address of "${Identity}". Set another primary address first: Set-ExchangePrimaryEmail.`,
      )
    }
    const removed = EmailAddress.filter((one) => hasAddress(recipient.addresses, one))
    await changeAddresses(call, recipient, { remove: removed.map(asSecondary) })
    return { Identity, EmailAddress: removed, Changed: removed.length > 0 }
  },
})

/** On a mail user the whole list: no other form was seen to work there over REST. On a mailbox only the difference. */
async function changeAddresses(
  caller: ReplicationContext,
  recipient: ExchangeRecipient,
  { add = [], remove = [] }: { readonly add?: string[]; readonly remove?: string[] },
): Promise<void> {
  if (add.length + remove.length === 0) return
  const kept = recipient.addresses.filter((one) => !hasAddress(remove, one))
  const EmailAddresses =
    recipient.kind === 'MailUser'
      ? [...kept, ...add]
      : changeOfList({
          ...(add.length > 0 ? { add } : {}),
          ...(remove.length > 0 ? { remove } : {}),
        })
  await changeRecipient(caller, recipient, { EmailAddresses })
}

const withPrimary = z.object({
  Identity: z.string(),
  PrimaryEmail: z.string(),
  PreviousPrimaryEmail: z.string(),
  Added: z.boolean().describe('The new primary address was no address of the recipient before.'),
  Changed: z.boolean(),
})

export const setExchangePrimaryEmail = defineM365Function({
  name: 'Set-ExchangePrimaryEmail',
  answeredTrue: true,
  description: 'Sets the primary address. The previous one becomes a secondary address.',
  parameters: z.strictObject({
    Identity: recipientId,
    NewPrimaryEmail: smtpAddress,
    DropFormer: z
      .boolean()
      .default(false)
      .describe('Remove the previous primary address instead of keeping it as a secondary one.'),
    IfStill: ifStill,
  }),
  result: withPrimary,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Set-ExchangePrimaryEmail with the PreviousPrimaryEmail.',
  undoneBy: ['Set-ExchangePrimaryEmail'],
  effectOf: whenChanged((_, result) => {
    const { Identity, PrimaryEmail, PreviousPrimaryEmail, Added } = result
    const still = { [IF_STILL]: { PrimaryEmail } }
    return by({
      target: Identity,
      before: { PrimaryEmail: PreviousPrimaryEmail },
      run: 'Set-ExchangePrimaryEmail',
      with: { Identity, NewPrimaryEmail: PreviousPrimaryEmail, DropFormer: Added, ...still },
    })
  }),
  run: async (call): Promise<z.infer<typeof withPrimary>> => {
    const { Identity, NewPrimaryEmail } = call.params
    const recipient = await readRecipient(call, Identity)
    const before = recipient.primary
    const isChange = !isSameText(before, NewPrimaryEmail)
    if (isChange) {
      requireStill(call.params.IfStill, { PrimaryEmail: before }, Identity)
      const former = call.params.DropFormer ? before : null
      await makePrimary(call, recipient, NewPrimaryEmail, former)
    }
    return {
      Identity,
      PrimaryEmail: NewPrimaryEmail,
      PreviousPrimaryEmail: before,
      Added: isChange && !hasAddress(recipient.addresses, NewPrimaryEmail),
      Changed: isChange,
    }
  },
})

/** All addresses, with the primary one in capitals. */
const withPrimaryFirst = (addresses: readonly string[], primary: string): string[] => [
  `SMTP:${primary}`,
  ...addresses.filter((one) => !isSameText(one, `smtp:${primary}`)).map(asSecondary),
]

async function makePrimary(
  caller: ReplicationContext,
  recipient: ExchangeRecipient,
  primary: string,
  dropped: string | null = null,
): Promise<void> {
  const kept = recipient.addresses.filter((one) => !isSameText(one, `smtp:${dropped}`))
  const EmailAddresses = withPrimaryFirst(kept, primary)
  await changeRecipient(caller, recipient, { EmailAddresses })
  const shown = await retryUntilFound(caller, async () => {
    const now = await readRecipient(caller, recipient.guid)
    return isSameText(now.primary, primary) ? now : null
  })
  if (shown === null) {
    throw new FunctionRefused(
      `Exchange accepted "${primary}" for "${recipient.identity}" but does not show it as the primary address. Check the recipient in Exchange, then retry the step.`,
    )
  }
}

const withExternal = z.object({
  Identity: z.string(),
  ExternalEmailAddress: z.string(),
  PreviousExternalEmailAddress: z.string(),
  Changed: z.boolean(),
})

export const setExchangeExternalAddress = defineM365Function({
  name: 'Set-ExchangeExternalAddress',
  answeredTrue: true,
  description: 'Sets the external address of a mail user. Keeps its primary address.',
  parameters: z.strictObject({
    Identity: recipientId,
    ExternalEmailAddress: smtpAddress,
    IfStill: ifStill,
  }),
  result: withExternal,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Set-ExchangeExternalAddress with the PreviousExternalEmailAddress.',
  undoneBy: ['Set-ExchangeExternalAddress'],
  effectOf: whenChanged((_, result) => {
    const { Identity, ExternalEmailAddress, PreviousExternalEmailAddress: before } = result
    return by({
      target: Identity,
      before: { ExternalEmailAddress: before },
      run: 'Set-ExchangeExternalAddress',
      with: { Identity, ExternalEmailAddress: before, [IF_STILL]: { ExternalEmailAddress } },
    })
  }),
  run: async (
    call: M365Call<{
      Identity: string
      ExternalEmailAddress: string
      IfStill?: JsonObject | undefined
    }>,
  ): Promise<z.infer<typeof withExternal>> => {
    const { Identity, ExternalEmailAddress } = call.params
    const before = await readMailUser(call, Identity, 'Use Set-ExchangeForwarding instead.')
    const isChange = !isSameText(before.external, ExternalEmailAddress)
    if (isChange) {
      requireStill(call.params.IfStill, { ExternalEmailAddress: before.external }, Identity)
      // In one write: Exchange would make the external address the primary one, and a failure in between would leave it so.
      const former = `smtp:${before.external}`
      const kept = before.addresses.filter(
        (one) => one.startsWith('SMTP:') || !isSameText(one, former),
      )
      await changeRecipient(call, before, { ExternalEmailAddress, EmailAddresses: kept })
      const after = await readRecipient(call, before.guid)
      if (!isSameText(after.primary, before.primary)) await makePrimary(call, after, before.primary)
    }
    return {
      Identity,
      ExternalEmailAddress,
      PreviousExternalEmailAddress: before.external,
      Changed: isChange,
    }
  },
})
