// The scheduler: asks every runbook's source when it is due. A few lanes take what is due, one runbook at a time each, so a slow
// source keeps its own lane busy and nobody else waiting. Phases, polls and retries are not its business at all: they are columns
// that the orchestrator looks at. Any number of schedulers may run; the lease in the database decides who asks.
import type { Clock } from '../clock.ts'
import { listDueRunbooks } from '../db/ticks.ts'
import { everyLoop, type Service } from '../service.ts'
import { type TickOptions, type TickReport, tick } from './tick.ts'

/** How often a lane looks for something due. Much shorter than any interval between ticks. */
const LOOK_INTERVAL_MS = 5_000
const DUE_PER_LOOK = 100
const BY_CLOCK = { startedBy: 'scheduler', evenIfNotDue: false }

export interface SchedulerOptions extends Omit<TickOptions, 'startedBy' | 'evenIfNotDue'> {
  readonly clock: Clock
  /** How many sources are asked at the same time. */
  readonly lanes: number
  readonly onTick: (report: TickReport) => void
  readonly onError: (error: unknown) => void
}

/** One lane: ticks one due runbook after the other until it finds none that it may. Returns how many it did. */
export async function tickWhatIsDue(
  options: SchedulerOptions,
  stopping: AbortSignal,
): Promise<number> {
  const { engine, clock, onTick, onError } = options
  let ticked = 0
  for (;;) {
    let found = 0
    for (const { name } of await listDueRunbooks(engine.db, clock.now(), DUE_PER_LOOK)) {
      if (stopping.aborted) return ticked
      try {
        // Null when another lane was faster; then the next one is tried.
        const report = await tick({ ...options, ...BY_CLOCK }, name, stopping)
        if (!report) continue
        found += 1
        onTick(report)
      } catch (error) {
        onError(error)
      }
    }
    ticked += found
    if (found === 0) return ticked
  }
}

export function makeScheduler(options: SchedulerOptions): Service {
  const { clock, lanes, onError } = options
  const loops = Array.from({ length: lanes }, (_, index) =>
    everyLoop({
      name: `scheduler lane ${index + 1}`,
      clock,
      intervalMs: LOOK_INTERVAL_MS,
      runOnce: (_now, stopping) => tickWhatIsDue(options, stopping),
      onError,
    }),
  )
  return {
    name: 'scheduler',
    start: () => {
      for (const loop of loops) loop.start()
    },
    stop: async (giveUp) => {
      await Promise.all(loops.map((loop) => loop.stop(giveUp)))
    },
  }
}
