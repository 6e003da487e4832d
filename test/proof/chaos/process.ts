// One process of a chaos run: `node test/proof/chaos/process.ts '<its part as JSON>'`. The parts are the real ones, wired as in the
// program; only the leases are shorter. SIGTERM stops it gracefully. Errors go to the journals.
import { randomUUID } from 'node:crypto'
import { openApi } from '../../../src/api/api.ts'
import { makeDiskWatch } from '../../../src/app/upkeep/disk-watch.ts'
import { MatoolkitError, messageOf } from '../../../src/base/errors/errors.ts'
import { isTransient } from '../../../src/base/errors/transient.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { acceleratedClock, type Clock, realClock } from '../../../src/base/run/clock.ts'
import { everyLoop, type Service } from '../../../src/base/run/service.ts'
import type { Bus, ReceivedMessage } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { makeRelayLoop } from '../../../src/bus/relay-loop.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { openPglite } from '../../../src/db/connection/pglite.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { databaseClockLoop, followDatabaseTime } from '../../../src/db/connection/time.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { findHold } from '../../../src/db/state/holds.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { DISK_WATCH, SYSTEM } from '../../../src/domain/state/holds.ts'
import { makeNotifications } from '../../../src/engine/notify/send-loop.ts'
import { resumeScope } from '../../../src/engine/orders/holds.ts'
import { makeRestoreWatch, noticeRestore } from '../../../src/engine/orders/restores.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { FunctionBook } from '../../../src/engine/transactions/function-book.ts'
import { RunbookCache } from '../../../src/engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../../src/engine/transactions/worker-pace.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { makeOrchestrator } from '../../../src/orchestrator/orchestrator.ts'
import { makeScheduler } from '../../../src/scheduler/scheduler.ts'
import { makeSourceTokens, openSource } from '../../../src/scheduler/sources/source.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { openFolderVault } from '../../../src/worker/secrets/folder-vault.ts'
import { configFor, connect } from '../../m365/functions/setting.ts'
import { type Journal, openJournal } from './journal.ts'
import { makeOperators } from './operators.ts'
import { effectFunction, WORKER_ID } from './runbooks.ts'

export type Role = 'orchestrator' | 'worker' | 'operators' | 'scheduler' | 'api'

/** The parameters of a process. */
export interface Part {
  readonly roles: readonly Role[]
  readonly name: string
  /** Of a server; without it the database is embedded, in the folder `pglite`. */
  readonly url?: string
  readonly folder: string
  readonly seed: number
  readonly leaseMs: number
  readonly statementTimeoutMs: number
  readonly workMs: number
  readonly slots: number
  /** Messages go through this namespace; a process that is only a worker opens no database then. */
  readonly serviceBus?: string
  /** Of an API. Its token lies in `{name}.token`. */
  readonly apiPort?: number
  /** Of an embedded database: with less free space everything is held. */
  readonly minFreeMb?: number
  /** The limit of its heap. */
  readonly heapMb?: number
  /** Of a worker: how large its results are. */
  readonly resultBytes?: number
  /** Of a scheduler: the folder of its CSV files, the connections of the others by variable, and its times. */
  readonly sources?: {
    readonly folder: string
    readonly connections: Readonly<Record<string, string>>
    readonly intervalMs: number
    readonly timeoutMs: number
    readonly lanes: number
  }
  /** Of an orchestrator that tells people: the file of channels, and the clock by which it does. */
  readonly notifications?: {
    readonly yaml: string
    /** It runs so many times as fast, from hours ago at `sinceMs`: a lease of a minute lapses in seconds, and nothing is in the future. */
    readonly factor: number
    readonly sinceMs: number
  }
  /** Of a worker that runs the real functions in this tenant. */
  readonly tenant?: {
    readonly url: string
    readonly tenantId: string
    readonly vaultFolder: string
  }
}

/** Exit code of a process that found no database at start: its supervisor starts it again. */
export const NO_DATABASE = 75
/** The grace period of a platform before it kills. */
export const GRACE_MS = 25_000
const CHUNK = 100

export const chaosDoor = (db: Db, clock: Clock, bus = outbox(db, clock)): Engine => ({
  db,
  clock,
  runbooks: new RunbookCache(),
  functions: new FunctionBook(),
  random: Math.random,
  pace: new WorkerPace(200),
  queueLimitSec: 21_600,
  seen: { event: null },
  bus,
})

const outbox = (db: Db, clock: Clock, leaseMs?: number): Bus =>
  openPostgresBus({ db, clock, newToken: randomUUID, ...(leaseMs !== undefined && { leaseMs }) })

async function openBus({ serviceBus, leaseMs }: Part, db: Db | null, clock: Clock): Promise<Bus> {
  if (serviceBus === undefined) return outbox(db!, clock, leaseMs)
  const access = { connectionString: serviceBus }
  return openServiceBus({ db, clock, newToken: randomUUID, access })
}

/** Transient errors are expected; any other is a finding. */
function noticing(journal: Journal<'noticed'>, name: string): (error: unknown) => void {
  return (error) =>
    journal.write({
      what: isTransient(error) ? 'error' : 'unexpected',
      name,
      at: Date.now(),
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    })
}

/** The bus, which records acknowledgements and reported losses in the journal. */
function journaled(
  bus: Bus,
  name: string,
  effects: Journal<'effects'>,
  noticed: Journal<'noticed'>,
): Bus {
  const tellLost = (lost: ReceivedMessage[]) => {
    const message = lost.map(({ messageId }) => messageId).join(' ')
    const count = lost.length
    if (count > 0) noticed.write({ what: 'lease-lost', name, at: Date.now(), message, count })
    return lost
  }
  return {
    ...bus,
    receive: async (subscription, max) => {
      const askedAt = Date.now()
      const received = await bus.receive(subscription, max)
      for (const { topic, messageId: jobId } of received) {
        const taken = { what: 'taken', jobId, pid: process.pid, at: Date.now(), askedAt } as const
        if (topic === 'worker-jobs') effects.write(taken)
      }
      return received
    },
    ack: async (messages) => tellLost(await bus.ack(messages)),
    renew: async (messages) => tellLost(await bus.renew(messages)),
    publish: async (messages) => {
      await bus.publish(messages)
      for (const { type, body } of messages) {
        if (type === 'worker-result') {
          const { jobId } = body
          effects.write({ what: 'answered', jobId, pid: process.pid, at: Date.now() })
        }
      }
    },
  }
}

/** What the worker can do: leave a trace, or the real functions in a tenant. */
async function abilitiesOf(
  { tenant, workMs, resultBytes }: Part,
  effects: Journal<'effects'>,
  clock: Clock,
) {
  if (!tenant) return { functions: [effectFunction(effects, workMs, resultBytes)] }
  const secrets = await openFolderVault({ folder: tenant.vaultFolder, key: null })
  const connected = connect(configFor(tenant.url, tenant.tenantId), clock, secrets)
  return { functions: STANDARD_FUNCTIONS, tenant: connected }
}

async function servicesOf(
  part: Part,
  db: Db | null,
  clock: ReturnType<typeof realClock>,
): Promise<Service[]> {
  const { folder, name, seed, slots } = part
  const writer = `${name}-${process.pid}`
  const noticed = openJournal(folder, 'noticed', writer)
  const effects = openJournal(folder, 'effects', writer)
  const onError = noticing(noticed, name)
  const plain = await openBus(part, db, clock)
  // Without a database there is only a worker, which has no engine.
  const engine = db ? chaosDoor(db, clock, plain) : (undefined as unknown as Engine)
  const bus = journaled(plain, name, effects, noticed)
  const abilities = await abilitiesOf(part, effects, clock)
  const make: Record<Role, () => Service[]> = {
    orchestrator: () => [
      makeOrchestrator({ engine, bus, clock, chunk: CHUNK, onError }),
      ...(part.notifications ? [notificationsOf(part.notifications, engine, onError)] : []),
      everyLoop({
        name: 'restore watch',
        clock,
        intervalMs: RESTORE_LOOK_MS,
        onError,
        runOnce: watchRestores(engine, (reason) => console.error(reason)),
      }),
    ],
    worker: () => [
      new Worker({
        workerId: WORKER_ID,
        version: '1',
        bus,
        clock,
        ...abilities,
        maxParallelism: slots,
        onError,
      }),
    ],
    scheduler: () => [schedulerOf(part.sources!, engine, clock, onError)],
    api: () => [apiOf(part, engine, plain, clock)],
    operators: () => [
      makeOperators({
        engine,
        clock,
        seed,
        acknowledged: openJournal(folder, 'acknowledged', writer),
        onError,
      }),
    ],
  }
  const roles = part.roles.flatMap((role) => make[role]())
  if (!db) return roles
  const time = databaseClockLoop({ db, clock, onReport: () => {}, onError })
  const { relay } = plain.capabilities
  const relayLoop = relay ? [makeRelayLoop({ relay, clock, onError })] : []
  const disk = part.minFreeMb === undefined ? [] : diskServices(part, engine, onError)
  return [time, ...disk, ...relayLoop, ...roles]
}

const BEHIND_MS = 12 * 3_600_000

function notificationsOf(
  { yaml, factor, sinceMs }: NonNullable<Part['notifications']>,
  engine: Engine,
  onError: (error: unknown) => void,
): Service {
  const read = readNotificationSettings(yaml)
  if (!('settings' in read)) throw new Error(JSON.stringify(read.problems))
  const startAt = new Date(sinceMs - BEHIND_MS + (Date.now() - sinceMs) * factor)
  const clock = acceleratedClock({ factor, startAt })
  return makeNotifications({
    engine: { ...engine, clock },
    settings: read.settings,
    clock,
    tokens: { get: () => Promise.reject(new Error('there is no mail')) },
    certificates: { of: () => Promise.reject(new Error('there is no mail')) },
    graph: { url: 'http://127.0.0.1:1', scope: '' },
    newId: randomUUID,
    newToken: randomUUID,
    onError,
    onFailed: ({ channel, error }) => onError(new Error(`${channel} was not told: ${error}`)),
  })
}

const REQUESTS_PER_MIN = 100_000

function apiOf({ folder, name, apiPort }: Part, engine: Engine, bus: Bus, clock: Clock): Service {
  return openApi({
    config: {
      apiHost: '127.0.0.1',
      apiPort: apiPort!,
      apiTokenFile: `${folder}/${name}.token`,
      apiReadsPerMin: REQUESTS_PER_MIN,
      apiTrustedHops: 0,
      apiCorsOrigins: [],
      apiPublicPath: '/',
      oidcIssuers: [],
      oidcAudiences: [],
      oidcClientId: null,
      oidcApps: [],
      readPolicy: 'reader',
      auditKeptDays: null,
      auditHeadsFile: null,
      evidenceKey: null,
      evidenceKeyFile: null,
      poolSize: 5,
    },
    engine,
    bus,
    clock,
    log: createLog({ level: 'warn', format: 'json', clock, destination: process.stderr }),
  })
}

function schedulerOf(
  { folder, connections, intervalMs, timeoutMs, lanes }: NonNullable<Part['sources']>,
  engine: Engine,
  clock: Clock,
  onError: (error: unknown) => void,
): Service {
  const connection = (name: string) => connections[name]
  const settings = { connection, clock, tokens: makeSourceTokens(clock), folder, timeoutMs }
  return makeScheduler({
    engine,
    clock,
    intervalMs,
    lanes,
    newToken: randomUUID,
    onError,
    sources: { settings, open: openSource },
    onTick: () => {},
  })
}

const RESTORE_LOOK_MS = 1_000

/** As the program does: it looks again and again, and says what it has noticed. */
function watchRestores(engine: Engine, say: (reason: string) => void): () => Promise<void> {
  const look = makeRestoreWatch(engine)
  return async () => {
    const restored = await look()
    if (restored) say(restored.hold.reason)
  }
}

const RESUME_INTERVAL_MS = 1_000

/** The watch of the program, and a person who resumes as soon as it says that there is space again. */
function diskServices(
  { folder, minFreeMb = 0 }: Part,
  engine: Engine,
  onError: (error: unknown) => void,
): Service[] {
  const clock = realClock()
  const resume = everyLoop({
    name: 'resume',
    clock,
    intervalMs: RESUME_INTERVAL_MS,
    onError,
    runOnce: async () => {
      const hold = await findHold(engine.db, SYSTEM)
      if (hold?.heldBy === DISK_WATCH && /free again/.test(hold.reason))
        await resumeScope(engine, { ...SYSTEM, scope: 'system', actor: 'chaos' })
    },
  })
  const watched = { engine, clock, folder: `${folder}/pglite`, minFreeMb, onError }
  return [makeDiskWatch({ ...watched, onChange: (sentence) => console.error(sentence) }), resume]
}

async function open(part: Part): Promise<Db> {
  const { url, folder, statementTimeoutMs } = part
  if (url === undefined) {
    // As `up` does: it ends, and its supervisor starts it again.
    const onStopped = (error: Error) => {
      console.error(error.message)
      setImmediate(() => process.exit(NO_DATABASE))
    }
    return openPglite(`${folder}/pglite`, { onStopped })
  }
  return openPostgres({
    url,
    poolSize: 5,
    applicationName: part.name,
    statementTimeoutMs,
    answerGraceMs: 1_000,
    idleInTransactionMs: statementTimeoutMs / 2,
  })
}

async function run(part: Part): Promise<void> {
  const clock = realClock()
  const isWorkerOnly = part.roles.every((role) => role === 'worker')
  const db = part.serviceBus !== undefined && isWorkerOnly ? null : await open(part)
  if (db?.kind === 'pglite') await migrate(db, clock.now())
  if (db) await followDatabaseTime(db, clock)
  if (db && part.roles.includes('orchestrator')) await noticeRestore(chaosDoor(db, clock))
  const services = await servicesOf(part, db, clock)
  for (const service of services) service.start()
  process.send?.('ready')
  let isStopping = false
  process.on('SIGTERM', async () => {
    if (isStopping) return
    isStopping = true
    const giveUp = AbortSignal.timeout(GRACE_MS)
    const stops = await Promise.allSettled(services.map((service) => service.stop(giveUp)))
    const failed = stops.filter((stop) => stop.status === 'rejected')
    for (const { reason } of failed) console.error(reason)
    if (failed.length === 0) await db?.close()
    process.exit(failed.length === 0 ? 0 : 1)
  })
}

if (import.meta.main) {
  // The run that started this process is gone: end too.
  process.on('disconnect', () => process.exit(1))
  try {
    await run(JSON.parse(process.argv[2]!) as Part)
  } catch (error) {
    const isGone = error instanceof MatoolkitError && error.code === 'DATABASE_UNREACHABLE'
    if (!isGone && !isTransient(error)) throw error
    console.error(messageOf(error))
    process.exit(NO_DATABASE)
  }
}
