// The HTTP server: limits, headers, sign-in, and the table of routes put on Fastify. Everything that can be said of one route is
// in that route; what is here holds for all of them. Fastify turns Node's time limits off, so they are set again.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import multipart from '@fastify/multipart'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Engine } from '../engine/engine.ts'
import { type ErrorCode, MatoolkitError } from '../errors.ts'
import type { Log } from '../log.ts'
import { answerRequest } from './answer-request.ts'
import type { Meter } from './metrics.ts'
import { asCoded, problemOf } from './problem.ts'
import { type Budget, budgetOf } from './rate.ts'
import { ReadAudit } from './read-audit.ts'
import type { Route, Services } from './route.ts'
import { corsHeaders, SECURITY_HEADERS } from './security-headers.ts'
import { requireLocalHost } from './sign-in/local.ts'
import type { ReadPolicy, SignInMethod } from './sign-in/sign-in.ts'
import { uploadReader } from './upload.ts'

const JSON_BYTES_MAX = 2 * 1024 * 1024
const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_TIMEOUT_MS = 15_000
/** For a body that is not a file. */
const BODY_TIMEOUT_MS = 30_000
/** Of a whole request: 50 MB over a line of 1.5 Mbit/s. */
const REQUEST_TIMEOUT_MS = 300_000
const KEEP_ALIVE_MS = 65_000
const TIMEOUT_CHECK_MS = 5_000
const REQUESTS_PER_SOCKET_MAX = 1_000
const CONNECTIONS_MAX = 1_000
const PARAM_CHARS_MAX = 256
const REFUSED_TOKENS_PER_MIN = 30

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
  /** How many proxies in front of us may say where a request came from. */
  readonly trustedHops: number
  readonly corsOrigins: readonly string[]
  readonly limits: Limits
  readonly meter: Meter
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal
}

/** What the requests share. */
export interface ServerContext extends ServerOptions {
  readonly budgets: { readonly reads: Budget; readonly writes: Budget; readonly refused: Budget }
  readonly uploads: ReturnType<typeof uploadReader>
  readonly looks: ReadAudit
}

export function buildServer(options: ServerOptions): FastifyInstance {
  const desk: ServerContext = {
    ...options,
    budgets: {
      reads: budgetOf(options.limits.readsPerMin),
      writes: budgetOf(options.limits.writesPerMin),
      refused: budgetOf(REFUSED_TOKENS_PER_MIN),
    },
    uploads: uploadReader(),
    looks: new ReadAudit(options.engine.db),
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
    // Addresses that cannot be read at all: no hook has run for them.
    frameworkErrors: (error, request, reply) =>
      sendProblem(desk, error, request as FastifyRequest, reply.headers(SECURITY_HEADERS)),
  })
  server.server.headersTimeout = HEADERS_TIMEOUT_MS
  server.server.maxConnections = CONNECTIONS_MAX
  // Bodies are JSON, or a form with a file; anything else is refused before it is read.
  server.removeContentTypeParser('text/plain')
  void server.register(multipart, { throwFileSizeLimit: false })
  addHooks(server, desk)
  server.setErrorHandler((error, request, reply) => sendProblem(desk, error, request, reply))
  server.setNotFoundHandler((request, reply) =>
    sendProblem(desk, notFound(desk.routes, request), request, reply),
  )
  for (const route of options.routes) register(server, desk, route)
  return server
}

const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : randomUUID()

function addHooks(server: FastifyInstance, desk: ServerContext): void {
  const { signIn, corsOrigins, meter, clock } = desk
  server.addHook('onRequest', async (request, reply) => {
    meter.begin()
    // Not the hook for answers: a caller who goes away before the answer would hold its place for ever.
    reply.raw.once('close', () => noteEnd(desk, request, reply))
    reply.header('x-request-id', request.id)
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

/** What proxies call a request whose caller did not wait for the answer. */
const CALLER_GONE = 499

function noteEnd(
  { uploads, meter, log, stopping }: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  uploads.done(request)
  const { id: requestId, method, actorId: actor } = request
  const route = request.routeOptions.config.path ?? 'none'
  const status = reply.raw.writableFinished ? reply.statusCode : CALLER_GONE
  meter.end({ method, route, status, ms: reply.elapsedTime })
  const ms = Math.round(reply.elapsedTime)
  log.info({ requestId, method, route, status, ms, actor }, 'A request has ended.')
  if (stopping.aborted && meter.inFlight() === 0) {
    setImmediate(() => request.server.server.closeAllConnections())
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** As the table of routes spells it; what the log and the metrics call it, without anybody's values. */
    path?: string
    isUpload?: boolean
  }
  interface FastifyRequest {
    actorId: string | null
  }
}

function register(server: FastifyInstance, desk: ServerContext, route: Route): void {
  server.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { path: route.path, isUpload: route.takes === 'upload' },
    ...answerRequest(desk, route),
  })
}

/** The path of another method is 405 with what is allowed; anything else 404. Preflights of known origins are let through. */
function notFound(routes: readonly Route[], request: FastifyRequest): MatoolkitError {
  const path = request.url.split('?')[0]!
  const methods = routes.filter((one) => patternOf(one).test(path)).map(({ method }) => method)
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
  const error = asCoded(thrown)
  if (error.code === 'METHOD_REFUSED') {
    const isPreflight = request.method === 'OPTIONS'
    if (isPreflight && corsOrigins.includes(request.headers.origin ?? '')) {
      return reply.status(204).send()
    }
    reply.header('allow', String(error.details.allowed))
  }
  if (error.httpStatus >= 500) log.error({ err: thrown, requestId: request.id }, error.message)
  if (error.httpStatus === 401) reply.header('www-authenticate', challengeOf(error))
  if (error.code === 'NOT_ALLOWED') {
    reply.header('www-authenticate', 'Bearer realm="matoolkit", error="insufficient_scope"')
  }
  // What is left of a body that was too large is not waited for.
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
  UPLOADS_BUSY: 5,
  SIGN_IN_UNAVAILABLE: 30,
}

const challengeOf = ({ code }: MatoolkitError): string =>
  `Bearer realm="matoolkit"${code === 'NOT_SIGNED_IN' ? '' : ', error="invalid_token"'}`

const NODE_CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TOO_SLOW',
}

/** What is no HTTP: said in the same shape, and the connection ends. */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code = NODE_CODES[error.code ?? ''] ?? 'REQUEST_UNREADABLE'
  const said = new MatoolkitError(code)
  const body = JSON.stringify(problemOf(said, randomUUID()))
  socket.end(
    `HTTP/1.1 ${said.httpStatus} ${code}\r\ncontent-type: application/problem+json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
