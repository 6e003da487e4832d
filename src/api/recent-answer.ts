// One answer that several callers share while it is fresh, loaded once however many ask at the same time.

const FRESH_MS = 1_000

export class RecentAnswer<T> {
  #loadedAt: Date | null = null
  #answer: Promise<T> | null = null

  get(now: Date, load: () => Promise<T>): Promise<T> {
    const isFresh = this.#loadedAt !== null && Math.abs(+now - +this.#loadedAt) < FRESH_MS
    if (this.#answer && isFresh) return this.#answer
    const answer = load()
    this.#loadedAt = now
    this.#answer = answer
    // A failure is not kept: the next caller tries again.
    answer.catch(() => {
      if (this.#answer === answer) this.#answer = null
    })
    return answer
  }
}
