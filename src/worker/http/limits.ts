// Keeps a worker within the rates that a service documents: so many calls of a kind a second. What the service itself says is in
// throttle.ts.
import type { Clock } from '../../base/run/clock.ts'

export interface RequestPace {
  readonly perSec: number
  /** How many may go at once after a pause. */
  readonly burst: number
}

/** A token bucket. Each caller gets the next free moment, in order, with no timer of its own while others wait. */
export class PaceLimit {
  readonly #clock: Clock
  readonly #msEach: number
  readonly #burstMs: number
  #freeAtMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, { perSec, burst }: RequestPace) {
    this.#clock = clock
    this.#msEach = 1_000 / perSec
    this.#burstMs = this.#msEach * burst
  }

  /** Resolves when `count` calls may go or the signal aborts; check the signal. */
  async take(count: number, signal: AbortSignal): Promise<void> {
    const nowMs = +this.#clock.now()
    // A full bucket counts as free since `burst` calls ago.
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - this.#burstMs) + count * this.#msEach
    if (this.#freeAtMs > nowMs) await this.#clock.wait(this.#freeAtMs - nowMs, signal)
  }
}
