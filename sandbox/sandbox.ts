// A small Microsoft 365 over local HTTP or HTTPS: sign-in, Microsoft Graph and Exchange for a few tenants. Clients reach it through
// their ordinary endpoint settings and get the responses of the real services. State is in memory only and is lost on close
// unless exported.
import { randomBytes } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { TLSSocket } from 'node:tls'
import { isOwnHost } from './access.ts'
import type { OutgoingResponse, SandboxApis } from './api.ts'
import { makeAuthority } from './authority.ts'
import type { FaultSettings } from './faults.ts'
import type { Journal } from './journal.ts'
import { makeSandboxCore, type SandboxCoreOptions, wireText } from './sandbox-core.ts'
import type { State } from './state.ts'

export interface OpenSandboxOptions extends SandboxCoreOptions {
  /** Default: a free port. */
  readonly port?: number
  /** Default: loopback. */
  readonly host?: string
  /** Names besides `host` and the loopback under which callers may reach it. */
  readonly names?: readonly string[]
  /** Serve https with a certificate of its own authority, issued at this time: Microsoft's clients need it, and their clocks are real. */
  readonly httpsSince?: Date
}

export interface Sandbox {
  /** Serves sign-in, Graph and Exchange, such as `http://127.0.0.1:4365`. */
  readonly url: string
  /** The certificate that clients must trust, PEM; null over plain http. */
  readonly authority: string | null
  /** For the control endpoints; new at each start. */
  readonly controlToken: string
  readonly journal: Journal
  state(): State
  setFaults(settings: FaultSettings): void
  close(): Promise<void>
}

const TOKEN_BYTES = 32
const BODY_BYTES_MAX = 4_000_000
const LOOPBACK = '127.0.0.1'

export async function openSandbox(options: OpenSandboxOptions): Promise<Sandbox> {
  const { host = LOOPBACK, port = 0, names = [], httpsSince } = options
  const controlToken = randomBytes(TOKEN_BYTES).toString('base64url')
  const { apis, journal, state, setFaults } = makeSandboxCore(options, controlToken)
  const closing = new AbortController()
  const authority = httpsSince
    ? await makeAuthority([...new Set([host, ...names, LOOPBACK, 'localhost'])], httpsSince)
    : null
  const onRequest: RequestListener = (request, response) => {
    if (!isOwnHost(request.headers.host, { host, names })) return refuseHost(response)
    serve(apis, request, response, closing.signal).catch((error: unknown) => {
      // A defect of the sandbox. Reported as such, so that it cannot pass for a response of Microsoft 365.
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`Sandbox defect: ${error instanceof Error ? error.message : String(error)}`)
    })
  }
  const server = authority
    ? createHttpsServer(authority.server, onRequest)
    : createServer(onRequest)
  // Only faults cut connections: an idle one closed just as a request arrives looks like a drop.
  server.keepAliveTimeout = 0
  await listen(server, host, port)
  const address = server.address() as AddressInfo
  return {
    url: `${authority ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    authority: authority?.certificate ?? null,
    controlToken,
    journal,
    state,
    setFaults,
    close: () => {
      closing.abort()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Without a word of the request: a web page must learn nothing. */
function refuseHost(response: ServerResponse): void {
  const text =
    'The sandbox does not know this host name. Call it by its address, or name the host with --allowed-hosts.\n'
  response.writeHead(421, { 'content-type': 'text/plain', connection: 'close' }).end(text)
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function serve(
  apis: SandboxApis,
  request: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  const text = await textOf(request)
  if (text === null) {
    response.writeHead(413, { connection: 'close' }).end()
    return
  }
  // Uses the caller's host name, so that links in responses lead back the same way.
  const scheme = request.socket instanceof TLSSocket ? 'https' : 'http'
  const url = URL.parse(`${scheme}://${request.headers.host ?? LOOPBACK}${request.url ?? '/'}`)
  if (url === null) {
    response.writeHead(400).end()
    return
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const aborted = AbortSignal.any([closing, disconnected.signal])
  send(
    await apis.respond({ method: request.method ?? 'GET', url, headers, text }, aborted),
    response,
  )
}

/** Null when the body is too large. */
async function textOf(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > BODY_BYTES_MAX) return null
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function send(outgoing: OutgoingResponse, response: ServerResponse): void {
  if (outgoing === null) {
    response.destroy()
    return
  }
  const { headers, text } = wireText(outgoing)
  response.writeHead(outgoing.status, headers)
  if (text === null) response.end()
  else response.end(text)
}
