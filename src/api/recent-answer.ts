// One answer that several callers share while it is fresh, loaded once however many ask at the same time.

export class RecentAnswer<T> {
  readonly #freshMs: number
  #loadedAt: Date | null = null
  #answer: Promise<T> | null = null

  constructor(freshMs: number) {
    this.#freshMs = freshMs
  }

  get(now: Date, load: () => Promise<T>): Promise<T> {
    const isFresh = this.#loadedAt !== null && Math.abs(+now - +this.#loadedAt) < this.#freshMs
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
