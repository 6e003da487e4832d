// Composes the roles of one process on one runtime. Closing reverses opening: requests stop first, then running work ends, then
// bus and database close. When opening fails, nothing stays open.
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import { type Api, openApi } from '../../api/api.ts'
import { openSigningKey } from '../../api/evidence/signing-key.ts'
import { Figures, processLines } from '../../api/services/figures.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { isUnfit } from '../../base/errors/transient.ts'
import { createLog, type Log } from '../../base/log/log.ts'
import { type RealClock, realClock } from '../../base/run/clock.ts'
import type { Loop, Service } from '../../base/run/service.ts'
import type { Config } from '../../base/settings/config.ts'
import type { Role } from '../../base/settings/process.ts'
import type { Exporting } from '../../base/telemetry/exporting.ts'
import { Measures } from '../../base/telemetry/measures.ts'
import { declaredIds } from '../../base/text/worker-id.ts'
import { logOutage, makeOutage } from '../../bus/outage.ts'
import { makeRelayLoop } from '../../bus/relay-loop.ts'
import { inHome } from '../../cli/connection/home.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { type ClockReport, databaseClockLoop } from '../../db/connection/time.ts'
import type { SchemaVersions } from '../../db/schema/migrate.ts'
import { configureWorkers } from '../../db/state/workers.ts'
import { batchIdOf, type Need } from '../../domain/needs/needs.ts'
import type { PreviewQuery } from '../../domain/sources/preview.ts'
import type { TickNow, TickReport } from '../../domain/sources/tick-report.ts'
import { makeOrchestrator } from '../../orchestrator/orchestrator.ts'
import { previewSource } from '../../scheduler/preview.ts'
import { makeScheduler } from '../../scheduler/scheduler.ts'
import { sourceAccessFrom } from '../../scheduler/sources/source.ts'
import { tick } from '../../scheduler/tick.ts'
import { type OpenedWorker, openWorker } from '../../worker/open-worker.ts'
import { childRehearsals } from '../rehearsal/child-process.ts'
import { awaitDatabase } from '../upkeep/await-database.ts'
import { clockTeller, prepareForJump } from '../upkeep/clock-watch.ts'
import { makeDiskWatch } from '../upkeep/disk-watch.ts'
import {
  restoreAtStart,
  restoreWatch,
  tellRestored,
  watchesRestores,
} from '../upkeep/restore-watch.ts'
import { openArchivePlace } from '../upkeep/retention/archive-place.ts'
import { hasRetention, makeRetentionLoop } from '../upkeep/retention/retention-loop.ts'
import { schemaWatch } from '../upkeep/schema.ts'
import { makeSnapshotLoop, snapshotAndTell } from '../upkeep/snapshot-loop.ts'
import { FUNCTION_PACKAGE } from './function-package.ts'
import { openHealth } from './health.ts'
import { requireMemory } from './memory.ts'
import { notificationsOf } from './notifications.ts'
import { readNotificationsFile } from './notifications-file.ts'
import { isWithoutDatabase } from './preflight.ts'
import { openRuntime, type Runtime, type RuntimeOptions } from './runtime.ts'
import { stopServices } from './stop-services.ts'
import { openTelemetry, watchOf } from './telemetry.ts'
import { openWorkersOnly } from './workers-only.ts'

export interface ServeOptions {
  readonly config: Config
  readonly roles: readonly Role[]
  /** Settings of each worker, if the role is requested. Several workers serve several tenants. */
  readonly workers: readonly Config[]
  makeLog(clock: RealClock): Log
  /** The database was restored from a backup since the last start. */
  readonly isRestored?: boolean
  /** Called when a worker-only process has been idle for the configured time. */
  readonly onIdle: () => void
  /** Ends a start that waits for the database server, or for an upgrade of its schema. */
  readonly stopping: AbortSignal
  /** Called when the embedded database has stopped: the process should end in order, with the error's exit code. */
  readonly onStopped: (error: MatoolkitError) => void
}

export interface ServeHandle {
  /** Address of the API; null without that role. */
  readonly url: string | null
  readonly log: Log
  /** Stops everything within the shutdown grace. Rejects if a role did not stop in time. */
  stop(): Promise<void>
}

/** Dependencies that every role shares. */
interface RoleContext extends Omit<Runtime, 'clockReport'> {
  readonly config: Config
  readonly clock: RealClock
  readonly log: Log
  readonly measures: Measures
  /** Null in a process that may not read the work. */
  readonly figures: Figures | null
  /** Null when it is off. */
  readonly telemetry: Exporting | null
  /** The latest clock measurement. */
  clockReport: ClockReport
  readonly tellClock: (report: ClockReport) => void
  /** Set when a newer program has upgraded the schema beyond this one; then nothing but API and health endpoints runs. */
  schemaNewer: SchemaVersions | null
  /** Looks whether the schema is newer, after an error that could come from that. */
  suspectSchema(error: unknown): void
  /** Why the orchestrator waits for the database; null while it works, or without one. */
  whyWaiting(): string | null
}

/** A log that writes through an Io: for people on a terminal, as JSON elsewhere. */
/** Messages handled together. */
const CHUNK = 500
/** Ticks of one scheduler that read and apply rows at the same time. */
const TICK_LANES = 4
const SNAPSHOT_INTERVAL_MIN = 60

export const logTo =
  (write: Io['out'], { width }: Io, { logLevel: level, logFormat: format }: Config) =>
  (clock: RealClock): Log =>
    createLog({
      level,
      format,
      clock,
      destination: { isTTY: width !== null, write: (line) => write(line.trimEnd()) },
    })

export async function openServe(options: ServeOptions): Promise<ServeHandle> {
  requireMemory(options.roles)
  if (isWithoutDatabase(options.config, options.roles)) return openWorkersOnly(options)
  const shared = await openRoleContext(options)
  const started: Service[] = []
  try {
    // They stop in reverse order: API, then scheduler and orchestrator, then workers.
    const services = await servicesOf(shared, options)
    for (const service of services) {
      service.start()
      started.push(service)
    }
    if (!options.roles.includes('api')) started.unshift(await healthOf(shared, services))
    const watch = watchSchema(shared, started)
    watch.start()
    started.push(watch)
    const api = services.find((service): service is Api => service.name === 'api')
    const url = (await api?.listening) ?? null
    shared.log.info({ roles: options.roles, url, version: manifest.version }, 'Started')
    return { url, log: shared.log, stop: () => close(shared, started) }
  } catch (error) {
    await close(shared, started).catch(() => {})
    throw error
  }
}

const UNSIGNED =
  'Jobs are not signed: with write access to the database one can run every function of the workers and read their secrets. Set MATOOLKIT_JOB_KEY_FILE in every process.'

async function openRoleContext({
  config,
  makeLog,
  roles,
  stopping,
  onStopped,
  isRestored = false,
}: ServeOptions): Promise<RoleContext> {
  const clock = realClock()
  const log = makeLog(clock)
  const { dataDir, minFreeMb } = config
  const options: Omit<RuntimeOptions, 'onWaiting'> = {
    config,
    clock,
    roles,
    stopping,
    onConnectionLost: (err) => log.warn({ err }, 'Database connection lost'),
    onStopped: (error) => {
      log.error({ code: error.code }, error.message)
      onStopped(error)
    },
    beforeUpgrade: (db) => snapshotAndTell({ db, clock, log, dataDir, minFreeMb }, 'upgrade'),
  }
  const runtime = await awaitDatabase({ config, roles, clock, log, stopping }, (tellWaiting) =>
    openRuntime({
      ...options,
      onWaiting: ({ code, message }) => {
        log.warn({ code }, `${message} Waiting for it`)
        tellWaiting(message)
      },
    }),
  )
  const tellClock = clockTeller(log)
  tellClock(runtime.clockReport)
  const { applied } = runtime
  if (applied.length > 0) log.info({ applied }, `Applied ${applied.length} database migrations`)
  if (!runtime.engine.jobKeys) log.warn(UNSIGNED)
  if (watchesRestores(roles)) tellRestored(log, await restoreAtStart(runtime.engine, isRestored))
  const measures = new Measures()
  const seesAll = roles.some((role) => role !== 'worker')
  const { db, bus } = runtime
  const figures = seesAll ? new Figures({ db, bus, clock }) : null
  const telemetry = await openTelemetry({
    config,
    roles,
    clock,
    log,
    measures,
    ...(figures && { figures: () => figures.families() }),
  })
  const watch = seesAll ? await watchOf({ measures, clock }, db, telemetry) : null
  const engine = { ...runtime.engine, watch }
  return {
    ...runtime,
    engine,
    config,
    clock,
    log,
    measures,
    figures,
    telemetry,
    tellClock,
    schemaNewer: null,
    suspectSchema: () => {},
    whyWaiting: () => null,
  }
}

/** Stops all work in order when a newer program has upgraded the schema beyond this one. API and health endpoints keep telling why. */
function watchSchema(shared: RoleContext, started: readonly Service[]): Loop {
  const { db, clock, log } = shared
  const watch = schemaWatch({
    db,
    clock,
    onAhead: (versions) =>
      log.info(
        versions,
        'A newer program has upgraded the schema; this one continues until replaced',
      ),
    onClosed: (versions) => {
      shared.schemaNewer = versions
      const { code, message } = new MatoolkitError('SCHEMA_NEWER', { ...versions })
      log.error({ code }, `${message} This process takes no more work`)
      const working = started.filter(({ name }) => !KEPT_ON_OLD_SCHEMA.includes(name))
      void standDown(shared, working)
    },
    onError: (err) => log.warn({ err }, 'Schema check failed'),
  })
  shared.suspectSchema = (error) => {
    const isSaid = error instanceof MatoolkitError && error.code === 'SCHEMA_NEWER'
    if (isSaid || isUnfit(error)) watch.nudge()
  }
  return watch
}

const KEPT_ON_OLD_SCHEMA = ['api', 'health', 'telemetry', 'database clock', 'schema watch']

async function standDown({ log }: RoleContext, services: readonly Service[]): Promise<void> {
  for (const service of services.toReversed()) {
    await service
      .stop()
      .catch((err: unknown) => log.error({ err, service: service.name }, 'Service did not stop'))
  }
  log.info('Stood down: running work has ended, the rest is left to newer processes')
}

const isWorker = (service: Service): service is OpenedWorker => 'whyNotReady' in service

/** Opened last and closed last: it answers for the roles as long as one of them runs. */
async function healthOf(shared: RoleContext, services: readonly Service[]): Promise<Service> {
  const { config, clock, measures, figures } = shared
  const workers = services.filter(isWorker)
  const whyNotReady = (): string | null =>
    (shared.schemaNewer && 'a newer program has upgraded the schema') ??
    shared.whyWaiting() ??
    workers.map((worker) => worker.whyNotReady()).find((why) => why !== null) ??
    null
  const metrics = async () => [
    ...measures.lines(),
    ...((await figures?.lines()) ?? []),
    ...processLines(process.memoryUsage(), process.uptime()),
  ]
  const port = config.healthPort
  const server = port === 0 ? null : await openHealth({ port, clock, whyNotReady, metrics })
  return { name: 'health', start: () => {}, stop: async () => server?.close() }
}

async function servicesOf(shared: RoleContext, options: ServeOptions): Promise<Service[]> {
  const { roles } = options
  const workers = roles.includes('worker') ? await workersOf(shared, options) : []
  return [
    ...(shared.telemetry ? [shared.telemetry] : []),
    clockOf(shared, options.roles),
    ...(watchesRestores(roles) && shared.db.kind === 'postgres' ? [restoreWatch(shared)] : []),
    ...(shared.db.copyTo ? await embeddedServices(shared) : []),
    ...workers,
    ...relayOf(shared, options),
    ...(roles.includes('orchestrator')
      ? [await orchestratorOf(shared), ...notificationsOf(shared)]
      : []),
    ...(roles.includes('scheduler') ? [schedulerOf(shared), ...retentionOf(shared)] : []),
    ...(roles.includes('api') ? [apiOf(shared)] : []),
  ]
}

/** Several schedulers share a lease: one of them does it. */
const retentionOf = ({ db, clock, log, config }: RoleContext): Service[] => {
  const { batchesKeptDays, personsKeptDays } = config
  const options = { batchesKeptDays, personsKeptDays }
  if (!hasRetention(options)) return []
  const place = openArchivePlace(config, clock)
  // Several machines get their key by a setting; one makes its own.
  const signingKey = () => openSigningKey(config, config.databaseUrl === null)
  return [makeRetentionLoop({ ...options, place, signingKey, db, clock, log })]
}

/** The first look at the disk is before anything is sent. */
async function embeddedServices(shared: RoleContext): Promise<Service[]> {
  const { db, engine, clock, log, config, applied } = shared
  const { minFreeMb } = config
  const dataDir = resolve(config.dataDir)
  const watch = makeDiskWatch({
    engine,
    clock,
    folder: dataDir,
    minFreeMb,
    onChange: (sentence) => log.warn(sentence),
    onError: (err) => log.warn({ err }, 'The free space could not be checked, or nothing be held'),
  })
  await watch.look()
  const isNew = applied.length > 0
  return [
    watch,
    makeSnapshotLoop({
      db,
      clock,
      log,
      dataDir,
      intervalMin: SNAPSHOT_INTERVAL_MIN,
      minFreeMb,
      isNew,
    }),
  ]
}

function clockOf(shared: RoleContext, roles: readonly Role[]): Service {
  const { db, clock, log, tellClock } = shared
  return databaseClockLoop({
    db,
    clock,
    onJump: (jumpMs) => prepareForJump(shared, roles, jumpMs),
    onReport: (report) => {
      shared.clockReport = report
      tellClock(report)
    },
    onError: (err, inARow) => log.warn({ err, inARow }, 'Clock measurement failed'),
  })
}

const workersOf = (
  shared: RoleContext,
  { roles, workers, onIdle }: ServeOptions,
): Promise<Service[]> =>
  Promise.all(
    workers.map((config) =>
      openWorker({
        functionPackage: FUNCTION_PACKAGE,
        config,
        bus: shared.bus,
        clock: shared.clock,
        log: shared.log,
        version: manifest.version,
        onError: shared.suspectSchema,
        measures: shared.measures,
        telemetry: shared.telemetry,
        // Other roles keep the process busy even when the worker is idle.
        ...(roles.length === 1 && { onIdle }),
      }),
    ),
  )

/** Every process that stores messages forwards them, also those of others. */
function relayOf({ bus, clock, log, measures }: RoleContext, { roles }: ServeOptions): Service[] {
  const { relay } = bus.capabilities
  if (!relay || !roles.some((role) => role !== 'worker')) return []
  const outage = makeOutage(clock, (change) => logOutage(log, 'The relay', change))
  const onError = (err: unknown) => {
    measures.count('matoolkit_errors_total', { role: 'relay' })
    if (!outage.note(err)) log.error({ err }, 'Relay error; the relay keeps running')
  }
  return [makeRelayLoop({ relay, clock, onForwarded: outage.end, onError })]
}

async function orchestratorOf(shared: RoleContext): Promise<Service> {
  const { db, engine, bus, clock, config, log } = shared
  await configureWorkers(db, declaredIds(config.declaredWorkers))
  const orchestrator = makeOrchestrator({
    engine,
    bus,
    clock,
    chunk: CHUNK,
    onDeadLetters: (item) => warnOf(log, item),
    onOutage: (change) => {
      shared.suspectSchema(change.error)
      logOutage(log, 'The orchestrator', change)
    },
    onError: (err) => {
      shared.suspectSchema(err)
      shared.measures.count('matoolkit_errors_total', { role: 'orchestrator' })
      log.error({ err }, 'Orchestrator error; the orchestrator keeps running')
    },
  })
  shared.whyWaiting = orchestrator.whyWaiting
  return orchestrator
}

const schedulerOf = (shared: RoleContext): Service => {
  const { engine, clock, config, log } = shared
  return makeScheduler({
    engine,
    clock,
    sources: sourceAccessFrom(config, clock),
    intervalMs: config.tickIntervalSec * 1_000,
    newToken: randomUUID,
    lanes: TICK_LANES,
    onTick: (report) => logTick(log, report),
    onError: (err) => {
      shared.suspectSchema(err)
      shared.measures.count('matoolkit_errors_total', { role: 'scheduler' })
      log.error({ err }, 'Scheduler error; the scheduler keeps running')
    },
  })
}

function logTick(log: Log, { needs, news, ...report }: TickReport): void {
  if (report.outcome === 'failed') log.error(report, 'Tick failed')
  else log.info(report, 'Tick finished')
  for (const item of news) warnOf(log, item)
}

/** Something began to wait for a person, or changed. */
function warnOf(log: Log, need: Need): void {
  const { kind, runbookNames, count, text, command } = need
  const about = { runbookName: runbookNames?.[0] ?? null, batchId: batchIdOf(need) }
  log.warn({ kind, ...about, count, command }, `${text}: ${command}`)
}

const apiOf = (shared: RoleContext): Api =>
  openApi({
    meaningOf: FUNCTION_PACKAGE.meaningOf,
    config: shared.config,
    engine: shared.engine,
    bus: shared.bus,
    clock: shared.clock,
    log: shared.log,
    measures: shared.measures,
    ...(shared.figures && { figures: shared.figures }),
    preview: previewOf(shared),
    tickNow: tickNowOf(shared),
    notifications: readNotificationsFile(shared.config.notificationsFile),
    runRehearsal: childRehearsals(inHome('templates'), shared.engine.windows ?? null),
    clockReport: () => shared.clockReport,
    whyWaiting: () => shared.whyWaiting(),
    schemaNewer: () => shared.schemaNewer,
  })

function previewOf({ db, clock, config }: RoleContext): PreviewQuery {
  const sources = sourceAccessFrom(config, clock)
  return (runbook, stopping) => previewSource({ db, sources, runbook, now: clock.now(), stopping })
}

function tickNowOf({ engine, clock, config, log }: RoleContext): TickNow {
  const options = {
    engine,
    sources: sourceAccessFrom(config, clock),
    intervalMs: config.tickIntervalSec * 1_000,
    newToken: randomUUID,
    evenIfNotDue: true,
  }
  return async (name, startedBy, stopping) => {
    const report = await tick({ ...options, startedBy }, name, stopping)
    if (report) logTick(log, report)
    return report
  }
}

const close = (shared: RoleContext, started: readonly Service[]): Promise<void> =>
  stopServices(started, { ...shared, graceSec: shared.config.shutdownGraceSec })
