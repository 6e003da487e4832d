// Creates a world from its seed: the clock, the faults, two orchestrators, the workers, and the process that serves operators.
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { makeChance } from './chance.ts'
import { drawFaults, type Fault } from './faults.ts'
import type { Broker } from './faulty-bus.ts'
import { makeJournal } from './journal.ts'
import { drawNight, systemWindowsOf } from './night.ts'
import { watchCommits } from './night-checks.ts'
import { startOffice } from './office.ts'
import { startOrchestrator } from './orchestrator.ts'
import { hasSource } from './source.ts'
import { makeWorkers } from './worker.ts'
import type { World, WorldClock } from './world.ts'

const START_MS = Date.UTC(2026, 2, 2, 8)
const ORCHESTRATORS = 2
const PAUSE_MAX_MS = 10_000

export interface WorldOptions {
  readonly db: Db
  readonly seed: number
  readonly only?: ReadonlySet<Fault>
}

function worldClock(): WorldClock {
  let nowMs = START_MS
  return {
    kind: 'virtual',
    now: () => new Date(nowMs),
    nowMs: () => nowMs,
    turn: (ms) => {
      nowMs += ms
    },
    // A short pause passes while everything else stands still. A long one (until leases are renewed) outlasts any event: it ends
    // only by its abort signal.
    wait: async (ms, signal) => {
      if (signal?.aborted) return
      if (ms <= PAUSE_MAX_MS) nowMs += ms
      else await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    },
  }
}

export function makeWorld({ db, seed, only }: WorldOptions): World {
  const root = makeChance(seed)
  const clock = worldClock()
  const ofSource = hasSource(seed) ? root.stream('faults of the source') : null
  const faults = drawFaults(root.stream('faults'), ofSource, only)
  const found: string[] = []
  const journal = makeJournal(db, found)
  const night = drawNight(seed)
  const broker: Broker = {
    copies: [],
    nowMs: clock.nowMs,
    acknowledged: (messages) => journal.acknowledged(messages),
  }
  const world: World = {
    seed,
    db,
    processDb: night ? watchCommits(db, night, found) : db,
    night,
    systemWindows: systemWindowsOf(night),
    bus: openPostgresBus({ db, clock, newToken: root.stream('broker').uuid }),
    clock,
    chance: root.stream('events'),
    turnTo: (moment) => {
      root.turnTo(moment)
      night?.chance.turnTo(moment)
      night?.effects?.turnTo(moment)
    },
    faults,
    broker,
    journal,
    orchestrators: [],
    workers: [],
    office: undefined as never,
    maxOutstanding: root.stream('window').pick([2, 6, 1_000, 1_000]),
    queueLimitSec: root.stream('queue limit').pick([120, 600, 21_600]),
    log: [],
    found,
    frozen: 0,
    lastLooked: 0,
  }
  startOffice(world)
  for (let i = 0; i < ORCHESTRATORS; i++) world.orchestrators.push(startOrchestrator(world, i))
  world.workers.push(...makeWorkers(world))
  return world
}
