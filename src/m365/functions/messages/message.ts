// Sends a message of the runbook to a person, by mail. Graph has no key that makes a mail unique, so each mail carries one of ours as an
// extended property, and the copy in Sent Items shows whether it was sent. The function looks there before it sends, and again after a call
// whose outcome is unknown. A mail that Exchange has accepted and not stored yet can be sent a second time: a second mail is a nuisance, a
// missing one is worse.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { odataText } from '../../client/tenant.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { never } from '../inverse.ts'
import { address, optional } from '../parameters.ts'

const SUBJECT_CHARS_MAX = 255
const BODY_CHARS_MAX = 150_000
const ID_CHARS_MAX = 2_000
/** How long Exchange usually takes to store the copy. */
const STORED_AFTER_MS = 10_000
/** Named by a GUID of our own, as Graph asks for properties that are not its own. */
const KEY_PROPERTY = 'String {5f0c2a36-6a3e-4d0b-9a0e-6d2b1c7f4e19} Name matoolkit-message'

const parameters = z.strictObject({
  MessageId: z
    .string()
    .min(1)
    .max(ID_CHARS_MAX)
    .describe('Names the message; a message of this name is sent once.'),
  Message: z.string().min(1).describe('Name of the message in the runbook.'),
  Language: z.string().min(1).describe('Language of its text.'),
  From: address.describe('Mailbox that sends.'),
  To: address.describe('Address of the person.'),
  Subject: z.string().trim().min(1).max(SUBJECT_CHARS_MAX),
  Body: z.string().min(1).max(BODY_CHARS_MAX),
  ContentType: z.enum(['Text', 'HTML']).default('Text'),
  StartTime: optional(z.iso.datetime()).describe('Start time that the message tells.'),
  CorrectsTime: optional(z.iso.datetime()).describe('Start time that the message takes back.'),
  TellsTime: z.boolean().default(false).describe('A new start time needs a correction.'),
})
type Parameters = z.infer<typeof parameters>

const result = z.object({
  Sent: z.boolean().describe('False when Sent Items had it already.'),
  Message: z.string(),
  Language: z.string(),
})

export const sendMessage = defineM365Function({
  name: 'Send-Message',
  description:
    'Sends a message of the runbook to a person, once; steps with `notify` run it. It changes no tenant, so change windows do not apply.',
  parameters,
  result,
  permissions: { graph: ['Mail.Send', 'Mail.Read'] },
  isIdempotent: true,
  effect: 'tells',
  undo: null,
  effectOf: (params) => never(String(params.To), 'What was sent cannot be recalled.'),
  run: async (call: M365Call<Parameters>): Promise<z.infer<typeof result>> => {
    const { Message, Language } = call.params
    const told = { Message, Language }
    if (await isInSentItems(call)) return { Sent: false, ...told }
    try {
      await send(call)
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isOutcomeUnknown) throw error
      await call.clock.wait(STORED_AFTER_MS, call.signal)
      if (!(await isInSentItems(call))) throw error
    }
    return { Sent: true, ...told }
  },
})

/** Fixed in length, and without the person's address. */
const keyOf = ({ MessageId }: Parameters): string =>
  createHash('sha256').update(MessageId).digest('hex')

async function isInSentItems({ params, tenant, signal }: M365Call<Parameters>): Promise<boolean> {
  const { body } = await tenant.graph.call({
    method: 'GET',
    path: pathOf`/users/${params.From}/mailFolders/sentitems/messages`,
    query: {
      $filter: `singleValueExtendedProperties/Any(ep: ep/id eq ${odataText(KEY_PROPERTY)} and ep/value eq ${odataText(keyOf(params))})`,
      $select: 'id',
      $top: '1',
    },
    signal,
  })
  const found = (body as { value?: unknown } | null)?.value
  return Array.isArray(found) && found.length > 0
}

async function send({ params, tenant, signal }: M365Call<Parameters>): Promise<void> {
  const key = keyOf(params)
  await tenant.graph.call({
    method: 'POST',
    path: pathOf`/users/${params.From}/sendMail`,
    body: {
      message: {
        subject: params.Subject,
        body: { contentType: params.ContentType, content: params.Body },
        toRecipients: [{ emailAddress: { address: params.To } }],
        internetMessageHeaders: [{ name: 'x-matoolkit-message', value: key }],
        singleValueExtendedProperties: [{ id: KEY_PROPERTY, value: key }],
      },
      saveToSentItems: true,
    },
    signal,
  })
}
