// Settings of mailboxes that migrations change: visible in address lists or not, shared, with an archive, on litigation hold. Each looks
// first and returns what was there before.

import { z } from 'zod'
import { ApiError } from '../../../worker/http/api.ts'
import { defineM365Function } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { FunctionRefused } from '../failure.ts'
import { by, never, whenChanged } from '../inverse.ts'
import { isNoGuid, recipientId } from '../parameters.ts'
import { readMailbox } from './exchange-mailbox.ts'
import { changeRecipient, readRecipient } from './exchange-recipient.ts'

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }
const mailboxId = recipientId.describe('Address, id or alias of the mailbox.')

const hidden = z.object({ Identity: z.string(), Hidden: z.boolean(), Changed: z.boolean() })

export const setExchangeHiddenFromAddressLists = defineM365Function({
  name: 'Set-ExchangeHiddenFromAddressLists',
  description: 'Hides a mail user or mailbox from address lists, or shows it again.',
  parameters: z.strictObject({
    Identity: recipientId,
    Hidden: z.boolean().default(true).describe('False shows it again.'),
  }),
  result: hidden,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Set-ExchangeHiddenFromAddressLists with the opposite, if Changed is true.',
  undoneBy: ['Set-ExchangeHiddenFromAddressLists'],
  effectOf: whenChanged((_, { Identity, Hidden }) =>
    by({
      target: Identity,
      before: { Hidden: !Hidden },
      run: 'Set-ExchangeHiddenFromAddressLists',
      with: { Identity, Hidden: !Hidden },
    }),
  ),
  run: async (call): Promise<z.infer<typeof hidden>> => {
    const { Identity, Hidden } = call.params
    const { tenant, signal } = call
    const recipient = await readRecipient(call, Identity)
    const select = ['HiddenFromAddressListsEnabled']
    const [shown] = await tenant.exchange.run(
      `Get-${recipient.kind}`,
      { Identity: recipient.guid },
      { signal, select },
    )
    const isChange = (shown?.HiddenFromAddressListsEnabled === true) !== Hidden
    if (isChange) await changeRecipient(call, recipient, { HiddenFromAddressListsEnabled: Hidden })
    return { Identity, Hidden, Changed: isChange }
  },
})

const converted = z.object({
  Identity: z.string(),
  Type: z.string(),
  PreviousType: z.string(),
  Changed: z.boolean(),
})

export const convertExchangeMailboxToShared = defineM365Function({
  name: 'Convert-ExchangeMailboxToShared',
  description:
    'Makes a mailbox a shared one, or a regular one again. Remove the licence only afterwards; above 50 GB, with an archive or on hold it keeps needing one.',
  parameters: z.strictObject({
    Identity: mailboxId,
    Type: z.enum(['Shared', 'Regular']).default('Shared'),
  }),
  result: converted,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Convert-ExchangeMailboxToShared with the PreviousType.',
  undoneBy: ['Convert-ExchangeMailboxToShared'],
  effectOf: whenChanged((_, { Identity, PreviousType }) =>
    by({
      target: Identity,
      before: { Type: PreviousType },
      run: 'Convert-ExchangeMailboxToShared',
      with: { Identity, Type: PreviousType },
    }),
  ),
  run: async (call): Promise<z.infer<typeof converted>> => {
    const { Identity, Type } = call.params
    const mailbox = await readMailbox(call, Identity, ['Guid', 'RecipientTypeDetails'])
    const details = textOf(mailbox.RecipientTypeDetails)
    const before = TYPES[details.toLowerCase()]
    if (before === undefined)
      throw new FunctionRefused(
        `"${Identity}" is a ${details}. Only user and shared mailboxes are converted.`,
      )
    const isChange = before !== Type
    if (isChange) {
      const change = { Identity: textOf(mailbox.Guid), Type }
      await call.tenant.exchange.run('Set-Mailbox', change, { signal: call.signal })
    }
    return { Identity, Type, PreviousType: before, Changed: isChange }
  },
})

const TYPES: Readonly<Record<string, 'Shared' | 'Regular'>> = {
  sharedmailbox: 'Shared',
  usermailbox: 'Regular',
}

const archived = z.object({
  Identity: z.string(),
  ArchiveGuid: z.string().describe('Empty while Exchange has not told it yet.'),
  Changed: z.boolean(),
})

export const enableExchangeArchive = defineM365Function({
  name: 'Enable-ExchangeArchive',
  description: 'Gives a mailbox an archive. Its licence must include one.',
  parameters: z.strictObject({ Identity: mailboxId }),
  result: archived,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'There is none: an archive that is switched off is lost after 30 days.',
  effectOf: whenChanged((_, { Identity }) =>
    never(Identity, 'An archive that is switched off is lost after 30 days.'),
  ),
  run: async (call): Promise<z.infer<typeof archived>> => {
    const { Identity } = call.params
    const { tenant, signal } = call
    const look = async () => {
      const mailbox = await readMailbox(call, Identity, ['Guid', 'ArchiveGuid'])
      const archive = textOf(mailbox.ArchiveGuid)
      return { guid: textOf(mailbox.Guid), archive: isNoGuid(archive) ? '' : archive }
    }
    const { guid, archive } = await look()
    if (archive !== '') return { Identity, ArchiveGuid: archive, Changed: false }
    try {
      const parameters = { Identity: guid, Archive: true, Confirm: false }
      await tenant.exchange.run('Enable-Mailbox', parameters, { signal })
    } catch (error) {
      if (!(error instanceof ApiError && error.isOutcomeUnknown)) throw error
      if ((await look()).archive === '') throw error
    }
    return { Identity, ArchiveGuid: (await look()).archive, Changed: true }
  },
})

const held = z.object({
  Identity: z.string(),
  Enabled: z.boolean(),
  IsMailUser: z
    .boolean()
    .describe('Then it is the hold for migration, which cannot be ended here.'),
  Changed: z.boolean(),
})

export const setExchangeLitigationHold = defineM365Function({
  name: 'Set-ExchangeLitigationHold',
  description:
    'Puts a mailbox on litigation hold or ends the hold: a mailbox on hold cannot move to another tenant. For a mail user it is the hold for migration, which raises the quota of its recoverable items to 100 GB before the move and ends only on the mailbox. Unconfirmed: whether Exchange shows it on a mail user; if not, it is set again.',
  parameters: z.strictObject({
    Identity: recipientId,
    Enabled: z.boolean().default(true).describe('False ends the hold.'),
  }),
  result: held,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Set-ExchangeLitigationHold with the opposite, if Changed is true.',
  undoneBy: ['Set-ExchangeLitigationHold'],
  effectOf: whenChanged((_, { Identity, Enabled, IsMailUser }) =>
    IsMailUser
      ? never(
          Identity,
          'The hold for migration of a mail user ends on the mailbox, after the move.',
        )
      : by({
          target: Identity,
          before: { Enabled: !Enabled },
          run: 'Set-ExchangeLitigationHold',
          with: { Identity, Enabled: !Enabled },
        }),
  ),
  run: async (call): Promise<z.infer<typeof held>> => {
    const { Identity, Enabled } = call.params
    const { tenant, signal } = call
    const recipient = await readRecipient(call, Identity)
    const isMailUser = recipient.kind === 'MailUser'
    if (isMailUser && !Enabled)
      throw new FunctionRefused(
        `"${Identity}" is a mail user. Its hold for migration ends on the mailbox, after the move.`,
      )
    const [shown] = await tenant.exchange.run(
      `Get-${recipient.kind}`,
      { Identity: recipient.guid },
      { signal, select: ['LitigationHoldEnabled'] },
    )
    const isChange = (shown?.LitigationHoldEnabled === true) !== Enabled
    if (isChange)
      await changeRecipient(
        call,
        recipient,
        // Microsoft Learn, cross-tenant mailbox migration: not for hybrid tenants.
        isMailUser
          ? { EnableLitigationHoldForMigration: true }
          : { LitigationHoldEnabled: Enabled },
      )
    return { Identity, Enabled, IsMailUser: isMailUser, Changed: isChange }
  },
})
