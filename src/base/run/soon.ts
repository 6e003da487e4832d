// Answers that may be slow or never come, and work on many things at once.
import type { Clock } from './clock.ts'

export interface SoonOptions<T> {
  readonly clock: Clock
  /** Nobody waits longer. */
  readonly limitMs: number
  /** How old the last answer may be that serves instead. */
  readonly keptMs: number
  readonly load: () => Promise<T>
}

/** An answer within a limit, loaded once however many ask at the same time. */
export class SoonAnswer<T> {
  readonly #options: SoonOptions<T>
  #loading: Promise<T | null> | null = null
  #last: { readonly at: Date; readonly answer: T } | null = null

  constructor(options: SoonOptions<T>) {
    this.#options = options
  }

  /** Null when it fails, or does not come in time and the last one is too old. */
  async get(): Promise<T | null> {
    const { clock, limitMs, keptMs } = this.#options
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null
    })
    const answered = new AbortController()
    const late = clock.wait(limitMs, answered.signal).then(() => 'late' as const)
    const first = await Promise.race([this.#loading.then((answer) => ({ answer })), late])
    answered.abort()
    if (first !== 'late') return first.answer
    const last = this.#last
    return last && +clock.now() - +last.at <= keptMs ? last.answer : null
  }

  async #load(): Promise<T | null> {
    const { clock, load } = this.#options
    const answer = await load().catch(() => null)
    this.#last = answer === null ? null : { at: clock.now(), answer }
    return answer
  }
}

/** Calls `run` for each item, for at most `lanes` at once. */
export async function inLanes<T>(
  items: Iterable<T>,
  lanes: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]()
  const lane = async () => {
    for (let next = left.next(); !next.done; next = left.next()) await run(next.value)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
