// Runs something until the process is asked to stop, or it asks for that itself. The first signal ends it in good order; another
// one a moment later ends the process at once, because somebody means it.

import type { Io } from '../cli/terminal/io.ts'
import { EXIT } from '../errors.ts'
import type { ServeHandle } from './serve.ts'

/** npm and terminals send a Ctrl-C twice within milliseconds; a person needs longer. */
const SECOND_SIGNAL_AFTER_MS = 500
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface StopRequest {
  readonly asked: Promise<string>
  ask(why: string): void
}

/** From now on signals are listened to. `nowMs` counts evenly. */
export function listenForStop(nowMs: () => number): StopRequest {
  const asked = Promise.withResolvers<string>()
  let firstAtMs: number | null = null
  const stop = (signal: string) => {
    if (firstAtMs !== null && nowMs() - firstAtMs > SECOND_SIGNAL_AFTER_MS) {
      process.exit(EXIT.interrupted)
    }
    firstAtMs ??= nowMs()
    asked.resolve(signal)
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  return {
    asked: asked.promise,
    ask: asked.resolve,
  }
}

/** Serves until asked to stop, and ends the process: a socket that a library forgot must not keep it alive until it is killed. */
export async function runUntilStopped(
  { log, stop }: ServeHandle,
  stopping: StopRequest,
  io: Io,
): Promise<never> {
  const why = await stopping.asked
  log.info({ why }, 'Stopping.')
  // What did not stop in time is in the log already.
  await stop().catch(() => {
    io.exitCode = EXIT.failed
  })
  process.exit(io.exitCode)
}
