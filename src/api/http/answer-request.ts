// One request from its headers to its answer, the same for every route: authenticate, check role and rate limit, parse, run the
// handler, check the answer against the route's schema.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteHandler } from 'fastify'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import { insertAudit } from '../../db/orders/audit.ts'
import type { KeyedCall } from '../../db/orders/idempotency.ts'
import type { Route, UncheckedAnswer } from '../route.ts'
import {
  type Actor,
  ANONYMOUS,
  bearerToken,
  requireRole,
  type SignedIn,
} from '../sign-in/sign-in.ts'
import { CSV_TYPE, csvListOf, csvText, pageRequest } from './list-csv.ts'
import { FaultyRequest } from './problem.ts'
import { type ParsedRequest, readRequest } from './read-request.ts'
import { type AuditedCaller, checkedAnswer, runChange, type SentAnswer } from './run-change.ts'
import type { ServerContext } from './server.ts'

const KEY = /^[\x21-\x7e]{1,128}$/

export function answerRequest(
  context: ServerContext,
  route: Route,
): { onRequest: onRequestHookHandler; handler: RouteHandler } {
  const callers = new WeakMap<FastifyRequest, SignedIn>()
  return {
    // Before the body is read: a caller without access uploads nothing.
    onRequest: async (request, reply) => {
      const signedIn = await authenticateCaller(context, route, request)
      const { actor } = signedIn
      callers.set(request, signedIn)
      request.actorId = actor.id
      const { reads, writes } = context.rateLimits
      const limit = route.method === 'GET' ? reads : writes
      const caller = actor === ANONYMOUS ? request.ip : actor.id
      const { max, left, seconds } = limit.spend(caller, context.clock.now())
      // A script sees the limit coming: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/06/
      void reply.headers({
        'ratelimit-limit': max,
        'ratelimit-remaining': left,
        'ratelimit-reset': seconds,
      })
    },
    handler: async (request, reply) => {
      const form = route.takes === 'upload' ? await context.uploads.read(request) : undefined
      const read = readRequest(route, request, form)
      const caller = callers.get(request)!
      try {
        await answerParsed(context, route, read, caller, request, reply)
      } catch (error) {
        if (error instanceof MatoolkitError && REFUSALS.includes(error.code))
          await auditRefusal(context, route, caller.actor, request)
        throw error
      }
      return reply
    },
  }
}

async function authenticateCaller(
  context: ServerContext,
  route: Route,
  request: FastifyRequest,
): Promise<SignedIn> {
  if (route.rule === 'anonymous') return { actor: ANONYMOUS, lacks: null, tokenEndsAt: null }
  const newer = context.services.schemaNewer()
  if (newer) throw new MatoolkitError('SCHEMA_NEWER', { ...newer })
  const { signIn, clock, rateLimits, log } = context
  try {
    const token = bearerToken(request.raw.headersDistinct.authorization ?? [])
    const signedIn = await signIn.authenticate(token)
    await requireAllowed(context, route, signedIn, request)
    context.connections.markSignedIn(request.raw.socket, signedIn.actor.id)
    return signedIn
  } catch (error) {
    if (error instanceof MatoolkitError && error.code === 'TOKEN_REFUSED') {
      // Only failing tokens use this budget: 31 of them once locked out everybody behind the same address.
      rateLimits.refusedTokens.spend(request.ip, clock.now())
      log.warn(
        { requestId: request.id, from: request.ip, reason: error.details.reason },
        error.message,
      )
    }
    throw error
  }
}

/** A known caller without scope, listing or role: denied, recorded in the audit, and limited like a change. */
async function requireAllowed(
  context: ServerContext,
  route: Route,
  { actor, lacks }: SignedIn,
  request: FastifyRequest,
): Promise<void> {
  try {
    if (lacks !== null) throw new MatoolkitError('NOT_ALLOWED', { what: lacks })
    requireRole(route.rule, actor, context.readPolicy)
  } catch (error) {
    await auditRefusal(context, route, actor, request)
    throw error
  }
}

async function auditRefusal(
  context: ServerContext,
  route: Route,
  actor: Actor,
  request: FastifyRequest,
): Promise<void> {
  const caller = callerOf(context, actor, request)
  context.rateLimits.writes.spend(actor.id, caller.at)
  const action = `denied ${route.operation}`
  const entry = { ...caller, action, subject: pathOf(request), reason: null }
  await insertAudit(context.engine.db, entry)
}

/** What a handler refuses because of who asks, or how often. */
const REFUSALS: readonly unknown[] = ['NOT_ALLOWED', 'RATE_LIMITED']

const pathOf = (request: FastifyRequest): string => request.url.split('?')[0]!.slice(0, 500)

const callerOf = (
  { clock }: ServerContext,
  actor: Actor,
  request: FastifyRequest,
): AuditedCaller => ({
  at: clock.now(),
  actor: actor.id,
  actorName: actor.name,
  source: request.ip,
  clientApp: actor.clientApp,
  requestId: request.id,
})

async function answerParsed(
  context: ServerContext,
  route: Route,
  read: ParsedRequest,
  { actor: by, tokenEndsAt }: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { engine, services } = context
  const caller = callerOf(context, by, request)
  const disconnected = new AbortController()
  reply.raw.once('close', () => disconnected.abort())
  const routeRequest = {
    ...read,
    services,
    by,
    action: route.action,
    tokenEndsAt,
    now: caller.at,
    accept: request.headers.accept ?? '',
    ifMatch: ifMatchOf(request),
    lastEventId: lastEventIdOf(request),
    signal: AbortSignal.any([disconnected.signal, context.stopping]),
  }
  if (route.action !== null) {
    const keyed = keyedCallOf(route, read, by, request)
    const work = () => runChange(route, engine, routeRequest, caller, keyed)
    return send(route, await (route.isHold ? context.readLane.pausedDuring(work) : work()), reply)
  }
  const list = /\btext\/csv\b/i.test(routeRequest.accept) ? csvListOf(route) : null
  const handled = { ...routeRequest, engine: context.readLane.engineOf(engine) }
  const answer = () => route.handle(list ? pageRequest(handled) : handled)
  const reader = by === ANONYMOUS ? request.ip : by.id
  const answered = await context.readLane.run(reader, answer)
  // Committed before the answer leaves: data that was shown must be in the audit.
  if (route.isPersonal) {
    const via = viaOf(request)
    const after = { query: read.query, ...(via !== null && { via }) } as unknown as Json
    const entry = { ...caller, action: `read ${route.operation}`, subject: pathOf(request) }
    await context.readAudit.record(
      { ...entry, reason: null, after },
      whatIsRead(request, read, via),
    )
  }
  if (list) {
    const headers = { 'content-disposition': `attachment; filename="${list.rows}.csv"` }
    const body = csvText(route, list, handled, answered)
    return sendStream({ gives: CSV_TYPE }, { ...answered, headers }, body, reply)
  }
  if (isStream(answered.body)) return sendStream(route, answered, answered.body, reply)
  send(route, checkedAnswer(route, answered), reply)
}

/** Turning pages reads more of the same. */
const PAGING = ['cursor', 'limit', 'from', 'ids', 'after']

function whatIsRead(request: FastifyRequest, { query }: ParsedRequest, via: string | null): string {
  const selecting = Object.entries(query as object).filter(([name]) => !PAGING.includes(name))
  return JSON.stringify([pathOf(request), selecting, via])
}

/** What the caller says that it is: a tool of an assistant, for example. It grants nothing, and a text that is no such name is dropped. */
function viaOf(request: FastifyRequest): string | null {
  const header = request.headers['x-matoolkit-via']
  return typeof header === 'string' && /^[\w./ -]{1,100}$/.test(header) ? header : null
}

/** One quoted ETag. A list or `*` does not say what the caller saw. */
function ifMatchOf(request: FastifyRequest): string | null {
  const header = request.headers['if-match']
  if (header === undefined) return null
  const tag = /^"([\x21\x23-\x7e]{1,200})"$/.exec(header)?.[1]
  if (tag === undefined)
    throw badHeader('If-Match', 'must be one quoted tag, as the ETag header has it')
  return tag
}

function lastEventIdOf(request: FastifyRequest): number | null {
  const header = request.headers['last-event-id']
  // Browsers send an empty header before their first event.
  if (header === undefined || header === '') return null
  const isId = typeof header === 'string' && /^\d{1,15}$/.test(header)
  if (!isId) throw badHeader('Last-Event-ID', 'must be the id of an event')
  return Number(header)
}

function keyedCallOf(
  { creates, operation }: Route,
  { hash: requestHash }: ParsedRequest,
  { id: actor }: Actor,
  request: FastifyRequest,
): KeyedCall | null {
  const key = request.headers['idempotency-key']
  if (key === undefined || !creates) return null
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw badHeader('Idempotency-Key', 'must be 1 to 128 visible ASCII characters')
  }
  return { actor, key, operation, requestHash }
}

function badHeader(name: string, message: string): FaultyRequest {
  const details = { count: 1, first: `header ${name} ${message}` }
  return new FaultyRequest('REQUEST_INVALID', details, [{ path: `header.${name}`, message }])
}

const isStream = (body: unknown): body is AsyncIterable<string | Uint8Array> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

function sendStream(
  { gives }: Pick<Route, 'gives'>,
  { status, headers = {}, cut }: UncheckedAnswer,
  body: AsyncIterable<string | Uint8Array>,
  reply: FastifyReply,
): void {
  const stream = Readable.from(body)
  cut?.addEventListener('abort', () => stream.destroy())
  reply.status(status).type(gives!).headers(headers).send(stream)
}

function send({ gives }: Route, sent: SentAnswer, reply: FastifyReply): void {
  const { status, body, etag, headers } = sent
  if (etag !== null) reply.header('etag', `"${etag}"`)
  reply.status(status).headers(headers)
  if (gives === undefined) reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
  else reply.type(gives).send(body as string)
}
