// The health endpoints of a process without the API: `/health` (keep this process), `/ready` (it can do its work) and `/metrics`. They
// answer everybody on the port and reveal no person, batch or job.
import { createServer, type Server, type ServerResponse } from 'node:http'
import { Connections } from '../../api/http/connections.ts'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { METRICS_TYPE } from '../../base/telemetry/prometheus.ts'

export interface HealthServer {
  readonly port: number
  close(): Promise<void>
}

export interface HealthOptions {
  /** 0 picks a free port. */
  readonly port: number
  readonly clock: Clock
  /** Null when ready, otherwise the reason. */
  whyNotReady(): string | null
  metrics(now: Date): Promise<readonly string[]>
}

const REQUEST_TIMEOUT_MS = 5_000
/** The platform needs a few; the oldest idle one ends for a new one. */
const PLACES = 100
const LIMITS = { all: PLACES, anonymous: PLACES, anonymousPerAddress: PLACES, perCaller: PLACES }
/** However often somebody asks, the database is asked this often. */
const METRICS_KEPT_MS = 5_000

export async function openHealth({
  port,
  clock,
  whyNotReady,
  metrics,
}: HealthOptions): Promise<HealthServer> {
  const metricsText = keptFor(METRICS_KEPT_MS, clock, async (now) =>
    [...(await metrics(now)), ''].join('\n'),
  )
  const server = createServer((request, response) => {
    if (request.url === '/metrics') return void answerMetrics(response, metricsText)
    const reason = request.url === '/ready' ? whyNotReady() : null
    const isKnown = request.url === '/health' || request.url === '/ready'
    const status = isKnown ? (reason === null ? 200 : 503) : 404
    answer(response, status, status === 200 ? 'ok' : (reason ?? 'not found'))
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

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify({ status: text }))
}

async function answerMetrics(response: ServerResponse, text: () => Promise<string>): Promise<void> {
  try {
    const body = await text()
    response.writeHead(200, { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' })
    response.end(body)
  } catch {
    // The log of the roles has the reason; strangers get none.
    answer(response, 503, 'the database does not answer')
  }
}

/** The value, made again once it is older than this. */
function keptFor<T>(ms: number, clock: Clock, make: (now: Date) => Promise<T>): () => Promise<T> {
  let made: { readonly at: number; readonly value: Promise<T> } | undefined
  return () => {
    const now = clock.now()
    if (!made || now.getTime() - made.at >= ms) made = { at: now.getTime(), value: make(now) }
    return made.value
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new MatoolkitError('PORT_UNUSABLE', {
          port,
          purpose: 'the health endpoints',
          setting: 'MATOOLKIT_HEALTH_PORT',
          reason: messageOf(error),
        }),
      ),
    )
    server.listen(port, resolve)
  })
}
