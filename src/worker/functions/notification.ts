// Tells people and other systems: a mail from a mailbox of the tenant, or a post to a webhook that the worker's settings allow.
// What was sent cannot be called back, and Microsoft gives no way to ask whether it was, so this is not idempotent: when nobody
// knows, it fails and says so, and is not sent a second time on its own.
import { z } from 'zod'
import { defineFunction, type FunctionCall } from '../catalogue.ts'
import { pathOf } from '../m365/api.ts'
import { address, listParameter, optional } from './parameters.ts'

const SUBJECT_CHARS_MAX = 255
const BODY_CHARS_MAX = 100_000

const parameters = z
  .strictObject({
    To: optional(listParameter(address)).describe('Whom to write a mail.'),
    From: optional(address).describe('The mailbox that sends it.'),
    WebhookUrl: optional(z.url({ protocol: /^https?$/ })).describe(
      'Where to post instead; its host must be among those that the worker may call.',
    ),
    Subject: z.string().trim().min(1).max(SUBJECT_CHARS_MAX),
    Body: z.string().max(BODY_CHARS_MAX),
    ContentType: z.enum(['Text', 'HTML']).default('Text'),
    SaveToSentItems: z.boolean().default(true),
  })
  .refine(({ To, From, WebhookUrl }) => (WebhookUrl === null) !== (To === null && From === null), {
    error: 'give either To and From, for a mail, or WebhookUrl',
  })
  .refine(({ To, From }) => (To === null) === (From === null), {
    error: 'a mail needs both To and From',
  })
type Notification = z.infer<typeof parameters>

const result = z.object({
  Channel: z.enum(['mail', 'webhook']),
  Recipients: z.number(),
  Status: z.number().describe('What the other side answered, as an HTTP status.'),
})

export const sendNotification = defineFunction({
  name: 'Send-Notification',
  description: 'Sends a mail from a mailbox of the tenant, or posts subject and body to a webhook.',
  parameters,
  result,
  permissions: { graph: ['Mail.Send'] },
  isIdempotent: false,
  undo: null,
  run: async (call: FunctionCall<Notification>): Promise<z.infer<typeof result>> => {
    const { params, tenant, signal, jobId } = call
    const { Subject: subject, Body: body, WebhookUrl: url } = params
    if (url !== null) {
      const { status } = await tenant.webhooks.post(url, { subject, body, jobId }, { signal })
      return { Channel: 'webhook', Recipients: 1, Status: status }
    }
    const to = params.To ?? []
    const { status } = await tenant.graph.call({
      method: 'POST',
      path: pathOf`/users/${params.From!}/sendMail`,
      body: {
        message: {
          subject,
          body: { contentType: params.ContentType, content: body },
          toRecipients: to.map((one) => ({ emailAddress: { address: one } })),
        },
        saveToSentItems: params.SaveToSentItems,
      },
      signal,
    })
    return { Channel: 'mail', Recipients: to.length, Status: status }
  },
})
