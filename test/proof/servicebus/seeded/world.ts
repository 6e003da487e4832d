// A seeded world on Service Bus: PGlite, a virtual clock, the tests' broker, and processes that are clients of their own by the real SDK.
// The seed decides what happens and which fault comes when; the timing of sockets is the machine's.

import {
  type Clock,
  realClock,
  type VirtualClock,
  virtualClock,
} from '../../../../src/base/run/clock.ts'
import {
  type Bus,
  ORCHESTRATOR_EVENTS,
  type Subscription,
  WORKER_RESULTS,
} from '../../../../src/bus/bus.ts'
import { type Consumer, makeConsumer } from '../../../../src/bus/consumer.ts'
import { openServiceBus } from '../../../../src/bus/servicebus/servicebus-bus.ts'
import type { Db } from '../../../../src/db/connection/db.ts'
import type { Engine } from '../../../../src/engine/transactions/engine.ts'
import { FunctionBook } from '../../../../src/engine/transactions/function-book.ts'
import { RunbookCache } from '../../../../src/engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../../../src/engine/transactions/worker-pace.ts'
import { makeHandler } from '../../../../src/orchestrator/orchestrator.ts'
import type { Broker } from '../../../kit/broker/broker.ts'
import { openNamespace } from '../../../kit/namespace.ts'
import type { RenewableDb } from '../../../kit/renewable-pglite.ts'
import { type Behaviour, drawBehaviour } from '../../simulation/behaviour.ts'
import { type Chance, makeChance } from '../../simulation/chance.ts'
import { WORKERS } from '../../simulation/runbooks.ts'
import { makeWorkerProcess, type WorkerProcess } from './worker.ts'

const START = new Date('2026-03-02T08:00:00.000Z')
/** Short, because a lost answer costs a whole try. */
const RETRY = { maxRetries: 2, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 150 }
const QUEUE_LIMIT_SEC = 600
const CHUNK = 8
/** Pauses of consumers: the seed turns the time, and nobody turns it while they wait. */
const HURRY = 100

export interface Orchestrator {
  readonly engine: Engine
  readonly bus: Bus
  readonly events: Consumer
  readonly results: Consumer
  /** The next statement that begins so is the process's last. */
  diesAt(beginning: string | null): void
}

export interface SeededWorld {
  readonly seed: number
  readonly db: Db
  readonly clock: VirtualClock
  readonly broker: Broker
  readonly chance: Chance
  readonly behaviour: Behaviour
  readonly faults: { isHealed: boolean }
  readonly orchestrators: Orchestrator[]
  readonly workers: WorkerProcess[]
  /** Job ids, once for each time that one took effect. */
  readonly effects: string[]
  /** Jobs that may run again: their process died, their lock was lost, or they were sent again after the window of duplicates. */
  readonly excused: Set<string>
  /** Jobs that a relay sent, perhaps, and did not live to mark. */
  readonly sentByTheDead: { readonly ids: readonly string[]; readonly at: number }[]
  readonly occurred: Map<string, number>
  readonly found: string[]
  readonly log: string[]
  openBus(db: Db | null): Promise<Bus>
  replaceOrchestrator(place: number): Promise<void>
  replaceWorker(place: number): Promise<void>
  close(): Promise<void>
}

export async function openSeededWorld(seed: number, db: RenewableDb): Promise<SeededWorld> {
  await db.renew()
  const clock = virtualClock(START)
  const { broker, connectionString } = await openNamespace(clock, WORKERS)
  const chance = makeChance(seed)
  const faults = { isHealed: false }
  const opened: Bus[] = []
  const busClock: Clock = { ...clock, wait: realClock().wait }
  const world: SeededWorld = {
    seed,
    db,
    clock,
    broker,
    chance,
    faults,
    behaviour: drawBehaviour({ chance, faults } as Parameters<typeof drawBehaviour>[0]),
    orchestrators: [],
    workers: [],
    effects: [],
    excused: new Set(),
    occurred: new Map(),
    found: [],
    log: [],
    sentByTheDead: [],
    openBus: async (own) => {
      const access = { connectionString }
      const given = { db: own, clock: busClock, newToken: chance.uuid, retry: RETRY, access }
      const bus = await openServiceBus(given)
      opened.push(bus)
      return bus
    },
    replaceOrchestrator: async (place) => {
      world.orchestrators[place] = await makeOrchestrator(world)
    },
    replaceWorker: async (place) => {
      const workerId = WORKERS[place % WORKERS.length]!
      world.workers[place] = await makeWorkerProcess(world, workerId)
    },
    close: async () => {
      await Promise.all(opened.map((bus) => bus.close()))
      await broker.close()
    },
  }
  for (const place of [0, 1]) await world.replaceOrchestrator(place)
  // Two processes of each worker.
  for (const place of [0, 1, 2, 3]) await world.replaceWorker(place)
  return world
}

async function makeOrchestrator(world: SeededWorld): Promise<Orchestrator> {
  let lastWords: string | null = null
  const query: Db['query'] = (sql, values) =>
    lastWords !== null && sql.startsWith(lastWords)
      ? Promise.reject(new Died())
      : world.db.query(sql, values)
  const db = { ...world.db, query } as Db
  const bus = await world.openBus(db)
  const engine: Engine = {
    db,
    clock: world.clock,
    bus,
    runbooks: new RunbookCache(),
    functions: new FunctionBook(),
    random: () => 0.5,
    pace: new WorkerPace(20),
    queueLimitSec: QUEUE_LIMIT_SEC,
    seen: { event: null },
  }
  const consumer = (subscription: Subscription) =>
    makeConsumer({
      name: 'orchestrator',
      bus,
      subscription,
      chunk: CHUNK,
      handle: makeHandler(engine),
      clock: { ...world.clock, wait: (ms, signal) => realClock().wait(ms / HURRY, signal) },
      onError: (error) => expectTransient(world, error),
    })
  return {
    engine,
    bus,
    events: consumer(ORCHESTRATOR_EVENTS),
    results: consumer(WORKER_RESULTS),
    diesAt: (beginning) => {
      lastWords = beginning
    },
  }
}

export class Died extends Error {}

const EXPECTED = ['BUS_UNREACHABLE', 'BUS_REFUSED', 'REFUSED', 'BATCH_EXISTS']

/** Any other error is a finding. */
export function expectTransient(world: SeededWorld, error: unknown): void {
  const { code, message } = error as { code?: string; message: string }
  world.log.push(`  ${message}`)
  if (error instanceof Died || EXPECTED.includes(code ?? '')) return
  world.found.push(`an error that no fault explains: ${(error as Error).stack ?? message}`)
}

export function count(world: SeededWorld, what: string): void {
  world.occurred.set(what, (world.occurred.get(what) ?? 0) + 1)
}
