// The HTTP server: size and time limits, headers, error answers, and the routes registered with Fastify. Rules here hold for every
// route; rules of one route stand in that route. Fastify turns off Node's timeouts, so they are set again.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import multipart from '@fastify/multipart'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { type ErrorCode, MatoolkitError } from '../../base/errors/errors.ts'
import type { Log } from '../../base/log/log.ts'
import { type Clock, rateOf } from '../../base/run/clock.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import type { Route, Services } from '../route.ts'
import type { Meter } from '../services/metrics.ts'
import { requireLocalHost } from '../sign-in/local.ts'
import type { ReadPolicy, SignInMethod } from '../sign-in/sign-in.ts'
import { answerRequest } from './answer-request.ts'
import { CONNECTION_LIMITS, Connections } from './connections.ts'
import type { AnswerWithPage } from './dashboard.ts'
import { codedError, problemOf } from './problem.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import type { ReadAudit } from './read-audit.ts'
import { ReadLane } from './read-lane.ts'
import { uploadReader } from './upload.ts'

const JSON_BYTES_MAX = 2 * 1024 * 1024
const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_TIMEOUT_MS = 15_000
/** For JSON bodies. */
const BODY_TIMEOUT_MS = 30_000
/** For a whole request: 50 MB at 1.5 Mbit/s. */
const REQUEST_TIMEOUT_MS = 300_000
const KEEP_ALIVE_MS = 65_000
const TIMEOUT_CHECK_MS = 5_000
const REQUESTS_PER_SOCKET_MAX = 1_000
const PARAM_CHARS_MAX = 256
const REFUSED_TOKENS_PER_MIN = 30

// Browsers and caches must not frame, run, sniff or store API answers. The documentation page allows its style by hash.
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
}

const CORS_METHODS = 'GET, POST, PUT, DELETE'
const CORS_REQUEST_HEADERS = 'authorization, content-type, idempotency-key, if-match, last-event-id'
const CORS_ANSWER_HEADERS =
  'etag, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, x-request-id, idempotent-replay, x-matoolkit-time, x-matoolkit-time-rate'

export interface Limits {
  readonly readsPerMin: number
  readonly writesPerMin: number
}

export interface ServerOptions {
  readonly routes: readonly Route[]
  readonly engine: Engine
  readonly clock: Clock
  readonly log: Log
  readonly services: Services
  readonly signIn: SignInMethod
  readonly readPolicy: ReadPolicy
  /** How many proxies in front of the API are trusted to name the caller's address. */
  readonly trustedHops: number
  readonly corsOrigins: readonly string[]
  readonly limits: Limits
  /** Of the database: reads leave some of its connections to changes. */
  readonly poolSize: number
  readonly meter: Meter
  readonly readAudit: ReadAudit
  readonly dashboard: AnswerWithPage
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal
}

/** Shared by all requests. */
export interface ServerContext extends ServerOptions {
  readonly rateLimits: {
    readonly reads: RateLimit
    readonly writes: RateLimit
    readonly refusedTokens: RateLimit
  }
  readonly uploads: ReturnType<typeof uploadReader>
  readonly connections: Connections
  readonly readLane: ReadLane
}

export function buildServer(options: ServerOptions): FastifyInstance {
  const context: ServerContext = {
    ...options,
    rateLimits: {
      reads: createRateLimit(options.limits.readsPerMin),
      writes: createRateLimit(options.limits.writesPerMin),
      refusedTokens: createRateLimit(REFUSED_TOKENS_PER_MIN),
    },
    uploads: uploadReader(),
    connections: connectionsFor(options),
    readLane: new ReadLane(options.engine.db, options.poolSize),
  }
  const server = fastify({
    bodyLimit: JSON_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxRequestsPerSocket: REQUESTS_PER_SOCKET_MAX,
    http: { maxHeaderSize: HEADER_BYTES_MAX, connectionsCheckingInterval: TIMEOUT_CHECK_MS },
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    trustProxy: (_address, hop) => hop < options.trustedHops,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
    clientErrorHandler: refuseUnreadable,
    // Unreadable URLs: Fastify runs no hooks for them.
    frameworkErrors: (error, request, reply) =>
      sendProblem(context, error, request as FastifyRequest, reply.headers(SECURITY_HEADERS)),
  })
  server.server.headersTimeout = HEADERS_TIMEOUT_MS
  context.connections.watch(server.server)
  // Bodies are JSON or a form with a file. Anything else is refused unread.
  server.removeContentTypeParser('text/plain')
  void server.register(multipart, { throwFileSizeLimit: false })
  addHooks(server, context)
  server.setErrorHandler((error, request, reply) => sendProblem(context, error, request, reply))
  server.setNotFoundHandler((request, reply) =>
    options.dashboard(request, reply)
      ? reply
      : sendProblem(context, notFound(context.routes, request), request, reply),
  )
  for (const route of options.routes) register(server, context, route)
  return server
}

/** Behind a proxy every connection comes from its address, and carries requests of many callers. */
function connectionsFor({ trustedHops }: ServerOptions): Connections {
  if (trustedHops === 0) return new Connections()
  return new Connections({
    ...CONNECTION_LIMITS,
    anonymousPerAddress: CONNECTION_LIMITS.anonymous,
    perCaller: CONNECTION_LIMITS.all,
  })
}

const requestIdOf = (header: string | string[] | undefined): string =>
  typeof header === 'string' && /^[\w.-]{8,64}$/.test(header) ? header : randomUUID()

function addHooks(server: FastifyInstance, context: ServerContext): void {
  const { signIn, corsOrigins, meter, clock } = context
  server.addHook('onRequest', async (request, reply) => {
    meter.begin()
    // Not Fastify's onResponse: it never runs for a caller who disconnects early, and the request would stay in flight.
    reply.raw.once('close', () => recordEnd(context, request, reply))
    reply.header('x-request-id', request.id)
    reply.headers(timeHeaders(clock))
    reply.headers(SECURITY_HEADERS)
    reply.headers(corsHeaders(request.headers.origin, corsOrigins))
    if (signIn.mode === 'local') requireLocalHost(request.headers.host)
    const { 'content-encoding': encoding = 'identity' } = request.headers
    if (encoding !== 'identity') throw new MatoolkitError('ENCODING_REFUSED', { encoding })
  })
  server.addHook('preParsing', async (request) => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
    const hasBody = length !== '0' || encoding !== undefined
    if (request.routeOptions.config.isUpload || !hasBody) return
    const received = new AbortController()
    request.raw.once('close', () => received.abort())
    request.raw.once('end', () => received.abort())
    void clock.wait(BODY_TIMEOUT_MS, received.signal).then(() => {
      if (!received.signal.aborted) request.raw.destroy()
    })
  })
  server.decorateRequest('actorId', null)
}

/** A page counts down by this clock, not by the viewer's, and at its rate between two answers. */
const timeHeaders = (clock: Clock) => ({
  'x-matoolkit-time': clock.now().toISOString(),
  'x-matoolkit-time-rate': String(rateOf(clock)),
})

/** CORS headers for a listed origin; none for any other. Credentials are never allowed. */
function corsHeaders(
  origin: string | undefined,
  origins: readonly string[],
): Readonly<Record<string, string>> {
  if (origin === undefined || !origins.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': CORS_METHODS,
    'access-control-allow-headers': CORS_REQUEST_HEADERS,
    'access-control-expose-headers': CORS_ANSWER_HEADERS,
    'access-control-max-age': '600',
    vary: 'origin',
  }
}

/** The status that proxies log when the caller disconnects before the answer. */
const CALLER_GONE = 499

function recordEnd(
  { uploads, meter, log, stopping }: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  uploads.done(request)
  const { id: requestId, method, actorId: actor } = request
  const { path: route = 'none' } = request.routeOptions.config
  const status = reply.raw.writableFinished ? reply.statusCode : CALLER_GONE
  meter.end({ method, route, status, ms: reply.elapsedTime })
  const ms = Math.round(reply.elapsedTime)
  const line = { requestId, method, route, status, ms, actor }
  log.info(line, 'Answered request')
  if (stopping.aborted && meter.inFlight() === 0) {
    setImmediate(() => request.server.server.closeAllConnections())
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** As the route declares it. Logs and metrics use it because it holds no personal values. */
    path?: string
    isUpload?: boolean
  }
  interface FastifyRequest {
    actorId: string | null
  }
}

function register(server: FastifyInstance, context: ServerContext, route: Route): void {
  server.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { path: route.path, isUpload: route.takes === 'upload' },
    ...answerRequest(context, route),
  })
}

/** 405 with the allowed methods when the path exists for another method, else 404. */
function notFound(routes: readonly Route[], request: FastifyRequest): MatoolkitError {
  const path = request.url.split('?')[0]!
  const methods = routes.filter((route) => patternOf(route).test(path)).map(({ method }) => method)
  if (methods.length === 0) return new MatoolkitError('NO_SUCH_ENDPOINT')
  return new MatoolkitError('METHOD_REFUSED', {
    method: request.method,
    allowed: methods.join(', '),
  })
}

const patternOf = ({ path }: Route): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)

function sendProblem(
  { log, corsOrigins }: ServerContext,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const error = codedError(thrown)
  if (error.code === 'METHOD_REFUSED') {
    const isPreflight = request.method === 'OPTIONS'
    if (isPreflight && corsOrigins.includes(request.headers.origin ?? '')) {
      return reply.status(204).send()
    }
    reply.header('allow', String(error.details.allowed))
  }
  // A newer schema is in the log once, not with every request.
  if (error.httpStatus >= 500 && error.code !== 'SCHEMA_NEWER')
    log.error({ err: thrown, requestId: request.id }, error.message)
  if (error.httpStatus === 401) reply.header('www-authenticate', challengeOf(error))
  if (error.code === 'NOT_ALLOWED') {
    reply.header('www-authenticate', 'Bearer realm="matoolkit", error="insufficient_scope"')
  }
  // Do not wait for the rest of an oversized body.
  if (error.httpStatus === 413) reply.header('connection', 'close')
  const retryAfterSec = RETRY_AFTER_SEC[error.code] ?? error.details.seconds
  if (retryAfterSec !== undefined) reply.header('retry-after', String(retryAfterSec))
  return reply
    .status(error.httpStatus)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(JSON.stringify(problemOf(error, request.id)))
}

const RETRY_AFTER_SEC: Partial<Record<MatoolkitError['code'], number>> = {
  TRY_AGAIN: 1,
  CALLER_BUSY: 1,
  RUNBOOKS_BUSY: 5,
  SEARCHES_BUSY: 5,
  UPLOADS_BUSY: 5,
  SIGN_IN_UNAVAILABLE: 30,
}

const challengeOf = ({ code }: MatoolkitError): string =>
  `Bearer realm="matoolkit"${code === 'NOT_SIGNED_IN' ? '' : ', error="invalid_token"'}`

const NODE_CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TOO_SLOW',
}

/** Answers a connection that does not speak HTTP, then closes it. */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code = NODE_CODES[error.code ?? ''] ?? 'REQUEST_UNREADABLE'
  const refusal = new MatoolkitError(code)
  const body = JSON.stringify(problemOf(refusal, randomUUID()))
  socket.end(
    `HTTP/1.1 ${refusal.httpStatus} ${code}\r\ncontent-type: application/problem+json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
