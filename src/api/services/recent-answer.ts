// An answer that several callers share while it is fresh, loaded once however many ask at the same time.

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

/** Answers to the same question about different things; those asked for longest ago are dropped. */
export class RecentAnswers<K, T> {
  readonly #freshMs: number
  readonly #keptMax: number
  readonly #byKey = new Map<K, RecentAnswer<T>>()

  constructor(freshMs: number, keptMax: number) {
    this.#freshMs = freshMs
    this.#keptMax = keptMax
  }

  get(key: K, now: Date, load: () => Promise<T>): Promise<T> {
    const answer = this.#byKey.get(key) ?? new RecentAnswer<T>(this.#freshMs)
    this.#byKey.delete(key)
    this.#byKey.set(key, answer)
    if (this.#byKey.size > this.#keptMax) this.#byKey.delete(this.#byKey.keys().next().value!)
    return answer.get(now, load)
  }
}
