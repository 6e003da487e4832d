// The one shape of a long-running thing, and the one loop. A loop knows only when to call `runOnce(now)`; everything that can be
// right or wrong is in `runOnce`, which tests call directly. A notification is a `nudge`: it makes the next run come sooner and
// may be lost without harm, because the interval comes anyway.
import type { Clock } from './clock.ts'
import { MatoolkitError } from './errors.ts'

export interface Service {
  readonly name: string
  start(): void
  /** Resolves when nothing of it runs any more. When `giveUp` aborts first it rejects with SERVICE_STILL_RUNNING. */
  stop(giveUp?: AbortSignal): Promise<void>
}

export interface Loop extends Service {
  /** Run again soon: at once when waiting, straight after the current run when running. Never shortens a pause after errors. */
  nudge(): void
}

export interface LoopOptions {
  readonly name: string
  readonly clock: Clock
  readonly intervalMs: number
  /** One round of work. `signal` aborts when the loop is asked to stop; a long round should end early at a safe point. */
  runOnce(now: Date, signal: AbortSignal): Promise<unknown>
  /** Told of every failed run; `inARow` counts them since the last good one. Must not throw: that ends the process. */
  onError(error: unknown, inARow: number): void
}

const ERROR_PAUSE_MIN_MS = 1_000
const ERROR_PAUSE_MAX_MS = 30_000

/** The pause after the n-th failure in a row: doubling from 1 s to 30 s, never shorter than the loop's own interval. */
export function errorPauseMs(intervalMs: number, inARow: number): number {
  const doubling = ERROR_PAUSE_MIN_MS * 2 ** Math.min(inARow - 1, 20)
  return Math.max(intervalMs, Math.min(doubling, ERROR_PAUSE_MAX_MS))
}

interface Running {
  readonly stopping: AbortController
  readonly ended: Promise<void>
}

/** Calls `runOnce` at start and then `intervalMs` after each run has ended, so runs never overlap. */
export function everyLoop(options: LoopOptions): Loop {
  if (!(options.intervalMs > 0))
    throw new RangeError(`${options.name}: interval ${options.intervalMs} ms`)
  const bell = makeBell(options.clock)
  let running: Running | undefined
  return {
    name: options.name,
    nudge: bell.ring,
    start: () => {
      if (running) throw new Error(`${options.name} is already started`)
      const stopping = new AbortController()
      running = { stopping, ended: repeat(options, bell, stopping.signal) }
    },
    stop: async (giveUp) => {
      const current = running
      if (!current) return
      current.stopping.abort()
      await endedOrGivenUp(options.name, current.ended, giveUp)
      if (running === current) running = undefined
    },
  }
}

async function repeat(options: LoopOptions, bell: Bell, stopping: AbortSignal): Promise<void> {
  const { clock, intervalMs, runOnce, onError } = options
  let inARow = 0
  while (!stopping.aborted) {
    bell.clear()
    try {
      await runOnce(clock.now(), stopping)
      inARow = 0
    } catch (error) {
      inARow += 1
      onError(error, inARow)
    }
    if (inARow > 0) await clock.wait(errorPauseMs(intervalMs, inARow), stopping)
    else await bell.wait(intervalMs, stopping)
  }
}

interface Bell {
  ring(): void
  clear(): void
  wait(ms: number, stopping: AbortSignal): Promise<void>
}

/** A wait that ends early when rung; a ring that nobody waits for is remembered for the next wait. */
function makeBell(clock: Clock): Bell {
  let rung = false
  let waking: AbortController | undefined
  return {
    ring: () => {
      rung = true
      waking?.abort()
    },
    clear: () => {
      rung = false
    },
    wait: async (ms, stopping) => {
      if (rung || stopping.aborted) return
      const wake = new AbortController()
      const stop = () => wake.abort()
      waking = wake
      stopping.addEventListener('abort', stop)
      await clock.wait(ms, wake.signal)
      stopping.removeEventListener('abort', stop)
      waking = undefined
    },
  }
}

async function endedOrGivenUp(
  name: string,
  ended: Promise<void>,
  giveUp: AbortSignal | undefined,
): Promise<void> {
  if (!giveUp) return ended
  const gaveUp = Promise.withResolvers<never>()
  const fail = () => gaveUp.reject(new MatoolkitError('SERVICE_STILL_RUNNING', { name }))
  if (giveUp.aborted) fail()
  giveUp.addEventListener('abort', fail)
  try {
    await Promise.race([ended, gaveUp.promise])
  } finally {
    giveUp.removeEventListener('abort', fail)
  }
}
