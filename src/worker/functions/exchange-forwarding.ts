// Mail that arrives in a mailbox and goes on to another address. Only mailboxes forward; a mail user has its external address for
// that (Set-ExchangeExternalAddress).
import { z } from 'zod'
import { defineFunction } from '../catalogue.ts'
import type { JsonObject } from '../m365/api.ts'
import { textOf, textOrNull } from './entra-directory.ts'
import { runOrNone } from './exchange-recipient.ts'
import { FunctionRefused, noRecipient } from './failure.ts'
import { isSameText, orNothing, recipientId, smtpAddress, withoutSmtp } from './parameters.ts'
import { lookAgain, type ReplicationContext } from './replication.ts'

const forwarding = z.object({
  Identity: z.string(),
  ForwardingSmtpAddress: z.string().nullable(),
  DeliverToMailboxAndForward: z.boolean(),
  PreviousForwardingSmtpAddress: z.string().nullable(),
  Changed: z.boolean(),
})

export const setExchangeForwarding = defineFunction({
  name: 'Set-ExchangeForwarding',
  description: 'Sends mail that arrives in a mailbox on to another address, or stops doing so.',
  parameters: z.strictObject({
    Identity: recipientId,
    ForwardingSmtpAddress: orNothing(smtpAddress).describe('Null or empty ends forwarding.'),
    DeliverToMailboxAndForward: z.boolean().default(false).describe('Keep a copy here too.'),
  }),
  result: forwarding,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
  isIdempotent: true,
  undo: 'Set-ExchangeForwarding with the PreviousForwardingSmtpAddress.',
  run: async (call): Promise<z.infer<typeof forwarding>> => {
    const { Identity, ForwardingSmtpAddress } = call.params
    const isKeeping = ForwardingSmtpAddress !== null && call.params.DeliverToMailboxAndForward
    const mailbox = await readMailbox(call, Identity)
    const before = textOrNull(withoutSmtp(textOf(mailbox.ForwardingSmtpAddress)))
    const isChange =
      !isSameText(before ?? '', ForwardingSmtpAddress ?? '') ||
      (mailbox.DeliverToMailboxAndForward === true) !== isKeeping
    if (isChange) {
      const change = { ForwardingSmtpAddress, DeliverToMailboxAndForward: isKeeping }
      const parameters = { Identity: textOf(mailbox.Guid), ...change }
      await call.tenant.exchange.run('Set-Mailbox', parameters, { signal: call.signal })
    }
    return {
      Identity,
      ForwardingSmtpAddress,
      DeliverToMailboxAndForward: isKeeping,
      PreviousForwardingSmtpAddress: before,
      Changed: isChange,
    }
  },
})

const FORWARDING = ['Guid', 'ForwardingSmtpAddress', 'DeliverToMailboxAndForward']

async function readMailbox(caller: ReplicationContext, identity: string): Promise<JsonObject> {
  const { tenant, signal } = caller
  const options = { signal, select: FORWARDING }
  const mailbox = await lookAgain(caller, async () => {
    const found = await runOrNone(() =>
      tenant.exchange.run('Get-Mailbox', { Identity: identity }, options),
    )
    if (found.length > 1)
      throw new FunctionRefused(`"${identity}" names ${found.length} mailboxes.`)
    return found[0] ?? null
  })
  return mailbox ?? Promise.reject(noRecipient(identity))
}
