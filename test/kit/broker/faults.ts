// What the broker does wrong on request: each fault happens a number of times, then no more.

export type FaultName =
  /** The message is stored, the sender never hears of it. */
  | 'lose-answer'
  /** The message is stored, then every connection is cut. */
  | 'cut-after-send'
  | 'busy-send'
  | 'busy-request'
  | 'ignore-request'
  | 'refuse-token'
  /** A lock is lost although its time is not over. */
  | 'lose-lock'

export class Faults {
  readonly #left = new Map<FaultName, number>()

  next(name: FaultName, times = 1): void {
    this.#left.set(name, times)
  }

  /** Whether it happens now. */
  take(name: FaultName): boolean {
    const left = this.#left.get(name) ?? 0
    if (left === 0) return false
    this.#left.set(name, left - 1)
    return true
  }

  clear(): void {
    this.#left.clear()
  }
}
