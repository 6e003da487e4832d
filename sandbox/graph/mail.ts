// Mail sent from a mailbox, and its copy in Sent Items. Of queries on Sent Items the sandbox knows one: by the value of an extended property
// (source: "Get singleValueLegacyExtendedProperty"; the value is compared without case).

import { isAddress } from '../addresses.ts'
import { ok, recordEffect, type SandboxCall, type SandboxResponse } from '../call.ts'
import type { Json, JsonObject } from '../json.ts'
import { badRequest, GraphRefusal } from '../refusal.ts'
import type { SentMail } from '../tenant.ts'
import { userOf } from './users.ts'

const RECIPIENTS_MAX = 500
const FILTER =
  /^singleValueExtendedProperties\/any\(ep: ?ep\/id eq '([^']+)' and ep\/value eq '([^']*)'\)$/i

export function sendMail(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  const message = call.body.message as JsonObject | undefined
  const lists = [message?.toRecipients, message?.ccRecipients, message?.bccRecipients]
  const addresses = lists
    .flatMap((list) => (Array.isArray(list) ? (list as (JsonObject | null)[]) : []))
    .map((recipient) => (recipient?.emailAddress as JsonObject | null | undefined)?.address ?? null)
  if (!message || addresses.length === 0 || addresses.length > RECIPIENTS_MAX)
    throw badRequest('At least one recipient is not valid.')
  if (!addresses.every(isAddress)) throw badRequest('At least one recipient is not valid.')
  requireMailbox(call)
  const subject = message.subject ?? null
  recordEffect(
    call,
    'mail sent',
    { id: user.id, name: user.userPrincipalName },
    { to: addresses, subject, ...textOfUnkept(call, message) },
  )
  const { tenant, now } = call
  if (call.body.saveToSentItems !== false)
    tenant.keepSent({
      id: tenant.newId('mail', `${user.id} ${tenant.sentItems.length}`),
      userId: user.id,
      sentDateTime: now.toISOString(),
      to: addresses as string[],
      subject,
      body: (message.body ?? null) as Json,
      properties: propertiesOf(message),
    })
  return { status: 202 }
}

/** Sent Items have a copy of every other mail. */
const textOfUnkept = ({ body }: SandboxCall, message: JsonObject): JsonObject =>
  body.saveToSentItems === false
    ? { text: (message.body as JsonObject | undefined)?.content ?? null }
    : {}

const propertiesOf = ({
  singleValueExtendedProperties: given,
}: JsonObject): SentMail['properties'] =>
  (Array.isArray(given) ? (given as JsonObject[]) : []).map(({ id, value }) => ({
    id: String(id),
    value: String(value),
  }))

function requireMailbox(call: SandboxCall): void {
  if (userOf(call).recipient?.kind === 'mailbox') return
  throw new GraphRefusal(
    404,
    'MailboxNotEnabledForRESTAPI',
    'The mailbox is either inactive, soft-deleted, or is hosted on-premise.',
  )
}

export function listSentItems(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  requireMailbox(call)
  if (call.params.folder!.toLowerCase() !== 'sentitems')
    throw new GraphRefusal(
      404,
      'ErrorItemNotFound',
      'The specified object was not found in the store.',
    )
  const filter = call.url.searchParams.get('$filter')
  const wanted = filter === null ? null : FILTER.exec(filter)
  if (filter !== null && wanted === null)
    throw new GraphRefusal(
      400,
      'ErrorInvalidUrlQueryFilter',
      'The query filter contains one or more invalid nodes.',
    )
  const top = Number(call.url.searchParams.get('$top') ?? 10)
  const found = call.tenant.sentItems
    .filter(({ userId }) => userId === user.id)
    .filter(({ properties }) =>
      wanted === null
        ? true
        : properties.some(
            ({ id, value }) => id === wanted[1] && value.toLowerCase() === wanted[2]!.toLowerCase(),
          ),
    )
  const value = found.slice(0, top).map(({ id, subject, sentDateTime, to, body }) => ({
    id,
    subject,
    sentDateTime,
    body,
    toRecipients: to.map((address) => ({ emailAddress: { address } })),
  }))
  return ok({ value })
}
