// What ends a running job before its function does: the worker stops, its timeout is over, or something that it started without waiting
// for it fails. The function is asked to stop by its signal; if it does not, the job is given up, because its slot and its step must not
// wait forever.
import { messageOf } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { durationText } from '../../base/text/duration.ts'
import type { Job } from './job.ts'

export class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

/** It did not stop when it was asked to. */
export class StillRuns extends TimedOut {}

/** Something that the function started and did not wait for failed. */
export class LeftBehind extends Error {
  override readonly name = 'UnhandledRejection'
}

export class WorkerStops extends Error {
  override readonly name = 'WorkerStops'
}

/** A function that ignores the abort may continue for so long: if it succeeds, its success counts. */
const STOPS_WITHIN_MS = 60_000

export class JobAbort {
  readonly #clock: Clock
  readonly #stopping: AbortSignal
  readonly #abort = new AbortController()
  readonly #ended = new AbortController()
  readonly #givenUp = Promise.withResolvers<never>()
  readonly #onStop = () => this.#abort.abort(new WorkerStops('the worker is stopping'))

  constructor(job: Job, clock: Clock, stopping: AbortSignal) {
    this.#clock = clock
    this.#stopping = stopping
    if (stopping.aborted) this.#onStop()
    stopping.addEventListener('abort', this.#onStop)
    // It may be given up before anything waits for it.
    this.#givenUp.promise.catch(() => {})
    void this.#abortInTime(job)
  }

  /** Of the function. Its reason is one of the errors above. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** The function's outcome, unless the job is given up before. */
  orGiveUp<T>(running: Promise<T>): Promise<T> {
    return Promise.race([running, this.#givenUp.promise])
  }

  /** False once the job has ended: then it is nobody's failure. */
  leftBehind(error: unknown): boolean {
    if (this.#ended.signal.aborted) return false
    void this.#abortForLeftBehind(error)
    return true
  }

  end(): void {
    this.#ended.abort()
    this.#stopping.removeEventListener('abort', this.#onStop)
  }

  async #abortInTime({ timeoutSec, notAfter }: Job): Promise<void> {
    const clock = this.#clock
    const ended = this.#ended.signal
    // A sender that gives no timeout means its limit as the job's deadline.
    const limitMs = timeoutSec === null ? notAfter && +notAfter - +clock.now() : timeoutSec * 1_000
    if (limitMs === null) return
    await clock.wait(limitMs, ended)
    if (ended.aborted) return
    const why = `stopped after its timeout of ${durationText(limitMs)}`
    this.#abort.abort(new TimedOut(why))
    await clock.wait(STOPS_WITHIN_MS, ended)
    // A stopping worker keeps the job until it ends: abandoned while it runs, it would run twice at once.
    if (ended.aborted || !(this.signal.reason instanceof TimedOut)) return
    this.#givenUp.reject(new StillRuns(`${why}, but it did not stop and may still run`))
  }

  /** Nobody waits for what failed, and the function may wait for it forever. */
  async #abortForLeftBehind(error: unknown): Promise<void> {
    const why = `the function started something without waiting for it, and that failed: ${messageOf(error)}`
    this.#abort.abort(new LeftBehind(why))
    await this.#clock.wait(STOPS_WITHIN_MS, this.#ended.signal)
    if (!this.#ended.signal.aborted) this.#givenUp.reject(new StillRuns(why))
  }
}
