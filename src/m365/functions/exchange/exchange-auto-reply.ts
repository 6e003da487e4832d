// Automatic replies of a mailbox. Exchange wraps a text in HTML (Set-MailboxAutoReplyConfiguration), so texts are compared without that.

import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { IF_STILL, type LedgerEffect } from '../../../domain/state/effects.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { by, type Fields, whenChanged } from '../inverse.ts'
import { isSameText, optional, recipientId } from '../parameters.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import { readMailbox } from './exchange-mailbox.ts'

const MESSAGE_CHARS_MAX = 30_000
const message = z.string().max(MESSAGE_CHARS_MAX)
const instant = z.iso.datetime({ offset: true })

const parameters = z
  .strictObject({
    Identity: recipientId.describe('Address, id or alias of the mailbox.'),
    State: z.enum(['Enabled', 'Scheduled', 'Disabled']).default('Enabled'),
    InternalMessage: optional(message).describe('Text or HTML; what is not given stays.'),
    ExternalMessage: optional(message).describe(
      'For senders outside; the InternalMessage if missing.',
    ),
    ExternalAudience: z.enum(['All', 'Known', 'None']).default('All'),
    StartTime: optional(instant).describe('For Scheduled, such as 2030-03-01T18:00:00Z.'),
    EndTime: optional(instant),
    IfStill: ifStill,
  })
  .refine(({ State, InternalMessage }) => State === 'Disabled' || InternalMessage !== null, {
    error: 'needs a text unless State is Disabled',
    path: ['InternalMessage'],
  })
  .refine(({ State, StartTime, EndTime }) => State !== 'Scheduled' || (StartTime && EndTime), {
    error: 'and EndTime are needed when State is Scheduled',
    path: ['StartTime'],
  })
type AutoReply = z.infer<typeof parameters>

const replied = z.object({
  Identity: z.string(),
  State: z.string(),
  PreviousState: z.string(),
  PreviousInternalMessage: z.string(),
  PreviousExternalMessage: z.string(),
  PreviousExternalAudience: z.string(),
  PreviousStartTime: z.string().nullable().describe('Of a schedule, in UTC.'),
  PreviousEndTime: z.string().nullable(),
  Changed: z.boolean(),
})

const CONFIGURATION = [
  'AutoReplyState',
  'InternalMessage',
  'ExternalMessage',
  'ExternalAudience',
  'StartTime',
  'EndTime',
]

/** What is to be, by the names of the cmdlet. */
function wantedOf({ params }: M365Call<AutoReply>): JsonObject {
  const { State, InternalMessage, ExternalAudience, StartTime, EndTime } = params
  const ExternalMessage = params.ExternalMessage ?? InternalMessage
  // Switched off, it keeps its texts unless others are given.
  if (State === 'Disabled')
    return {
      AutoReplyState: State,
      ...(InternalMessage === null ? {} : { InternalMessage, ExternalMessage }),
    }
  const times = State === 'Scheduled' ? { StartTime, EndTime } : {}
  return { AutoReplyState: State, InternalMessage, ExternalMessage, ExternalAudience, ...times }
}

const plain = (text: string): string => text.replaceAll(/<\/?(?:html|head|body)[^>]*>/gi, '').trim()

/** A time without a zone is UTC. */
const timeOf = (text: string): number =>
  Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`)

function instantOf(shown: Json | undefined): string | null {
  const at = timeOf(textOf(shown))
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

const nowOf = (shown: JsonObject): JsonObject => ({
  State: textOf(shown.AutoReplyState),
  InternalMessage: textOf(shown.InternalMessage),
})
const isSameReply = (one: Json, other: Json): boolean =>
  isSameText(plain(textOf(one)), plain(textOf(other)))

function isSet(name: string, wanted: string, shown: string): boolean {
  if (name.endsWith('Message')) return plain(wanted) === plain(shown)
  if (name.endsWith('Time')) return timeOf(wanted) === timeOf(shown)
  return isSameText(wanted, shown)
}

function autoReply({ InternalMessage }: Fields, result: Fields): LedgerEffect {
  const { Identity, State, PreviousState, PreviousInternalMessage: text } = result
  const still = { State, ...(InternalMessage === null ? {} : { InternalMessage }) }
  const isScheduled = PreviousState === 'Scheduled'
  const texts = {
    InternalMessage: text,
    ExternalMessage: result.PreviousExternalMessage,
    ExternalAudience: result.PreviousExternalAudience || 'All',
    ...(isScheduled && {
      StartTime: result.PreviousStartTime,
      EndTime: result.PreviousEndTime,
    }),
  }
  return by({
    target: Identity,
    before: { State: PreviousState, ...texts },
    run: 'Set-ExchangeAutoReply',
    with: { Identity, State: PreviousState, ...texts, [IF_STILL]: still },
    keeps: text === '' && 'The text stays stored, switched off.',
  })
}

export const setExchangeAutoReply = defineM365Function({
  name: 'Set-ExchangeAutoReply',
  description:
    'Switches the automatic replies of a mailbox on, at once or for a time, or off. Unconfirmed: the zone of the times that Exchange returns; they are read as UTC.',
  parameters,
  result: replied,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Set-ExchangeAutoReply with the values before: PreviousState, PreviousInternalMessage and so on.',
  undoneBy: ['Set-ExchangeAutoReply'],
  effectOf: whenChanged(autoReply),
  run: async (call: M365Call<AutoReply>): Promise<z.infer<typeof replied>> => {
    const { Identity, State } = call.params
    const { tenant, signal } = call
    const guid = textOf((await readMailbox(call, Identity, ['Guid'])).Guid)
    const [shown = {}] = await tenant.exchange.run(
      'Get-MailboxAutoReplyConfiguration',
      { Identity: guid },
      { signal, select: CONFIGURATION },
    )
    const wanted = wantedOf(call)
    const isChange = Object.entries(wanted).some(
      ([name, value]) => !isSet(name, textOf(value), textOf(shown[name])),
    )
    const change = { Identity: guid, ...wanted }
    if (isChange) requireStill(call.params.IfStill, nowOf(shown), Identity, isSameReply)
    if (isChange) await tenant.exchange.run('Set-MailboxAutoReplyConfiguration', change, { signal })
    return {
      Identity,
      State,
      PreviousState: textOf(shown.AutoReplyState),
      PreviousInternalMessage: plain(textOf(shown.InternalMessage)),
      PreviousExternalMessage: plain(textOf(shown.ExternalMessage)),
      PreviousExternalAudience: textOf(shown.ExternalAudience),
      PreviousStartTime: instantOf(shown.StartTime),
      PreviousEndTime: instantOf(shown.EndTime),
      Changed: isChange,
    }
  },
})
