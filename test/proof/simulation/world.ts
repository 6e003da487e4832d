// The simulated world: one database, a clock that only events turn, the broker, and the processes.
import { createHash } from 'node:crypto'
import { messageOf } from '../../../src/base/errors/errors.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import type { Consumer } from '../../../src/bus/consumer.ts'
import { openPostgresBus, type PostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import type { ChangeWindows } from '../../../src/domain/windows/change-windows.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { FunctionBook } from '../../../src/engine/transactions/function-book.ts'
import { RunbookCache } from '../../../src/engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../../src/engine/transactions/worker-pace.ts'
import type { Chance } from './chance.ts'
import type { Faults } from './faults.ts'
import { type Broker, faultyBus } from './faulty-bus.ts'
import { faultyDb, Simulated } from './faulty-db.ts'
import type { Journal } from './journal.ts'
import type { Night } from './night.ts'
import type { Process } from './process.ts'
import type { SimulatedWorker } from './worker.ts'

export interface WorldClock extends Clock {
  nowMs(): number
  turn(ms: number): void
}

export interface Orchestrator {
  readonly process: Process
  readonly engine: Engine
  readonly events: Consumer
  readonly results: Consumer
}

export interface World {
  readonly seed: number
  /** The database without faults, for checks and for the broker's own actions. */
  readonly db: Db
  /** The database as processes reach it, before their faults. */
  readonly processDb: Db
  /** Null: this seed has no gate, ramp or change window, and nothing to undo. */
  readonly night: Night | null
  readonly systemWindows: ChangeWindows | null
  readonly bus: PostgresBus
  readonly clock: WorldClock
  readonly chance: Chance
  /** Starts the next event: every random stream restarts. */
  readonly turnTo: Chance['turnTo']
  readonly faults: Faults
  readonly broker: Broker
  readonly journal: Journal
  readonly orchestrators: Orchestrator[]
  readonly workers: SimulatedWorker[]
  /** Hook for operators and the scheduler. */
  office: { readonly process: Process; readonly engine: Engine }
  readonly maxOutstanding: number
  readonly queueLimitSec: number
  /** The log, line by line. */
  readonly log: string[]
  /** Broken promises. The run ends after the event that found one. */
  readonly found: string[]
  /** Number of events for which the clock still stands. */
  frozen: number
  /** The engine's last event that the checks have seen. */
  lastLooked: number
}

/** A process's own connection and bus. */
export function connect(world: World, process: Process): { engine: Engine; bus: PostgresBus } {
  const { clock, faults, broker, chance, maxOutstanding } = world
  const db = faultyDb(world.processDb, process, faults, chance)
  const plain = openPostgresBus({ db, clock, newToken: chance.uuid })
  return {
    bus: faultyBus(plain, process, broker, faults, chance),
    engine: {
      db,
      clock,
      runbooks: new RunbookCache(),
      functions: new FunctionBook(),
      random: chance.fraction,
      pace: new WorkerPace(maxOutstanding),
      queueLimitSec: world.queueLimitSec,
      seen: { event: null },
      bus: plain,
      windows: world.systemWindows,
    },
  }
}

/** Runs work as this process. Database failures are expected; any other error is a finding. */
export async function attempt(
  world: World,
  process: Process,
  work: () => Promise<unknown>,
): Promise<'done' | 'crashed' | 'failed'> {
  try {
    const end = await process.run(work)
    if (end !== 'crashed') return 'done'
    world.log.push(`  ${process.name} crashed`)
    return 'crashed'
  } catch (error) {
    expectTransient(world, process.name, error)
    return 'failed'
  }
}

export function expectTransient(world: World, who: string, error: unknown): void {
  world.log.push(`  ${who}: ${messageOf(error)}`)
  if (!(error instanceof Simulated))
    world.found.push(`${who} met an error that nobody planned: ${messageOf(error)}`)
}

/** Equal for two runs only if the same happened in the same order. */
export async function fingerprint({ db, log }: World): Promise<string> {
  const events = await db.query(
    `select at, batch_id, batch_member_id, phase_id, step_id, entity, event, from_status, to_status, attempt, job_id, actor,
            because from events order by id`,
  )
  const hash = createHash('sha256').update(log.join('\n'))
  return hash.update(JSON.stringify(events)).digest('hex').slice(0, 16)
}
