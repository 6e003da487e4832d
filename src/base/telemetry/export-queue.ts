// What waits to be sent to a collector, at most so much. A collector that does not answer costs what does not fit, and nothing else: nobody
// waits for it.

export interface ExportQueueOptions<T> {
  /** Items kept; further ones are lost. */
  readonly max: number
  /** Items sent at once. */
  readonly atOnce: number
  /** Rejects when they did not arrive. */
  send(items: readonly T[]): Promise<void>
  /** Called when as many wait as are sent at once. */
  onFull(): void
  onLost(count: number): void
}

export class ExportQueue<T> {
  readonly #options: ExportQueueOptions<T>
  #waiting: T[] = []

  constructor(options: ExportQueueOptions<T>) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.length
  }

  push(item: T): void {
    const { max, atOnce, onFull, onLost } = this.#options
    if (this.#waiting.length >= max) return onLost(1)
    this.#waiting.push(item)
    if (this.#waiting.length % atOnce === 0) onFull()
  }

  /** Sends all that waits now. After a failure the rest waits for the next time; what failed is lost. */
  async flush(): Promise<void> {
    const { atOnce, send, onLost } = this.#options
    let left = this.#waiting.length
    while (left > 0) {
      const items = this.#waiting.splice(0, atOnce)
      left -= items.length
      try {
        await send(items)
      } catch (error) {
        onLost(items.length)
        throw error
      }
    }
  }
}
