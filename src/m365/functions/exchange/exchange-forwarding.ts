// Mailbox forwarding. Only mailboxes forward; a mail user has its external address instead (Set-ExchangeExternalAddress). A tenant that
// forbids forwarding to others takes the setting and then bounces every mail with 550 5.7.520, so its policy is read first.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { IF_STILL } from '../../../domain/state/effects.ts'
import { ApiError } from '../../../worker/http/api.ts'
import type { M365Tenant } from '../../client/tenant.ts'
import { defineM365Function } from '../define.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { FunctionRefused } from '../failure.ts'
import { by, whenChanged } from '../inverse.ts'
import { isSameText, orNothing, recipientId, smtpAddress, withoutSmtp } from '../parameters.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import { readMailbox } from './exchange-mailbox.ts'

const forwarding = z.object({
  Identity: z.string(),
  ForwardingSmtpAddress: z.string().nullable(),
  DeliverToMailboxAndForward: z.boolean(),
  PreviousForwardingSmtpAddress: z.string().nullable(),
  PreviousDeliverToMailboxAndForward: z.boolean(),
  PreviousForwardingAddress: z
    .string()
    .nullable()
    .describe(
      'A recipient of this tenant that mail went to; cleared, because Exchange prefers it.',
    ),
  External: z
    .enum(['NotChecked', 'Inside', 'Allowed', 'Unknown'])
    .describe(
      'Whether mail may leave: to an own domain, allowed by a policy, or Unknown where no policy says On or the app may not read them. NotChecked without a change.',
    ),
  Changed: z.boolean(),
})

export const setExchangeForwarding = defineM365Function({
  name: 'Set-ExchangeForwarding',
  description:
    'Starts or stops forwarding the mail of a mailbox. Refuses an outside address if all outbound spam policies forbid it. Where a policy says Automatic, as by default, send a mail to be sure.',
  parameters: z.strictObject({
    Identity: recipientId,
    ForwardingSmtpAddress: orNothing(smtpAddress).describe('Null or empty stops forwarding.'),
    DeliverToMailboxAndForward: z.boolean().default(false).describe('Keep a copy in the mailbox.'),
    IfStill: ifStill,
  }),
  result: forwarding,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Set-ExchangeForwarding with the PreviousForwardingSmtpAddress.',
  undoneBy: ['Set-ExchangeForwarding'],
  effectOf: whenChanged((_, result) => {
    const { Identity, ForwardingSmtpAddress, PreviousForwardingAddress: inside } = result
    const before = {
      ForwardingSmtpAddress: result.PreviousForwardingSmtpAddress,
      DeliverToMailboxAndForward: result.PreviousDeliverToMailboxAndForward,
    }
    return by({
      target: Identity,
      before,
      run: 'Set-ExchangeForwarding',
      with: { Identity, ...before, [IF_STILL]: { ForwardingSmtpAddress } },
      keeps: inside !== null && `Forwarding to the recipient "${inside}" is not set again.`,
    })
  }),
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
    const mustAsk = isChange && ForwardingSmtpAddress !== null
    const External = mustAsk ? await mayLeave(call, ForwardingSmtpAddress) : 'NotChecked'
    if (isChange) {
      requireStill(call.params.IfStill, { ForwardingSmtpAddress: before }, Identity)
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
      PreviousDeliverToMailboxAndForward: mailbox.DeliverToMailboxAndForward === true,
      PreviousForwardingAddress: inside,
      External,
      Changed: isChange,
    }
  },
})

type External = z.infer<typeof forwarding>['External']

/**
 * Automatic means Off in most tenants and On in some older ones; another policy may allow some people (Set-HostedOutboundSpamFilterPolicy).
 * So only Off everywhere is sure.
 */
async function mayLeave(
  { tenant, signal }: { readonly tenant: M365Tenant; readonly signal: AbortSignal },
  address: string,
): Promise<External> {
  const read = async (cmdlet: string): Promise<readonly JsonObject[] | null> => {
    try {
      return await tenant.exchange.run(cmdlet, {}, { signal })
    } catch (error) {
      // The role that sets forwarding need not read policies.
      if (error instanceof ApiError && REFUSED.includes(error.status ?? 0)) return null
      throw error
    }
  }
  const policies = await read('Get-HostedOutboundSpamFilterPolicy')
  const modes = (policies ?? []).map((one) => textOf(one.AutoForwardingMode))
  const isMode = (wanted: string) => (mode: string) => isSameText(mode, wanted)
  if (modes.some(isMode('On'))) return 'Allowed'
  const domains = await read('Get-AcceptedDomain')
  const domain = address.slice(address.lastIndexOf('@') + 1)
  if (domains?.some(({ DomainName }) => isSameText(textOf(DomainName), domain))) return 'Inside'
  if (modes.length === 0 || !modes.every(isMode('Off')) || domains === null) return 'Unknown'
  throw new FunctionRefused(
    `The tenant forbids forwarding to "${address}": every mail would bounce with 550 5.7.520. Allow it first: Set-HostedOutboundSpamFilterPolicy with AutoForwardingMode On, for these people alone or for all.`,
  )
}

const REFUSED = [400, 401, 403]

const FORWARDING = [
  'Guid',
  'ForwardingSmtpAddress',
  'ForwardingAddress',
  'DeliverToMailboxAndForward',
]
