// What keeps a worker within the quotas of an API: a pace for each kind of call, a number of calls at a time, and a gate that
// closes for everybody when the service says "too many". All slots of a worker pass the same ones, so that a 429 for one of
// them stops all the others too: usage keeps accruing while a tenant is throttled, and asking early makes it longer.
import type { Clock } from '../../clock.ts'

export interface RequestPace {
  readonly perSec: number
  /** How many may go at once after a rest. */
  readonly burst: number
}

/** A token bucket, by appointment: whoever asks gets the next free moment, in order, without a timer for the rest. */
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

  /** Resolves when `count` may be used, or when the signal aborts: ask it which. */
  async take(count: number, signal: AbortSignal): Promise<void> {
    const nowMs = +this.#clock.now()
    // A full bucket is one that was free `burst` calls ago.
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - this.#burstMs) + count * this.#msEach
    if (this.#freeAtMs > nowMs) await this.#clock.wait(this.#freeAtMs - nowMs, signal)
  }
}

/** At most so many at a time, first come first served. */
export class LaneLimit {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(lanes: number) {
    this.#free = lanes
  }

  /** False when the signal aborted first: then nothing was entered and nothing is to be left. */
  async enter(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#free > 0) {
      this.#free -= 1
      return true
    }
    const turn = Promise.withResolvers<boolean>()
    const come = () => turn.resolve(true)
    const goAway = () => {
      const place = this.#waiting.indexOf(come)
      if (place < 0) return
      this.#waiting.splice(place, 1)
      turn.resolve(false)
    }
    this.#waiting.push(come)
    signal.addEventListener('abort', goAway, { once: true })
    const isIn = await turn.promise
    signal.removeEventListener('abort', goAway)
    return isIn
  }

  leave(): void {
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

  /** Nobody passes for so long; never shortens what was said before. */
  closeFor(ms: number): void {
    this.#closedUntilMs = Math.max(this.#closedUntilMs, +this.#clock.now() + ms)
  }

  /** Resolves at once when it is open, else when it opens, or when the signal aborts: ask it which. */
  async pass(signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.#closedUntilMs - +this.#clock.now()
      if (!(leftMs > 0) || signal.aborted) return
      await this.#clock.wait(leftMs, signal)
    }
  }
}
