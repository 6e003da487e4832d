// Graceful shutdown: the first signal or an unexpected error stops the process in order, a second signal at least 500 ms later ends it at once.

import { EXIT, type MatoolkitError } from '../../base/errors/errors.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { stopOnCrash } from './crash.ts'
import type { ServeHandle } from './serve.ts'

/** npm and terminals send a Ctrl-C twice within milliseconds; a person needs longer. */
const SECOND_SIGNAL_AFTER_MS = 500
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface StopRequest {
  /** Resolves with the reason. */
  readonly requested: Promise<string>
  /** Aborts with the request. */
  readonly signal: AbortSignal
  request(reason: string): void
  /** The process ends in order, with the error's exit code. */
  requestFor(error: MatoolkitError, io: Io): void
}

/** Listens for signals. `nowMs` is a monotonic clock. */
export function listenForStop(nowMs: () => number): StopRequest {
  const stop = Promise.withResolvers<string>()
  const aborting = new AbortController()
  void stop.promise.then(() => aborting.abort())
  let firstAtMs: number | null = null
  const onSignal = (signal: string) => {
    if (firstAtMs !== null && nowMs() - firstAtMs > SECOND_SIGNAL_AFTER_MS) {
      process.exit(EXIT.interrupted)
    }
    firstAtMs ??= nowMs()
    stop.resolve(signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    requested: stop.promise,
    signal: aborting.signal,
    request: stop.resolve,
    requestFor: ({ code, exitCode }, io) => {
      io.exitCode = exitCode
      stop.resolve(code)
    },
  }
}

/** Waits for a stop request, then stops and exits: a socket that a library left open must not keep the process alive. */
export async function runUntilStopped(
  handle: ServeHandle,
  stopping: StopRequest,
  io: Io,
): Promise<never> {
  const { log, stop } = handle
  stopOnCrash(handle, stopping, io)
  const reason = await stopping.requested
  log.info({ reason }, 'Stopping')
  // Services that did not stop in time are in the log already.
  await stop().catch(() => {
    io.exitCode ||= EXIT.failed
  })
  process.exit(io.exitCode)
}
