// A start while the database server is away, or its schema old: the process waits, says so at once and every minute, answers that it is
// alive and not ready, and starts once the server is there. A wrong password or an unknown database is no outage and ends the start at once. An identity that the
// server refuses waits: in a first deployment its role is made while it starts.
import { createServer, type Server } from 'node:http'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { isIncomplete } from '../../base/errors/transient.ts'
import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import type { Role } from '../../base/settings/process.ts'
import { makeOutage } from '../../bus/outage.ts'
import { openHealth } from '../roles/health.ts'

const SAID_EVERY_MS = 60_000

export interface AwaitOptions {
  readonly config: Config
  readonly roles: readonly Role[]
  readonly clock: Clock
  readonly log: Log
  /** Ends the wait with the last error. */
  readonly stopping: AbortSignal
}

/** Calls `open` until it succeeds, or fails for a reason that waiting does not cure. `open` tells what it waits for itself. */
export async function awaitDatabase<T>(
  options: AwaitOptions,
  open: (tellWaiting: (why: string) => void) => Promise<T>,
): Promise<T> {
  const { config, clock, log, stopping } = options
  // An embedded database is this process's own: nobody else brings it back.
  if (config.databaseUrl === null) return open(() => {})
  let saidAt = Number.NEGATIVE_INFINITY
  let waitsFor = 'starting'
  const outage = makeOutage(clock, ({ why, seconds }) => {
    if (why === null) log.info({ seconds }, 'The database is there; starting')
  })
  // From the first moment: a platform ends a process whose port is silent for a minute and a half.
  const endpoints = await openEndpoints(options, () => outage.why() ?? waitsFor)
  try {
    for (;;) {
      try {
        const opened = await open((why) => {
          outage.end()
          waitsFor = why
        })
        outage.end()
        return opened
      } catch (error) {
        const cause = causeOf(error, config)
        // The schema was found fit before: what it lacks now, nobody adds.
        if (isIncomplete(cause))
          throw new MatoolkitError('SCHEMA_INCOMPLETE', { reason: messageOf(cause) }, { cause })
        if (stopping.aborted || !outage.note(cause)) throw error
        const nowMs = clock.now().getTime()
        if (nowMs - saidAt >= SAID_EVERY_MS) {
          saidAt = nowMs
          log.warn({ err: cause }, `Waiting to start: ${outage.why()}. It starts on its own`)
        }
      }
      await outage.pause(stopping)
    }
  } finally {
    await endpoints.close()
  }
}

function causeOf(error: unknown, { databaseSignIn }: Config): unknown {
  const isAway = error instanceof MatoolkitError && error.code === 'DATABASE_UNREACHABLE'
  if (!isAway) return error
  const { cause } = error
  const isRefused = REFUSED.test((cause as { code?: string }).code ?? '')
  if (databaseSignIn !== 'identity' || !isRefused) return cause
  return Object.assign(new Error(messageOf(cause), { cause }), { code: 'DATABASE_ROLE_MISSING' })
}

/** SQLSTATE class 28, invalid authorization. */
const REFUSED = /^28[0-9A-Z]{3}$/

interface Endpoints {
  close(): Promise<void>
}

const NONE: Endpoints = { close: async () => {} }

/** The ports that the roles have later answer meanwhile: alive, not ready. */
async function openEndpoints(
  { config, roles, clock }: AwaitOptions,
  why: () => string,
): Promise<Endpoints> {
  const { apiHost, apiPort, healthPort } = config
  if (roles.includes('api')) return apiPort === 0 ? NONE : answerForApi(apiHost, apiPort, why)
  if (healthPort === 0) return NONE
  return openHealth({ port: healthPort, clock, whyNotReady: why, metrics: async () => [] })
}

async function answerForApi(host: string, port: number, why: () => string): Promise<Endpoints> {
  const server = createServer(({ url }, response) => {
    const isAlive = url === '/api/health'
    const about = `waits: ${why()}`
    const body = isAlive
      ? { status: 'healthy' }
      : { isReady: false, isDegraded: false, checks: [{ name: 'database', isOk: false, about }] }
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
    response.writeHead(isAlive ? 200 : 503, headers)
    response.end(JSON.stringify(body))
  })
  await listening(server, host, port)
  return {
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
}
