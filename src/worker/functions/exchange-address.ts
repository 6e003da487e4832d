// A recipient's mail addresses: secondary, primary, and a mail user's external address. The primary address is set by writing
// the whole list with one `SMTP:` entry, the documented form, and is then read back: Exchange has other ways to choose a
// primary address, and a wrong one loses mail.
import { z } from 'zod'
import { defineFunction, type FunctionCall } from '../catalogue.ts'
import { changeOfList } from '../m365/api.ts'
import {
  changeRecipient,
  type ExchangeRecipient,
  readMailUser,
  readRecipient,
} from './exchange-recipient.ts'
import { FunctionRefused } from './failure.ts'
import { isSameText, proxyAddress, recipientId, smtpAddress, withoutSmtp } from './parameters.ts'
import { type ReplicationContext, retryUntilFound } from './replication.ts'

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }

const withAddress = z.object({
  Identity: z.string(),
  EmailAddress: z.string(),
  Changed: z.boolean(),
})
type WithAddress = z.infer<typeof withAddress>

const KIND = /^[a-z0-9]+:/i
/** As a secondary address: lower-case `smtp:` unless it has another prefix. */
const asSecondary = (address: string): string =>
  KIND.test(address) && !/^smtp:/i.test(address) ? address : `smtp:${withoutSmtp(address)}`

const hasAddress = ({ addresses }: ExchangeRecipient, address: string): boolean =>
  addresses.some((existing) => isSameText(existing, asSecondary(address)))

export const addExchangeSecondaryEmail = defineFunction({
  name: 'Add-ExchangeSecondaryEmail',
  description:
    'Adds a secondary address to a mail user or mailbox: a mail address or a prefixed one such as x500:/o=….',
  parameters: z.strictObject({ Identity: recipientId, EmailAddress: proxyAddress }),
  result: withAddress,
  permissions,
  isIdempotent: true,
  undo: 'Remove-ExchangeSecondaryEmail, if Changed is true.',
  run: async (call): Promise<WithAddress> => {
    const { Identity, EmailAddress } = call.params
    const recipient = await readRecipient(call, Identity)
    const isChange = !hasAddress(recipient, EmailAddress)
    if (isChange) {
      const add = changeOfList({ add: [asSecondary(EmailAddress)] })
      await changeRecipient(call, recipient, { EmailAddresses: add })
    }
    return { Identity, EmailAddress, Changed: isChange }
  },
})

export const removeExchangeSecondaryEmail = defineFunction({
  name: 'Remove-ExchangeSecondaryEmail',
  description:
    'Removes a secondary address from a mail user or mailbox. Refuses the primary address.',
  parameters: z.strictObject({ Identity: recipientId, EmailAddress: proxyAddress }),
  result: withAddress,
  permissions,
  isIdempotent: true,
  undo: 'Add-ExchangeSecondaryEmail, if Changed is true.',
  run: async (call): Promise<WithAddress> => {
    const { Identity, EmailAddress } = call.params
    const recipient = await readRecipient(call, Identity)
    if (isSameText(recipient.primary, withoutSmtp(EmailAddress))) {
      throw new FunctionRefused(
        `"${EmailAddress}" is the primary address of "${Identity}". Set another primary address first: Set-ExchangePrimaryEmail.`,
      )
    }
    const isChange = hasAddress(recipient, EmailAddress)
    if (isChange) {
      const remove = changeOfList({ remove: [asSecondary(EmailAddress)] })
      await changeRecipient(call, recipient, { EmailAddresses: remove })
    }
    return { Identity, EmailAddress, Changed: isChange }
  },
})

const withPrimary = z.object({
  Identity: z.string(),
  PrimaryEmail: z.string(),
  PreviousPrimaryEmail: z.string(),
  Changed: z.boolean(),
})

export const setExchangePrimaryEmail = defineFunction({
  name: 'Set-ExchangePrimaryEmail',
  description: 'Sets the primary address. The former one becomes a secondary address.',
  parameters: z.strictObject({ Identity: recipientId, NewPrimaryEmail: smtpAddress }),
  result: withPrimary,
  permissions,
  isIdempotent: true,
  undo: 'Set-ExchangePrimaryEmail with the PreviousPrimaryEmail.',
  run: async (call): Promise<z.infer<typeof withPrimary>> => {
    const { Identity, NewPrimaryEmail } = call.params
    const recipient = await readRecipient(call, Identity)
    const before = recipient.primary
    const isChange = !isSameText(before, NewPrimaryEmail)
    if (isChange) await makePrimary(call, recipient, NewPrimaryEmail)
    return {
      Identity,
      PrimaryEmail: NewPrimaryEmail,
      PreviousPrimaryEmail: before,
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
): Promise<void> {
  const EmailAddresses = withPrimaryFirst(recipient.addresses, primary)
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

export const setExchangeExternalAddress = defineFunction({
  name: 'Set-ExchangeExternalAddress',
  description: 'Sets the external address of a mail user. Keeps its primary address.',
  parameters: z.strictObject({ Identity: recipientId, ExternalEmailAddress: smtpAddress }),
  result: withExternal,
  permissions,
  isIdempotent: true,
  undo: 'Set-ExchangeExternalAddress with the PreviousExternalEmailAddress.',
  run: async (
    call: FunctionCall<{ Identity: string; ExternalEmailAddress: string }>,
  ): Promise<z.infer<typeof withExternal>> => {
    const { Identity, ExternalEmailAddress } = call.params
    const before = await readMailUser(call, Identity, 'Use Set-ExchangeForwarding instead.')
    const isChange = !isSameText(before.external, ExternalEmailAddress)
    if (isChange) {
      await changeRecipient(call, before, { ExternalEmailAddress })
      const after = await readRecipient(call, before.guid)
      // Exchange may have made the external address the primary one.
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
