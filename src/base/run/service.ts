// The interface of a long-running service, and the only loop. A loop decides when to call `runOnce(now)`; all work is in `runOnce`,
// which tests call directly. A `nudge` brings the next run forward; losing one is harmless, because the interval passes anyway.

import { MatoolkitError } from '../errors/errors.ts'
import type { Clock } from './clock.ts'

export interface Service {
  readonly name: string
  start(): void
  /** Resolves when all of its work has ended. Rejects with SERVICE_STILL_RUNNING when `giveUp` aborts first. */
  stop(giveUp?: AbortSignal): Promise<void>
}

export interface Loop extends Service {
  /** Starts the next run at once, or right after the current one. Never shortens a pause after an error. */
  nudge(): void
}

export interface LoopOptions {
  readonly name: string
  readonly clock: Clock
  readonly intervalMs: number
  /**
   * One run. `signal` aborts when the loop stops; a long run then ends early at a safe point. A returned time is that of the next run,
   * if it comes before the interval is over.
   */
  runOnce(now: Date, signal: AbortSignal): Promise<unknown>
  /** Called after every failed run; `inARow` counts failures since the last success. Must not throw: that ends the process. */
  onError(error: unknown, inARow: number): void
}

const ERROR_PAUSE_MIN_MS = 1_000
const ERROR_PAUSE_MAX_MS = 30_000

/** The pause after the n-th failure in a row: doubles from 1 s to 30 s, never shorter than the interval. */
export function errorPauseMs(intervalMs: number, inARow: number): number {
  const doubling = ERROR_PAUSE_MIN_MS * 2 ** Math.min(inARow - 1, 20)
  return Math.max(intervalMs, Math.min(doubling, ERROR_PAUSE_MAX_MS))
}

interface Running {
  readonly stopping: AbortController
  readonly ended: Promise<void>
}

/** Calls `runOnce` at start and `intervalMs` after each run has ended, or sooner if it asked for that; runs never overlap. */
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
    let waitMs = intervalMs
    try {
      const next = await runOnce(clock.now(), stopping)
      if (next instanceof Date) waitMs = Math.min(waitMs, Math.max(0, +next - +clock.now()))
      inARow = 0
    } catch (error) {
      inARow += 1
      onError(error, inARow)
    }
    if (inARow > 0) await clock.wait(errorPauseMs(intervalMs, inARow), stopping)
    else await bell.wait(waitMs, stopping)
  }
}

interface Bell {
  ring(): void
  clear(): void
  wait(ms: number, stopping: AbortSignal): Promise<void>
}

/** A wait that a ring ends early; a ring outside a wait ends the next one at once. */
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

/** Waits for the end of a service's work. Rejects with SERVICE_STILL_RUNNING when `giveUp` aborts first. */
export async function endedOrGivenUp(
  name: string,
  ended: Promise<unknown>,
  giveUp: AbortSignal | undefined,
): Promise<void> {
  if (!giveUp) return void (await ended)
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
