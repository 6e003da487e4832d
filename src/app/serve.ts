// Puts the roles of one process together: database, schema, the database's time, bus, then whatever roles are asked for. What is
// opened in one order is closed in the other: first nobody new comes in, then running work ends, then the database is let go.
// Opening fails as a whole; nothing is left behind.
import { randomUUID } from 'node:crypto'
import manifest from '../../package.json' with { type: 'json' }
import { type Api, openApi } from '../api/api.ts'
import type { PreviewQuery } from '../api/preview.ts'
import { openPostgresBus, type PostgresBus } from '../bus/postgres/postgres-bus.ts'
import { type RealClock, realClock } from '../clock.ts'
import type { Config, Role } from '../config.ts'
import { type ClockReport, databaseClockLoop } from '../db/time.ts'
import type { Log } from '../log.ts'
import { makeOrchestrator } from '../orchestrator/orchestrator.ts'
import { sourcesFrom } from '../scheduler/access.ts'
import { previewSource } from '../scheduler/preview.ts'
import { makeScheduler } from '../scheduler/scheduler.ts'
import type { Service } from '../service.ts'
import { openWorker } from '../worker/open-worker.ts'
import { openRuntime, type Runtime } from './runtime.ts'

export interface ServeOptions {
  readonly config: Config
  readonly roles: readonly Role[]
  /** The settings of each worker, when the role is asked for: several where each has a tenant of its own. */
  readonly workers: readonly Config[]
  makeLog(clock: RealClock): Log
  /** Called when a process that is only a worker has had nothing to do for long enough. */
  readonly onIdle: () => void
}

export interface ServeHandle {
  /** Where the API is; null without that role. */
  readonly url: string | null
  readonly log: Log
  /** Ends everything, at the latest when the platform's grace is over. Rejects when something did not end by itself. */
  stop(): Promise<void>
}

/** What every role shares. */
interface Shared extends Omit<Runtime, 'clockReport'> {
  readonly config: Config
  readonly clock: RealClock
  readonly bus: PostgresBus
  readonly log: Log
  /** The newest measurement of the clock. */
  clockReport: ClockReport
}

/** So much of the grace is kept for closing the database. */
const CLOSING_SEC = 2

export async function openServe(options: ServeOptions): Promise<ServeHandle> {
  const shared = await openShared(options)
  const started: Service[] = []
  try {
    // In the order in which they are stopped backwards: the API first, then whoever gives work, then whoever does it.
    const services = await servicesOf(shared, options)
    for (const service of services) {
      service.start()
      started.push(service)
    }
    const api = services.find((service): service is Api => service.name === 'api')
    const url = (await api?.listening) ?? null
    shared.log.info({ roles: options.roles, url, version: manifest.version }, 'Started.')
    return { url, log: shared.log, stop: () => close(shared, started) }
  } catch (error) {
    await close(shared, started).catch(() => {})
    throw error
  }
}

async function openShared({ config, makeLog }: ServeOptions): Promise<Shared> {
  const clock = realClock()
  const log = makeLog(clock)
  const ground = await openRuntime({
    config,
    clock,
    onConnectionLost: (err) => log.warn({ err }, 'A connection to the database was lost.'),
  })
  const { db, applied } = ground
  if (applied.length > 0) log.info({ applied }, 'The schema of the database was brought up.')
  const bus = openPostgresBus({ db, clock, newToken: randomUUID })
  return { ...ground, config, clock, bus, log }
}

async function servicesOf(shared: Shared, options: ServeOptions): Promise<Service[]> {
  const { roles } = options
  const workers = roles.includes('worker') ? await workersOf(shared, options) : []
  return [
    clockOf(shared),
    ...workers,
    ...(roles.includes('orchestrator') ? [orchestratorOf(shared)] : []),
    ...(roles.includes('scheduler') ? [schedulerOf(shared)] : []),
    ...(roles.includes('api') ? [apiOf(shared)] : []),
  ]
}

function clockOf(shared: Shared): Service {
  const { db, clock, log, config } = shared
  return databaseClockLoop({
    db,
    clock,
    maxSkewMs: config.maxClockSkewSec * 1_000,
    onReport: (report) => {
      const wasFit = shared.clockReport.withinLimit
      shared.clockReport = report
      const { machineSkewMs, withinLimit } = report
      if (wasFit !== withinLimit) log.warn({ machineSkewMs, withinLimit }, 'The clock has changed.')
    },
    onError: (err, inARow) => log.warn({ err, inARow }, 'The clock could not be compared.'),
  })
}

const workersOf = (
  { bus, clock, log }: Shared,
  { roles, workers, onIdle }: ServeOptions,
): Promise<Service[]> =>
  Promise.all(
    workers.map((config) =>
      openWorker({
        config,
        bus,
        clock,
        log,
        version: manifest.version,
        hasHealth: !roles.includes('api'),
        // Others in this process have work to do even when the worker has none.
        ...(roles.length === 1 && { onIdle }),
      }),
    ),
  )

const orchestratorOf = ({ engine, bus, clock, config, log }: Shared): Service =>
  makeOrchestrator({
    engine,
    bus,
    clock,
    chunk: config.chunkSize,
    onError: (err) => log.error({ err }, 'The orchestrator met an error and goes on.'),
  })

const schedulerOf = ({ engine, clock, config, log }: Shared): Service =>
  makeScheduler({
    engine,
    clock,
    sources: sourcesFrom(config, clock),
    intervalMs: config.tickIntervalSec * 1_000,
    newToken: randomUUID,
    lanes: config.tickLanes,
    onTick: (report) =>
      report.outcome === 'failed'
        ? log.error(report, 'A data source could not be asked.')
        : log.info(report, 'A data source was asked.'),
    onError: (err) => log.error({ err }, 'The scheduler met an error and goes on.'),
  })

const apiOf = (shared: Shared): Api =>
  openApi({
    config: shared.config,
    engine: shared.engine,
    bus: shared.bus,
    clock: shared.clock,
    log: shared.log,
    preview: previewOf(shared),
    clockReport: () => shared.clockReport,
  })

function previewOf({ db, clock, config }: Shared): PreviewQuery {
  const sources = sourcesFrom(config, clock)
  return (runbook, stopping) => previewSource({ db, sources, runbook, now: clock.now(), stopping })
}

/** Stops in the reverse order of starting; the database is closed whatever happened before. */
async function close(
  { config, clock, bus, db, log }: Shared,
  started: readonly Service[],
): Promise<void> {
  const givingUp = new AbortController()
  const done = new AbortController()
  const graceMs = (config.shutdownGraceSec - CLOSING_SEC) * 1_000
  void clock.wait(graceMs, done.signal).then(() => givingUp.abort())
  const failures: unknown[] = []
  for (const service of started.toReversed()) {
    await service.stop(givingUp.signal).catch((err: unknown) => {
      log.error({ err, service: service.name }, 'A part did not stop in time.')
      failures.push(err)
    })
  }
  done.abort()
  await bus.close()
  await db.close()
  log.info('Stopped.')
  if (failures.length > 0) throw failures[0]
}
