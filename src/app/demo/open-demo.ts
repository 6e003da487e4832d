// Sets up the whole system in this process: a database in memory, an accelerated clock, orchestrator and workers as in production,
// two sandbox tenants, and the dashboard in front of it. No work is started yet.
import { randomUUID } from 'node:crypto'
import manifest from '../../../package.json' with { type: 'json' }
import { messageOf } from '../../base/errors/errors.ts'
import { acceleratedClock, type Clock, MACHINE, realClock } from '../../base/run/clock.ts'
import type { Service } from '../../base/run/service.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { Db } from '../../db/connection/db.ts'
import { requireClockFits } from '../../db/connection/time.ts'
import { openDisposable } from '../../db/schema/disposable-pglite.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { FunctionBook } from '../../engine/transactions/function-book.ts'
import { RunbookCache } from '../../engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../engine/transactions/worker-pace.ts'
import { M365_CATALOGUE } from '../../m365/catalogue.ts'
import type { M365Tenant } from '../../m365/client/tenant.ts'
import { STANDARD_FUNCTIONS } from '../../m365/functions/standard.ts'
import { makeOrchestrator } from '../../orchestrator/orchestrator.ts'
import { Worker } from '../../worker/jobs/worker.ts'
import { openTransport } from '../roles/transports.ts'
import { openDemoDashboard } from './dashboard.ts'
import {
  createSampleBatch,
  type ExampleMember,
  LATE_JOINER,
  readSample,
  type Sample,
  type StoryEvent,
  storyOf,
} from './sample.ts'
import { type DemoTenants, type DemoUser, openDemoTenants } from './tenants.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** The clock starts this long before the first phase: time for the init step, and for the viewer. */
const LEAD_MS = 5 * MINUTE_MS
const TARGET_WORKER = 'contoso-worker'
const SOURCE_WORKER = 'fabrikam-worker'
const WORKER_SLOTS = 60
/** Results are collected this long: the in-process database is faster with larger transactions. */
const GATHER_REAL_MS = 200
const CHUNK = 500
/** In the viewer's time: a busy machine may stall for seconds. */
const LEASE_REAL_MS = 20_000
const AHEAD_REAL_MS = 2_000

/** Speed of the demonstration: to watch, or to finish soon. */
interface Pace {
  /** Seconds of the migration per second of the viewer. */
  readonly clockFactor: number
  readonly frameMs: number
  /** How far the clock skips between two frames while nothing is due. */
  readonly strideMs: number
  /** After this time it counts as stuck. */
  readonly limitMs: number
}
const WATCHED: Pace = {
  clockFactor: 20,
  frameMs: 200,
  strideMs: 8 * 60 * MINUTE_MS,
  limitMs: 600_000,
}
/** A faster clock makes idle loops spin: 10 and 100 ms took a fifth more processor time. */
const FAST: Pace = {
  clockFactor: 4,
  frameMs: 300,
  strideMs: 30 * DAY_MS,
  limitMs: 600_000,
}

export interface Demo {
  readonly pace: Pace
  readonly db: Db
  readonly bus: Bus
  readonly clock: DemoClock
  readonly beganAt: Date
  readonly batchId: number
  readonly membersExpected: number
  readonly services: readonly Service[]
  readonly tenants: DemoTenants
  /** Opens the dashboard. */
  readonly link: string
  /** What is left to happen, in order. */
  readonly story: StoryEvent[]
  readonly errors: string[]
  close(): Promise<void>
}

export function openDemo(io: Io, { isFast = false } = {}): Promise<Demo> {
  return openSystem(readSample(), isFast ? FAST : WATCHED, io)
}

async function openSystem(sample: Sample, pace: Pace, io: Io): Promise<Demo> {
  const { runbook, members, startTime } = sample
  const firstOffset = Math.max(...runbook.phases.map(({ offsetMinutes }) => offsetMinutes))
  const beganAt = new Date(+startTime - firstOffset * MINUTE_MS - LEAD_MS)
  io.out('Starting an in-memory PostgreSQL …')
  const db = await openDisposable(null)
  const clock = demoClock(beganAt, pace.clockFactor)
  await requireClockFits(db, clock)
  const leaseMs = LEASE_REAL_MS * pace.clockFactor
  const transport = { transport: 'postgres' } as const
  const bus = await openTransport(transport, { db, clock, newToken: randomUUID, leaseMs })
  const engine: Engine = {
    db,
    bus,
    clock,
    runbooks: new RunbookCache(),
    functions: new FunctionBook(M365_CATALOGUE.functions),
    // No jitter: two runs are alike.
    random: () => 0.5,
    pace: new WorkerPace(1_000, { aheadMs: AHEAD_REAL_MS * pace.clockFactor }),
    queueLimitSec: 21_600,
    seen: { event: null },
  }
  const batchId = await createSampleBatch(engine, sample, io)
  io.out('Starting two sandbox tenants, an orchestrator and a worker for each tenant.')
  const tenants = await openDemoTenants([...members.map(demoUserOf), LATE_JOINER], clock)
  const errors: string[] = []
  const onError = (error: unknown) => void errors.push(messageOf(error))
  const dashboard = await openDemoDashboard(engine, bus, clock, onError)
  io.out(`Watch it in your browser: ${dashboard.link}`)
  return {
    pace,
    db,
    bus,
    clock,
    beganAt,
    batchId,
    membersExpected: members.length + 1,
    services: servicesOf(engine, bus, clock, tenants, onError),
    tenants,
    link: dashboard.link,
    story: storyOf(engine, batchId, sample),
    errors,
    close: async () => {
      await dashboard.close()
      await tenants.close()
      await bus.close()
      await db.close()
    },
  }
}

const demoUserOf = ({ data }: ExampleMember): DemoUser => data as unknown as DemoUser

function servicesOf(
  engine: Engine,
  bus: Bus,
  clock: Clock,
  { target, source }: DemoTenants,
  onError: (error: unknown) => void,
): Service[] {
  const gathering = gatheringBus(bus)
  const workerFor = (workerId: string, tenant: M365Tenant) =>
    new Worker({
      workerId,
      version: manifest.version,
      bus: gathering,
      clock,
      tenant,
      functions: STANDARD_FUNCTIONS,
      maxParallelism: WORKER_SLOTS,
      // Ctrl-C must end the demonstration at once.
      drainMs: 0,
      onError,
    })
  return [
    makeOrchestrator({ engine, bus, clock, chunk: CHUNK, onError }),
    workerFor(TARGET_WORKER, target),
    workerFor(SOURCE_WORKER, source),
  ]
}

/** Delays each publish, so that a worker collects more results for the next one. */
function gatheringBus(bus: Bus): Bus {
  const machine = realClock()
  return {
    ...bus,
    publish: async (messages) => {
      await machine.wait(GATHER_REAL_MS)
      await bus.publish(messages)
    },
  }
}

/** An accelerated clock that can skip ahead. */
interface DemoClock extends Clock {
  skip(ms: number): void
}

function demoClock(startAt: Date, factor: number): DemoClock {
  let skippedMs = 0
  const steadyMs = () => MACHINE.steadyMs() + skippedMs / factor
  return {
    ...acceleratedClock({ factor, startAt, machine: { ...MACHINE, steadyMs } }),
    skip: (ms) => {
      skippedMs += ms
    },
  }
}
