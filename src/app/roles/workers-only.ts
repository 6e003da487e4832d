// A process that is only a worker, on a transport that needs no database: the bus, the workers and the health endpoints. Its time is the
// machine's, because there is no database to follow.
import { randomUUID } from 'node:crypto'
import manifest from '../../../package.json' with { type: 'json' }
import { processLines } from '../../api/services/figures.ts'
import { realClock } from '../../base/run/clock.ts'
import type { Service } from '../../base/run/service.ts'

import { Measures } from '../../base/telemetry/measures.ts'
import { openWorker } from '../../worker/open-worker.ts'
import { FUNCTION_PACKAGE } from './function-package.ts'
import { openHealth } from './health.ts'
import type { ServeHandle, ServeOptions } from './serve.ts'
import { stopServices } from './stop-services.ts'
import { openTelemetry } from './telemetry.ts'
import { openTransport } from './transports.ts'

export async function openWorkersOnly(options: ServeOptions): Promise<ServeHandle> {
  const { config, workers, makeLog, onIdle, roles } = options
  const clock = realClock()
  const log = makeLog(clock)
  const measures = new Measures()
  const telemetry = await openTelemetry({ config, roles, clock, log, measures })
  const bus = await openTransport(config, { db: null, clock, newToken: randomUUID })
  const started: Service[] = []
  const stop = () =>
    stopServices(started, { clock, log, graceSec: config.shutdownGraceSec, close: bus.close })
  try {
    const opened = await Promise.all(
      workers.map((one) =>
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
        }),
      ),
    )
    if (config.healthPort !== 0) {
      const health = await openHealth({
        port: config.healthPort,
        clock,
        whyNotReady: () =>
          opened.map((one) => one.whyNotReady()).find((why) => why !== null) ?? null,
        metrics: async () => [
          ...measures.lines(),
          ...processLines(process.memoryUsage(), process.uptime()),
        ],
      })
      started.push({ name: 'health', start: () => {}, stop: () => health.close() })
    }
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
