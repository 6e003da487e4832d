// Keeps a worker within an API's quotas: a rate per kind of call, a number of concurrent calls, and a gate that closes for all
// slots on a 429. Usage keeps accruing while a tenant is throttled, so each early call makes the throttling longer for
// everyone.
import type { Clock } from '../../clock.ts'

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

/** Limits concurrent calls, first come first served. */
export class LaneLimit {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(lanes: number) {
    this.#free = lanes
  }

  /** False when the signal aborted first: then there is nothing to release. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#free > 0) {
      this.#free -= 1
      return true
    }
    const turn = Promise.withResolvers<boolean>()
    const proceed = () => turn.resolve(true)
    const giveUp = () => {
      const index = this.#waiting.indexOf(proceed)
      if (index < 0) return
      this.#waiting.splice(index, 1)
      turn.resolve(false)
    }
    this.#waiting.push(proceed)
    signal.addEventListener('abort', giveUp, { once: true })
    const isAcquired = await turn.promise
    signal.removeEventListener('abort', giveUp)
    return isAcquired
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }
}

export class Gate {
  readonly #clock: Clock
  #closedUntilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Closes the gate; never shortens an earlier closing. */
  closeFor(ms: number): void {
    this.#closedUntilMs = Math.max(this.#closedUntilMs, +this.#clock.now() + ms)
  }

  /** Resolves once the gate is open or the signal aborts; check the signal. */
  async pass(signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.#closedUntilMs - +this.#clock.now()
      if (!(leftMs > 0) || signal.aborted) return
      await this.#clock.wait(leftMs, signal)
    }
  }
}
