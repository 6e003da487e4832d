// The whole system in this process, turned by hand: a database in memory, the real bus, engine, scheduler, workers and functions, and a
// clock that stands still until nothing is in flight.
import { randomUUID } from 'node:crypto'
import manifest from '../../../package.json' with { type: 'json' }
import { type VirtualClock, virtualClock } from '../../base/run/clock.ts'
import { type Bus, ORCHESTRATOR_EVENTS, WORKER_RESULTS } from '../../bus/bus.ts'
import type { Db } from '../../db/connection/db.ts'
import { vacuumEmbedded } from '../../db/schema/vacuum.ts'
import { setNextBatchId } from '../../db/views/rehearsal.ts'
import type { NotificationSettings } from '../../domain/notifications/rules.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import type { TickReport } from '../../domain/sources/tick-report.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import { setAutomation } from '../../engine/orders/automation.ts'
import { publishRunbook } from '../../engine/orders/publish.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { FunctionBook } from '../../engine/transactions/function-book.ts'
import { RunbookCache } from '../../engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../engine/transactions/worker-pace.ts'
import { M365_CATALOGUE } from '../../m365/catalogue.ts'
import type { M365Tenant } from '../../m365/client/tenant.ts'
import { handleChunk } from '../../orchestrator/orchestrator.ts'
import { runTimers } from '../../orchestrator/timers.ts'
import { tickDueRunbooks } from '../../scheduler/scheduler.ts'
import type { OpenSource } from '../../scheduler/sources/source.ts'
import type { WorkerFunction } from '../../worker/functions/catalogue.ts'
import { Worker } from '../../worker/jobs/worker.ts'
import { openTransport } from '../roles/transports.ts'
import { busWithPast, type RehearsalPast } from './batch-so-far.ts'
import type { RehearsalRow } from './expected-tenants.ts'
import { openGates, type WaitAtGate } from './gates.ts'
import { RehearsedNotifications } from './notifications.ts'

const ACTOR = 'rehearsal'
const CHUNK = 500
const TICK_SEC = 300
const QUEUE_LIMIT_SEC = 21_600
const WORKER_LIMIT = 1_000
/** What has been done is repeated with the same slots, whatever comes after it. */
const PAST_SLOTS = 64
/** Rounds between two looks at dead rows. */
const VACUUM_ROUNDS = 50

export interface SystemOptions {
  readonly yaml: string
  readonly runbook: Runbook
  readonly columns: readonly string[]
  readonly rows: readonly RehearsalRow[]
  readonly startAt: Date
  /** Of the system. */
  readonly windows: ChangeWindows | null
  /** Of a worker, from the end of the past on. */
  readonly slotsOf: (workerId: string) => number
  readonly functions: readonly WorkerFunction[]
  /** A throw-away one with the schema. */
  readonly openDatabase: () => Promise<Db>
  /** Of a running batch; null for one that has not begun. */
  readonly past: RehearsalPast | null
  /** Channels and rules; null: only those of the runbook. */
  readonly notifications: NotificationSettings | null
  /** Opened once the clock exists. */
  readonly tenants: (clock: VirtualClock) => ReadonlyMap<string, M365Tenant>
}

/** What the scheduler finds. An error is an outage. */
export interface RehearsalSource {
  rows: readonly RehearsalRow[]
  outage: string | null
}

export class WholeProgram {
  readonly db: Db
  readonly clock: VirtualClock
  readonly engine: Engine
  readonly source: RehearsalSource
  readonly ticks: TickReport[] = []
  readonly errors: string[] = []
  /** Where the night would have waited. */
  readonly waits: WaitAtGate[] = []
  readonly #notifications: RehearsedNotifications
  readonly tickMs = TICK_SEC * 1_000
  readonly #bus: Bus
  readonly #options: SystemOptions
  readonly #tenants: ReadonlyMap<string, M365Tenant>
  readonly #workers = new Map<string, Worker>()
  readonly #lives = new Map<string, AbortController>()
  #rounds = 0
  #hasResults = false
  #renewedAtMs: number

  private constructor(options: SystemOptions, db: Db, bus: Bus, clock: VirtualClock) {
    this.#options = options
    this.db = db
    this.clock = clock
    this.#bus = bus
    const limits = limitsOf(options, clock)
    this.engine = {
      db,
      bus,
      clock,
      runbooks: new RunbookCache(),
      functions: new FunctionBook(M365_CATALOGUE.functions),
      // No jitter: two runs are alike.
      random: () => 0.5,
      get pace() {
        return limits().pace
      },
      get queueLimitSec() {
        return limits().queueLimitSec
      },
      seen: { event: null },
      windows: options.windows,
    }
    this.#tenants = options.tenants(clock)
    this.source = { rows: options.rows, outage: null }
    const { runbook, notifications } = options
    this.#notifications = new RehearsedNotifications(this.engine, runbook, notifications)
    this.#renewedAtMs = +clock.now()
  }

  /** Publishes the runbook and announces the workers. */
  static async open(options: SystemOptions): Promise<WholeProgram> {
    const clock = virtualClock(options.startAt)
    const db = await options.openDatabase()
    const bus = await openTransport({ transport: 'postgres' }, { db, clock, newToken: randomUUID })
    try {
      const system = new WholeProgram(options, db, bus, clock)
      await system.#begin()
      return system
    } catch (error) {
      await bus.close()
      await db.close()
      throw error
    }
  }

  async #begin(): Promise<void> {
    const { yaml, runbook, past } = this.#options
    if (past !== null) await setNextBatchId(this.db, past.batchId)
    await publishRunbook(this.engine, { yaml, publishedBy: ACTOR })
    const automation = { runbookName: runbook.name, isEnabled: true, actor: ACTOR }
    await setAutomation(this.engine, automation)
    for (const workerId of this.#tenants.keys()) await this.startWorker(workerId)
  }

  async startWorker(workerId: string): Promise<void> {
    const tenant = this.#tenants.get(workerId)!
    const alive = new AbortController()
    const slotsNow = () => (this.isInPast ? PAST_SLOTS : this.#options.slotsOf(workerId))
    const worker = new Worker({
      workerId,
      version: manifest.version,
      bus: busWhileAlive(this.#busOfWorkers(), alive.signal),
      clock: this.clock,
      tenant,
      functions: this.#options.functions,
      get maxParallelism() {
        return slotsNow()
      },
      drainMs: 0,
      onResult: () => {
        this.#hasResults = true
      },
      onError: (error) => void this.errors.push(String(error)),
    })
    this.#workers.set(workerId, worker)
    this.#lives.set(workerId, alive)
    await worker.sendHello(this.clock.now())
  }

  #busOfWorkers(): Bus {
    const { past } = this.#options
    return past === null ? this.#bus : busWithPast(this.#bus, this.db, this.clock, past)
  }

  /** The orchestrator hears of other slots. */
  async announceWorkers(): Promise<void> {
    for (const worker of this.#workers.values()) await worker.sendHello(this.clock.now())
  }

  /** Jobs wait for the end of the past, which comes by itself. */
  get isInPast(): boolean {
    const { past } = this.#options
    return past !== null && this.clock.now() < past.at
  }

  /** It dies without a word: its jobs are neither ended nor given back. */
  async killWorker(workerId: string): Promise<void> {
    const worker = this.#workers.get(workerId)
    this.#workers.delete(workerId)
    this.#lives.get(workerId)?.abort()
    await worker?.stop()
  }

  /** A job has ended since the last `settle`. */
  get hasResults(): boolean {
    return this.#hasResults
  }

  get workerIds(): string[] {
    return [...this.#tenants.keys()]
  }

  isUp(workerId: string): boolean {
    return this.#workers.has(workerId)
  }

  /** Does all that can be done at this moment. */
  async settle(): Promise<void> {
    for (;;) {
      await this.#keepHouse()
      await this.#calm()
      this.#hasResults = false
      for (const worker of this.#workers.values()) await worker.sendResults()
      let done = (await this.#consume()) + (await runTimers(this.engine))
      for (const worker of this.#workers.values()) done += await worker.takeJobs()
      if (done === 0 && !(await this.#openGates())) return
    }
  }

  /** Whether one was closed. */
  async #openGates(): Promise<boolean> {
    if (this.#options.runbook.phases.every(({ gate }) => gate === null)) return false
    const waits = await openGates(this.engine, () => this.lookForConditions())
    this.waits.push(...waits)
    return waits.length > 0
  }

  /** Of what is repeated no one is told again. */
  async lookForConditions(): Promise<void> {
    if (!this.isInPast) await this.#notifications.look()
  }

  /** The next moment at which somebody hears of something though nothing happens. */
  nextNewsMs(): Promise<number> {
    return this.#notifications.nextMs()
  }

  async #consume(): Promise<number> {
    let handled = 0
    for (const subscription of [ORCHESTRATOR_EVENTS, WORKER_RESULTS]) {
      const received = await this.#bus.receive(subscription, CHUNK)
      if (received.length === 0) continue
      handled += received.length
      const outcomes = await handleChunk(this.engine, received)
      const acked = received.filter((_, index) => outcomes[index] === 'ack')
      if (acked.length > 0) await this.#bus.ack(acked)
      for (const [index, message] of received.entries()) {
        const outcome = outcomes[index]!
        if (outcome === 'abandon') await this.#bus.abandon([message])
        else if (typeof outcome === 'object')
          await this.#bus.deadLetter([message], outcome.deadLetter, outcome.description)
      }
    }
    return handled
  }

  /** Woken code has run until it waits for the clock again: functions do no I/O here. */
  async #calm(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
  }

  async #keepHouse(): Promise<void> {
    this.#rounds += 1
    const nowMs = +this.clock.now()
    if (nowMs - this.#renewedAtMs >= this.#bus.leaseMs / 3) {
      this.#renewedAtMs = nowMs
      for (const worker of this.#workers.values()) await worker.renewLeases()
      await this.announceWorkers()
      await this.#bus.sweep()
    }
    if (this.#rounds % VACUUM_ROUNDS === 0) await vacuumEmbedded(this.db)
  }

  async hasMessages(): Promise<boolean> {
    const { messages } = await this.#bus.depth()
    return messages.some(({ count }) => count > 0)
  }

  async tick(): Promise<void> {
    await tickDueRunbooks(
      {
        engine: this.engine,
        clock: this.clock,
        sources: { settings: this.#sourceSettings(), open: this.#openSource() },
        intervalMs: TICK_SEC * 1_000,
        lanes: 1,
        newToken: randomUUID,
        onTick: (report) => void this.ticks.push(report),
        onError: (error) => void this.errors.push(String(error)),
      },
      new AbortController().signal,
    )
  }

  #sourceSettings() {
    return {
      connection: () => undefined,
      clock: this.clock,
      tokens: { get: () => Promise.reject(new Error('a rehearsal has no tokens')) },
      folder: null,
      timeoutMs: TICK_SEC * 1_000,
    }
  }

  #openSource(): OpenSource {
    const { columns } = this.#options
    const { source } = this
    return async () => {
      if (source.outage !== null) throw new Error(source.outage)
      const { rows } = source
      return {
        columns: columns.map((name) => ({ name, type: 'text' as const })),
        rows: (async function* () {
          for (let at = 0; at < rows.length; at += CHUNK) yield rows.slice(at, at + CHUNK)
        })(),
        close: async () => {},
      }
    }
  }

  async close(): Promise<void> {
    await this.#bus.close()
    await this.db.close()
  }
}

/** In the past every job is sent and none expires: those of the steps to come wait for its end. */
function limitsOf(
  { past, rows, startAt }: SystemOptions,
  clock: VirtualClock,
): () => Pick<Engine, 'pace' | 'queueLimitSec'> {
  const usual = { pace: new WorkerPace(WORKER_LIMIT), queueLimitSec: QUEUE_LIMIT_SEC }
  if (past === null) return () => usual
  const aheadMs = +past.at - +startAt + WORKER_LIMIT
  const inPast = {
    pace: new WorkerPace(WORKER_LIMIT + rows.length, { aheadMs: aheadMs * WORKER_LIMIT }),
    queueLimitSec: QUEUE_LIMIT_SEC + aheadMs / 1_000,
  }
  return () => (clock.now() < past.at ? inPast : usual)
}

/** Nothing that a dead worker does reaches the bus. */
const busWhileAlive = (bus: Bus, dead: AbortSignal): Bus => ({
  ...bus,
  publish: async (messages) => (dead.aborted ? undefined : bus.publish(messages)),
  ack: async (messages) => (dead.aborted ? [] : bus.ack(messages)),
  abandon: async (messages, delayMs) => (dead.aborted ? undefined : bus.abandon(messages, delayMs)),
})
