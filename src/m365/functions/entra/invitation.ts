// An invitation as Graph takes it, for somebody new and for a user of the tenant: the same parameters and the same request.
import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { address, optional } from '../parameters.ts'
import type { ReplicationContext } from '../replication.ts'

const MESSAGE_CHARS_MAX = 10_000

/** How somebody is invited. */
export const invitationParameters = {
  InviteRedirectUrl: z.url({ protocol: /^https$/ }).default('https://myapps.microsoft.com'),
  SendInvitationMessage: z.boolean().default(true),
  CustomizedMessageBody: optional(z.string().max(MESSAGE_CHARS_MAX)),
  InvitedUserType: z.enum(['Guest', 'Member']).default('Guest'),
}

const invitation = z.object({ InvitedUserEmailAddress: address, ...invitationParameters })

/** Sends it, with what else is known of the person, and returns the invitation. */
export async function sendInvitation(
  { tenant, signal }: ReplicationContext,
  params: z.infer<typeof invitation>,
  more: JsonObject,
): Promise<JsonObject> {
  const { CustomizedMessageBody: text } = params
  const { body } = await tenant.graph.call({
    method: 'POST',
    path: '/invitations',
    body: {
      invitedUserEmailAddress: params.InvitedUserEmailAddress,
      inviteRedirectUrl: params.InviteRedirectUrl,
      sendInvitationMessage: params.SendInvitationMessage,
      invitedUserType: params.InvitedUserType,
      ...more,
      ...(text === null ? {} : { invitedUserMessageInfo: { customizedMessageBody: text } }),
    },
    signal,
  })
  return body as JsonObject
}
