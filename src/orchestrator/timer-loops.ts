// The orchestrator's timers, in three loops: phases begin at their time however much else is due, and nobody waits while slots are
// filled. Each looks every second, and at once when nudged; the phases' loop also when the next phase falls due. On a grid of a second
// an even load came in bursts, and results waited in them.
import type { Clock } from '../base/run/clock.ts'
import { everyLoop, type Service } from '../base/run/service.ts'
import { findNextPhaseDue } from '../db/state/phases.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import { continueWork, fillWorkers, settleHolds, startDuePhases } from './timers.ts'

const INTERVAL_MS = 1_000
/** Phases that fall due within this time after a look begin together: 300 batches must not be 300 transactions. */
const PHASES_TOGETHER_MS = 100

export interface Timers {
  readonly loops: readonly Service[]
  /** Something is due now. */
  nudge(): void
  /** Slots may be free. */
  fill(): void
}

export function makeTimers(
  engine: Engine,
  clock: Clock,
  onError: (error: unknown) => void,
): Timers {
  const loop = (name: string, run: () => Promise<number>) =>
    everyLoop({
      name,
      clock,
      intervalMs: INTERVAL_MS,
      runOnce: async (_now, stopping) => {
        while (!stopping.aborted && (await run()) > 0);
      },
      onError,
    })
  const startPhases = joined(() => startDuePhases(engine))
  const phases = everyLoop({
    name: 'phases',
    clock,
    intervalMs: INTERVAL_MS,
    runOnce: async (now, stopping) => {
      let lookedAt = now
      while (!stopping.aborted && (await startPhases()) > 0) {
        work.nudge()
        lookedAt = clock.now()
      }
      const until = new Date(+lookedAt + INTERVAL_MS)
      const next = await findNextPhaseDue(engine.db, lookedAt, until)
      return next && new Date(Math.max(+next, +lookedAt + PHASES_TOGETHER_MS))
    },
    onError,
  })
  const work = loop('timers', async () => {
    // All due phases begin before one is worked on.
    const done = (await settleHolds(engine)) + (await startPhases()) + (await continueWork(engine))
    if (done > 0) slots.nudge()
    return done
  })
  let filledAt = Number.NEGATIVE_INFINITY
  const slots = loop('slots', () => {
    const now = +clock.now()
    if (now - filledAt < INTERVAL_MS) return fillWorkers(engine, 'large')
    filledAt = now
    return fillWorkers(engine)
  })
  return {
    loops: [phases, work, slots],
    nudge: () => {
      phases.nudge()
      work.nudge()
    },
    fill: slots.nudge,
  }
}

/** Who calls while a run is under way gets its result: two runs would lock the same batches. */
function joined(run: () => Promise<number>): () => Promise<number> {
  let running: Promise<number> | null = null
  return () => {
    running ??= run().finally(() => {
      running = null
    })
    return running
  }
}
