// One request from its first header to its answer, the same for every route: who asks and may they, have they asked too much,
// what do they ask, then the handler, then the answer in the shape that the route declares.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteHandler } from 'fastify'
import { insertAudit } from '../db/audit.ts'
import type { KeyedCall } from '../db/idempotency.ts'
import type { Json } from '../domain/json.ts'
import { MatoolkitError } from '../errors.ts'
import { type Actor, NOBODY } from './actor.ts'
import { ManyFaults } from './problem.ts'
import { type ParsedRequest, readRequest } from './read-request.ts'
import type { GivenReply, Route } from './route.ts'
import { type AuditedCaller, runChange, type SentReply, sentOf } from './run-change.ts'
import type { ServerContext } from './server.ts'
import { bearerToken, requireRole } from './sign-in/sign-in.ts'

const KEY = /^[\x21-\x7e]{1,128}$/

export function answerRequest(
  desk: ServerContext,
  route: Route,
): { onRequest: onRequestHookHandler; handler: RouteHandler } {
  const actors = new WeakMap<FastifyRequest, Actor>()
  return {
    // Before the body is read: whoever may not ask sends us nothing.
    onRequest: async (request) => {
      const actor = await whoAsks(desk, route, request)
      actors.set(request, actor)
      request.actorId = actor.id
      const { reads, writes } = desk.budgets
      const budget = route.method === 'GET' ? reads : writes
      budget.spend(actor === NOBODY ? request.ip : actor.id, desk.clock.now())
    },
    handler: async (request, reply) => {
      const form = route.takes === 'upload' ? await desk.uploads.read(request) : undefined
      const read = readRequest(route, request, form)
      await answer(desk, route, read, actors.get(request)!, request, reply)
      return reply
    },
  }
}

async function whoAsks(desk: ServerContext, route: Route, request: FastifyRequest): Promise<Actor> {
  if (route.rule === 'anonymous') return NOBODY
  const { signIn, readPolicy, clock, budgets, log } = desk
  budgets.refused.require(request.ip, clock.now())
  try {
    const token = bearerToken(request.raw.headersDistinct.authorization ?? [])
    const actor = await signIn.whoIs(token)
    await requireAllowed(desk, route, actor, request, readPolicy)
    return actor
  } catch (error) {
    if (error instanceof MatoolkitError && error.code === 'TOKEN_REFUSED') {
      budgets.refused.spend(request.ip, clock.now())
      log.warn(
        { requestId: request.id, from: request.ip, reason: error.details.reason },
        error.message,
      )
    }
    throw error
  }
}

/** Somebody who is known and may not: that is worth a row of the audit. */
async function requireAllowed(
  desk: ServerContext,
  route: Route,
  actor: Actor,
  request: FastifyRequest,
  readPolicy: ServerContext['readPolicy'],
): Promise<void> {
  try {
    requireRole(route.rule, actor, readPolicy)
  } catch (error) {
    const caller = callerOf(desk, actor, request)
    const action = `denied ${route.operation}`
    desk.budgets.writes.spend(actor.id, caller.at)
    await insertAudit(desk.engine.db, { ...caller, action, subject: pathOf(request), reason: null })
    throw error
  }
}

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

async function answer(
  desk: ServerContext,
  route: Route,
  read: ParsedRequest,
  by: Actor,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { engine, services } = desk
  const caller = callerOf(desk, by, request)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const ask = {
    ...read,
    services,
    by,
    now: caller.at,
    ifMatch: ifMatchOf(request),
    lastEventId: lastEventIdOf(request),
    signal: AbortSignal.any([gone.signal, desk.stopping]),
  }
  if (route.action !== null) {
    const keyed = keyedCallOf(route, read, by, request)
    return send(route, await runChange(route, engine, ask, caller, keyed), reply)
  }
  const given = await route.handle({ ...ask, engine })
  // Written before the answer leaves: what was shown and not noted would be a hole in the audit.
  if (route.isPersonal) {
    const after = { query: read.query } as unknown as Json
    const entry = { ...caller, action: `read ${route.operation}`, subject: pathOf(request) }
    await desk.looks.note({ ...entry, reason: null, after })
  }
  if (isStream(given.body)) return sendStream(route, given, given.body, reply)
  send(route, sentOf(route, given), reply)
}

/** One tag, quoted; a list or `*` would say nothing about what the caller saw. */
function ifMatchOf(request: FastifyRequest): string | null {
  const header = request.headers['if-match']
  if (header === undefined) return null
  const tag = /^"([\x21\x23-\x7e]{1,200})"$/.exec(header)?.[1]
  if (tag === undefined) throw badHeader('If-Match', 'must be one tag in quotes, as ETag gave it')
  return tag
}

function lastEventIdOf(request: FastifyRequest): number | null {
  const header = request.headers['last-event-id']
  // Browsers send an empty one when they have had no event yet.
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

function badHeader(name: string, message: string): ManyFaults {
  const details = { count: 1, first: `header ${name} ${message}` }
  return new ManyFaults('REQUEST_INVALID', details, [{ path: `header.${name}`, message }])
}

const isStream = (body: unknown): body is AsyncIterable<string> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

function sendStream(
  { gives }: Route,
  { status, headers = {}, cut }: GivenReply,
  body: AsyncIterable<string>,
  reply: FastifyReply,
): void {
  const stream = Readable.from(body)
  cut?.addEventListener('abort', () => stream.destroy())
  reply.status(status).headers(headers).type(gives!).send(stream)
}

function send({ gives }: Route, sent: SentReply, reply: FastifyReply): void {
  const { status, body, etag, headers } = sent
  if (etag !== null) reply.header('etag', `"${etag}"`)
  reply.status(status).headers(headers)
  if (gives === undefined) reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
  else reply.type(gives).send(body as string)
}
