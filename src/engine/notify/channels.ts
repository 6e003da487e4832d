// The ways out: a Teams workflow, a mail through Graph, a signed webhook. Where they lead is in the settings only, never in a runbook or in
// member data. Secrets are read at each attempt, so a renewed one counts at once.

import { SignInFault, type TokenRequest, type Tokens } from '../../base/sign-in/token.ts'
import {
  type PeopleMessage,
  plainText,
  subjectOf,
  teamsEnvelope,
} from '../../domain/notifications/message.ts'
import type { Channel, SecretPlace } from '../../domain/notifications/rules.ts'
import { type Delivery, post, undelivered } from './http-post.ts'
import type { MailCertificates } from './mail-certificates.ts'
import { BadSecret, secretAt } from './secret-place.ts'
import { readKey, signedHeaders } from './signature.ts'

export interface SendContext {
  readonly tokens: Tokens
  readonly certificates: MailCertificates
  /** Where Graph is, without a path, and the scope of tokens for it. */
  readonly graph: { readonly url: string; readonly scope: string }
  readonly now: Date
  readonly signal: AbortSignal
}

const HTTP_UNAUTHORIZED = 401
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** https, except on this machine; without a user or a password. */
async function urlAt(place: SecretPlace): Promise<string> {
  const url = URL.parse(await secretAt(place))
  const name = 'variable' in place ? place.variable : place.file
  if (!url) throw new BadSecret(`${name} holds no address`)
  const isAllowed =
    url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.includes(url.hostname))
  if (!isAllowed) throw new BadSecret(`The address in ${name} must begin with https://`)
  if (url.username || url.password)
    throw new BadSecret(`The address in ${name} holds a user or a password`)
  return url.href
}

export async function deliver(
  channel: Channel,
  message: PeopleMessage,
  context: SendContext,
): Promise<Delivery> {
  try {
    if (channel.type === 'teams') return await toTeams(channel, message, context)
    if (channel.type === 'webhook') return await toWebhook(channel, message, context)
    return await toMail(channel, message, context)
  } catch (error) {
    if (error instanceof BadSecret) return undelivered(error.message, false)
    if (error instanceof SignInFault) return undelivered(`Sign-in failed: ${error.message}`, false)
    throw error
  }
}

type Of<Type extends Channel['type']> = Extract<Channel, { type: Type }>

async function toTeams(
  { url, timeZone }: Of<'teams'>,
  message: PeopleMessage,
  { now, signal }: SendContext,
): Promise<Delivery> {
  const body = JSON.stringify(teamsEnvelope(message, timeZone))
  const headers = { 'x-matoolkit-id': message.id }
  return post({ url: await urlAt(url), headers, body, now, signal })
}

async function toWebhook(
  { url, key: place }: Of<'webhook'>,
  { id, number, items, left }: PeopleMessage,
  { now, signal }: SendContext,
): Promise<Delivery> {
  const key = readKey(await secretAt(place))
  if (!key) throw new BadSecret('The key of the webhook is not 24 to 64 bytes in base64')
  const data = { number, items: [...items], left }
  const body = JSON.stringify({ type: 'notification', timestamp: now.toISOString(), data })
  const headers = signedHeaders(key, id, body, now)
  return post({ url: await urlAt(url), headers, body, now, signal })
}

/** Graph cannot tell whether a mail was sent: after a crash in between it goes out again, with the same id in its text and header. */
async function toMail(
  channel: Of<'mail'>,
  message: PeopleMessage,
  { tokens, certificates, graph, now, signal }: SendContext,
): Promise<Delivery> {
  const request = await tokenRequestOf(channel, certificates, graph.scope)
  const content = plainText(message, channel.timeZone)
  const body = JSON.stringify({
    message: {
      subject: subjectOf(message),
      importance: message.items.some(({ state }) => state === 'open') ? 'high' : 'normal',
      body: { contentType: 'Text', content },
      toRecipients: channel.to.map((address) => ({ emailAddress: { address } })),
      internetMessageHeaders: [{ name: 'x-matoolkit-id', value: message.id }],
    },
    saveToSentItems: false,
  })
  const url = `${graph.url}/v1.0/users/${encodeURIComponent(channel.from)}/sendMail`
  const send = (token: string) =>
    post({ url, headers: { authorization: `Bearer ${token}` }, body, now, signal })
  const token = await tokens.get(request)
  const sent = await send(token)
  // A revoked token looks good until it is used.
  const isRefused = !sent.isDelivered && sent.status === HTTP_UNAUTHORIZED
  return isRefused ? send(await tokens.get(request, token)) : sent
}

async function tokenRequestOf(
  { name, app }: Of<'mail'>,
  certificates: MailCertificates,
  scope: string,
): Promise<TokenRequest> {
  if (app === null) return { from: 'machine', clientId: null, scope }
  const { tenantId, clientId } = app
  const signIn = { from: 'entra', tenantId, clientId, scope } as const
  return 'secret' in app
    ? { ...signIn, secret: await secretAt(app.secret) }
    : { ...signIn, certificate: await certificates.of(name, app.certificate) }
}
