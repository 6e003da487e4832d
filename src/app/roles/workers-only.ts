// A process that is only a worker, on a transport that needs no database: the bus, the workers and the health endpoints. Its time is the
// machine's, because there is no database to follow.
import { randomUUID } from 'node:crypto'
import manifest from '../../../package.json' with { type: 'json' }
import { processLines } from '../../api/services/figures.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { type Clock, realClock } from '../../base/run/clock.ts'
import type { Service } from '../../base/run/service.ts'
import type { Config } from '../../base/settings/config.ts'
import { Measures } from '../../base/telemetry/measures.ts'
import { type OpenedWorker, openWorker } from '../../worker/open-worker.ts'
import { FUNCTION_PACKAGE } from './function-package.ts'
import { openHealth } from './health.ts'
import type { ServeHandle, ServeOptions } from './serve.ts'
import { stopServices } from './stop-services.ts'
import { openTelemetry } from './telemetry.ts'
import { openTransport } from './transports.ts'

/** What somebody may still cure: the certificate is made, the tenant gets to know it, a role assignment begins to work. */
const CURABLE = ['WORKER_CERTIFICATE_UNUSABLE', 'WORKER_SIGN_IN_FAILED']
const WAIT_MS = 60_000

export async function openWorkersOnly(options: ServeOptions): Promise<ServeHandle> {
  const { config, workers, makeLog, onIdle, roles, stopping } = options
  const clock = realClock()
  const log = makeLog(clock)
  const measures = new Measures()
  const telemetry = await openTelemetry({ config, roles, clock, log, measures })
  const bus = await openTransport(config, { db: null, clock, newToken: randomUUID })
  const started: Service[] = []
  const stop = () =>
    stopServices(started, { clock, log, graceSec: config.shutdownGraceSec, close: bus.close })
  const opened: OpenedWorker[] = []
  let waitsFor: string | null = 'starting'
  try {
    if (config.healthPort !== 0) {
      const health = await openHealth({
        port: config.healthPort,
        clock,
        whyNotReady: () =>
          waitsFor ?? opened.map((one) => one.whyNotReady()).find((why) => why !== null) ?? null,
        metrics: async () => [
          ...measures.lines(),
          ...processLines(process.memoryUsage(), process.uptime()),
        ],
      })
      started.push({ name: 'health', start: () => {}, stop: () => health.close() })
    }
    for (const one of workers) {
      const open = () =>
        openWorker({
          functionPackage: FUNCTION_PACKAGE,
          config: one,
          bus,
          clock,
          log,
          measures,
          telemetry,
          onIdle,
          version: manifest.version,
        })
      const onWaiting = (error: MatoolkitError) => {
        waitsFor = `waits: ${error.message}`
        log.warn({ code: error.code }, `Waiting to start: ${error.message} It starts by itself`)
      }
      opened.push(await whenLetIn({ config: one, clock, stopping, onWaiting }, open))
    }
    waitsFor = null
    if (telemetry) {
      telemetry.start()
      started.push(telemetry)
    }
    for (const worker of opened) {
      worker.start()
      started.push(worker)
    }
    log.info({ roles, url: null, version: manifest.version }, 'Started')
    return { url: null, log, stop }
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

interface Waiting {
  readonly config: Pick<Config, 'keyVaultUrl'>
  readonly clock: Pick<Clock, 'wait'>
  readonly stopping: AbortSignal
  /** Called for each try. */
  onWaiting(why: MatoolkitError): void
}

/**
 * Where a vault keeps the certificate, the platform starts a worker before somebody made it: then it waits, alive and not ready.
 * Elsewhere a wrong file ends the start.
 */
export async function whenLetIn<T>(
  { config, clock, stopping, onWaiting }: Waiting,
  open: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await open()
    } catch (error) {
      const mayCome = error instanceof MatoolkitError && CURABLE.includes(error.code)
      if (!mayCome || config.keyVaultUrl === null || stopping.aborted) throw error
      onWaiting(error)
    }
    await clock.wait(WAIT_MS, stopping)
  }
}
