// The scheduler: ticks every runbook when it is due. A few ticks work at the same time; those that wait for their source do not count,
// so a slow source costs its own ticks only. Phases, polls and retries are the orchestrator's. Any number of schedulers may run; the
// lease in the database decides who ticks.
import type { Clock } from '../base/run/clock.ts'
import { endedOrGivenUp, everyLoop, type Service } from '../base/run/service.ts'
import { listDueRunbooks } from '../db/sources/ticks.ts'
import type { TickReport } from '../domain/sources/tick-report.ts'
import { leavingWhileWaiting, makeLanes } from './lanes.ts'
import { type TickOptions, tick } from './tick.ts'

/** How often it looks for due runbooks; much shorter than any tick interval. */
const POLL_INTERVAL_MS = 5_000
const DUE_PER_POLL = 100
/** Ticks under way at the same time, waiting ones included. */
const TICKS_MAX = 64
const BY_CLOCK = { startedBy: 'scheduler', evenIfNotDue: false }

export interface SchedulerOptions extends Omit<TickOptions, 'startedBy' | 'evenIfNotDue'> {
  readonly clock: Clock
  /** Ticks that read and apply rows at the same time. */
  readonly lanes: number
  readonly onTick: (report: TickReport) => void
  readonly onError: (error: unknown) => void
}

/** Ticks due runbooks one after the other until none is left that it may take. Returns how many it ticked. */
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
  const { engine, clock, onTick, onError } = options
  const lanes = makeLanes(options.lanes)
  const sources = leavingWhileWaiting(options.sources, lanes)
  const underWay = new Map<string, Promise<void>>()
  const tickOne = async (name: string, stopping: AbortSignal): Promise<void> => {
    await lanes.enter()
    try {
      // Null when another scheduler was faster.
      const report = stopping.aborted
        ? null
        : await tick({ ...options, ...BY_CLOCK, sources }, name, stopping)
      if (report) onTick(report)
    } catch (error) {
      onError(error)
    } finally {
      lanes.leave()
      underWay.delete(name)
    }
  }
  const loop = everyLoop({
    name: 'scheduler',
    clock,
    intervalMs: POLL_INTERVAL_MS,
    runOnce: async (_now, stopping) => {
      const due = await listDueRunbooks(engine.db, clock.now(), DUE_PER_POLL)
      for (const { name } of due) {
        if (stopping.aborted || underWay.size >= TICKS_MAX) return
        if (!underWay.has(name)) underWay.set(name, tickOne(name, stopping))
      }
    },
    onError,
  })
  return {
    name: 'scheduler',
    start: loop.start,
    stop: async (giveUp) => {
      await loop.stop(giveUp)
      await endedOrGivenUp('scheduler', Promise.all(underWay.values()), giveUp)
    },
  }
}
