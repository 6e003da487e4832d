// The health endpoints of a worker: `/live` (keep this process) and `/ready` (it can do its work). A worker is live while it
// responds and ready while its last receive succeeded. Responses reveal nothing a stranger could use.
import { createServer, type Server } from 'node:http'
import { Connections } from '../connections.ts'
import { MatoolkitError, messageOf } from '../errors.ts'

export interface HealthServer {
  readonly port: number
  close(): Promise<void>
}

export interface HealthOptions {
  /** 0 picks a free port. */
  readonly port: number
  /** Null when ready, otherwise the reason. */
  whyNotReady(): string | null
}

const REQUEST_TIMEOUT_MS = 5_000
/** The platform needs a few; the oldest idle one ends for a new one. */
const PLACES = 100
const LIMITS = { all: PLACES, anonymous: PLACES, anonymousPerAddress: PLACES, perCaller: PLACES }

export async function openHealth({ port, whyNotReady }: HealthOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const reason = request.url === '/ready' ? whyNotReady() : null
    const isKnown = request.url === '/live' || request.url === '/ready'
    const status = isKnown ? (reason === null ? 200 : 503) : 404
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(JSON.stringify({ status: status === 200 ? 'ok' : (reason ?? 'not found') }))
  })
  server.requestTimeout = REQUEST_TIMEOUT_MS
  new Connections(LIMITS).watch(server)
  await listen(server, port)
  return {
    port: (server.address() as { port: number }).port,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new MatoolkitError('PORT_UNUSABLE', {
          ...{
            port,
            purpose: 'the health endpoints of the worker',
            setting: 'MATOOLKIT_HEALTH_PORT',
          },
          reason: messageOf(error),
        }),
      ),
    )
    server.listen(port, resolve)
  })
}
