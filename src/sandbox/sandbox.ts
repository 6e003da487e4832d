// A small Microsoft 365: the sign-in, Microsoft Graph and Exchange of a few tenants, over HTTP on this machine. Clients reach it by
// their ordinary settings for cloud endpoints and cannot tell it from the real thing by what it answers. Nothing is kept: what is
// in it is gone when it is closed, unless somebody asked for its state.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import { Apis, type Outgoing } from './api.ts'
import { type FaultSettings, Faults } from './faults.ts'
import type { Journal } from './journal.ts'
import { defaultSeed, SeedFault, stateOf } from './seed.ts'
import type { Seed, State } from './state.ts'
import { type Timing, USUAL_TIMING, World } from './world.ts'

export interface SandboxOptions {
  readonly clock: Clock
  /** Two small tenants unless given. Throws a SeedFault when it does not fit. */
  readonly seed?: Seed
  readonly timing?: Partial<Timing>
  readonly faults?: FaultSettings
  /** A free one unless given. */
  readonly port?: number
  /** This machine only, unless given. */
  readonly host?: string
}

export interface Sandbox {
  /** For sign-in, Graph and Exchange alike, such as `http://127.0.0.1:4365`. */
  readonly url: string
  readonly journal: Journal
  state(): State
  setFaults(settings: FaultSettings): void
  close(): Promise<void>
}

const BODY_BYTES_MAX = 4_000_000
const LOOPBACK = '127.0.0.1'

export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { clock, seed = defaultSeed(), timing = {}, host = LOOPBACK, port = 0 } = options
  const world = worldOf(seed, clock, { ...USUAL_TIMING, ...timing })
  const faults = new Faults(options.faults)
  const apis = new Apis(world, faults)
  const closing = new AbortController()
  const server = createServer((request, response) => {
    serve(apis, request, response, closing.signal).catch((error: unknown) => {
      // A mistake of the sandbox itself. Said as such: it must not pass for something that Microsoft 365 would answer.
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`The sandbox has a defect: ${messageOf(error)}`)
    })
  })
  // Connections are cut when a fault says so, and never by chance: an idle one closed just as a request comes looks like a drop.
  server.keepAliveTimeout = 0
  await listen(server, host, port)
  const address = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    journal: world.journal,
    state: () => {
      world.settle(clock.now())
      return world.state()
    },
    setFaults: (settings) => faults.set(settings),
    close: () => {
      closing.abort()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function worldOf(seed: Seed, clock: Clock, timing: Timing): World {
  const state = stateOf(seed)
  try {
    return new World(state, clock, timing)
  } catch (error) {
    throw new SeedFault(messageOf(error))
  }
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
  apis: Apis,
  request: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  const text = await textOf(request)
  if (text === null) {
    response.writeHead(413, { connection: 'close' }).end()
    return
  }
  // Under the name it was called by, so that the links in answers lead back the same way.
  const url = URL.parse(`http://${request.headers.host ?? LOOPBACK}${request.url ?? '/'}`)
  if (url === null) {
    response.writeHead(400).end()
    return
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const cut = AbortSignal.any([closing, gone.signal])
  send(await apis.answer({ method: request.method ?? 'GET', url, headers, text }, cut), response)
}

/** Null for more than is read. */
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

/** What stands where JSON should be when Exchange refuses. */
const NUL_BYTES = Buffer.alloc(32)

function send(answer: Outgoing, response: ServerResponse): void {
  if (answer === null) {
    response.destroy()
    return
  }
  const { status, headers = {}, body } = answer
  if (headers['content-encoding'] === 'gzip') {
    response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(NUL_BYTES)
    return
  }
  if (body === undefined) {
    response.writeHead(status, { ...headers }).end()
    return
  }
  const isPlain = typeof body === 'string'
  const type = isPlain ? 'text/plain' : 'application/json; charset=utf-8'
  response.writeHead(status, { ...headers, 'content-type': type })
  response.end(isPlain ? body : JSON.stringify(body))
}
