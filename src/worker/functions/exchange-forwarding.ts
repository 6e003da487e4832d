// Mailbox forwarding. Only mailboxes forward; a mail user has its external address instead (Set-ExchangeExternalAddress).

import { z } from 'zod'
import { defineFunction } from '../catalogue.ts'
import { textOf, textOrNull } from './entra-directory.ts'
import { readMailbox } from './exchange-mailbox.ts'
import { isSameText, orNothing, recipientId, smtpAddress, withoutSmtp } from './parameters.ts'

const forwarding = z.object({
  Identity: z.string(),
  ForwardingSmtpAddress: z.string().nullable(),
  DeliverToMailboxAndForward: z.boolean(),
  PreviousForwardingSmtpAddress: z.string().nullable(),
  PreviousForwardingAddress: z
    .string()
    .nullable()
    .describe(
      'A recipient of this tenant that mail went to; cleared, because Exchange prefers it.',
    ),
  Changed: z.boolean(),
})

export const setExchangeForwarding = defineFunction({
  name: 'Set-ExchangeForwarding',
  description:
    'Starts or stops forwarding the mail of a mailbox to another address. Tenants refuse forwarding to others by default (550 5.7.520): allow it in the outbound spam policy.',
  parameters: z.strictObject({
    Identity: recipientId,
    ForwardingSmtpAddress: orNothing(smtpAddress).describe('Null or empty stops forwarding.'),
    DeliverToMailboxAndForward: z.boolean().default(false).describe('Keep a copy in the mailbox.'),
  }),
  result: forwarding,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
  isIdempotent: true,
  undo: 'Set-ExchangeForwarding with the PreviousForwardingSmtpAddress.',
  run: async (call): Promise<z.infer<typeof forwarding>> => {
    const { Identity, ForwardingSmtpAddress } = call.params
    const isKeeping = ForwardingSmtpAddress !== null && call.params.DeliverToMailboxAndForward
    const mailbox = await readMailbox(call, Identity, FORWARDING)
    const before = textOrNull(withoutSmtp(textOf(mailbox.ForwardingSmtpAddress)))
    // Exchange ignores ForwardingSmtpAddress while this is set (Set-Mailbox).
    const inside = textOrNull(mailbox.ForwardingAddress)
    const isChange =
      inside !== null ||
      !isSameText(before ?? '', ForwardingSmtpAddress ?? '') ||
      (mailbox.DeliverToMailboxAndForward === true) !== isKeeping
    if (isChange) {
      const change = {
        ForwardingSmtpAddress,
        DeliverToMailboxAndForward: isKeeping,
        ...(inside === null ? {} : { ForwardingAddress: null }),
      }
      const parameters = { Identity: textOf(mailbox.Guid), ...change }
      await call.tenant.exchange.run('Set-Mailbox', parameters, { signal: call.signal })
    }
    return {
      Identity,
      ForwardingSmtpAddress,
      DeliverToMailboxAndForward: isKeeping,
      PreviousForwardingSmtpAddress: before,
      PreviousForwardingAddress: inside,
      Changed: isChange,
    }
  },
})

const FORWARDING = [
  ...['Guid', 'ForwardingSmtpAddress', 'ForwardingAddress', 'DeliverToMailboxAndForward'],
]
