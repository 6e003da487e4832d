// The scheduler: ticks every runbook when it is due. A few lanes take due runbooks one at a time, so a slow source blocks its
// own lane only. Phases, polls and retries are the orchestrator's. Any number of schedulers may run; the lease in the database
// decides who ticks.
import type { Clock } from '../clock.ts'
import { listDueRunbooks } from '../db/ticks.ts'
import type { TickReport } from '../domain/detection/tick-report.ts'
import { everyLoop, type Service } from '../service.ts'
import { type TickOptions, tick } from './tick.ts'

/** How often a lane polls for due runbooks; much shorter than any tick interval. */
const POLL_INTERVAL_MS = 5_000
const DUE_PER_POLL = 100
const BY_CLOCK = { startedBy: 'scheduler', evenIfNotDue: false }

export interface SchedulerOptions extends Omit<TickOptions, 'startedBy' | 'evenIfNotDue'> {
  readonly clock: Clock
  /** Sources queried at the same time. */
  readonly lanes: number
  readonly onTick: (report: TickReport) => void
  readonly onError: (error: unknown) => void
}

/** One lane: ticks due runbooks until none is left that it may take. Returns how many it ticked. */
export async function tickDueRunbooks(
  options: SchedulerOptions,
  stopping: AbortSignal,
): Promise<number> {
  const { engine, clock, onTick, onError } = options
  let ticked = 0
  for (;;) {
    let found = 0
    for (const { name } of await listDueRunbooks(engine.db, clock.now(), DUE_PER_POLL)) {
      if (stopping.aborted) return ticked
      try {
        // Null when another lane was faster.
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
      intervalMs: POLL_INTERVAL_MS,
      runOnce: (_now, stopping) => tickDueRunbooks(options, stopping),
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
