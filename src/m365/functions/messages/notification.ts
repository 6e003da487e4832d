// Notifies people and systems: a mail from a tenant mailbox, or a post to an allowed webhook. A mail cannot be recalled, and
// Microsoft offers no way to check whether it was sent, so the function is not idempotent: when the outcome is unknown, it
// fails instead of sending twice.

import { z } from 'zod'
import { pathOf } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { never } from '../inverse.ts'
import { address, listParameter, optional } from '../parameters.ts'

const SUBJECT_CHARS_MAX = 255
const BODY_CHARS_MAX = 100_000

const parameters = z
  .strictObject({
    To: optional(listParameter(address)).describe('Recipients of the mail.'),
    From: optional(address).describe('Mailbox that sends the mail.'),
    WebhookUrl: optional(z.url({ protocol: /^https?$/ })).describe(
      'Webhook to post to instead; its host must be listed in MATOOLKIT_WEBHOOK_HOSTS.',
    ),
    Subject: z.string().trim().min(1).max(SUBJECT_CHARS_MAX),
    Body: z.string().max(BODY_CHARS_MAX),
    ContentType: z.enum(['Text', 'HTML']).default('Text'),
    SaveToSentItems: z.boolean().default(true),
  })
  .refine(({ To, From, WebhookUrl }) => (WebhookUrl === null) !== (To === null && From === null), {
    error: 'set either To and From, for a mail, or WebhookUrl',
  })
  .refine(({ To, From }) => (To === null) === (From === null), {
    error: 'a mail needs both To and From',
  })
type Notification = z.infer<typeof parameters>

const result = z.object({
  Channel: z.enum(['mail', 'webhook']),
  Recipients: z.number(),
  Status: z.number().describe('HTTP status of the response.'),
})

export const sendNotification = defineM365Function({
  name: 'Send-Notification',
  description: 'Sends a mail from a mailbox of the tenant, or posts to a webhook.',
  parameters,
  result,
  permissions: { graph: ['Mail.Send'] },
  isIdempotent: false,
  effect: 'tells',
  undo: null,
  effectOf: (params) =>
    never(String(params.WebhookUrl ?? params.To), 'What was sent cannot be recalled.'),
  run: async (call: M365Call<Notification>): Promise<z.infer<typeof result>> => {
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
          toRecipients: to.map((recipient) => ({ emailAddress: { address: recipient } })),
        },
        saveToSentItems: params.SaveToSentItems,
      },
      signal,
    })
    return { Channel: 'mail', Recipients: to.length, Status: status }
  },
})
