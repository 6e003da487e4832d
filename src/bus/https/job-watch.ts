// The long poll: while nothing is there, one request waits at the API for a job, and the worker asks for none. It begins after a receive
// that found nothing, so that a worker without a free slot does not ask again and again. However it ends, the worker looks itself: it
// finds the job, nothing, or the fault.
import type { CallOptions } from './api-calls.ts'

type Await = (body: { readonly seconds: number }, options: CallOptions) => Promise<unknown>

/** Shorter than the time after which proxies cut a silent connection. */
const WAIT_SEC = 25
const ANSWER_MS = 10_000

export class JobWatch {
  readonly #awaitJob: Await
  readonly #listeners = new Set<{ readonly heard: () => void }>()
  #watching: AbortController | null = null

  constructor(awaitJob: Await) {
    this.#awaitJob = awaitJob
  }

  /** A request waits at the API now, so that there is nothing to take. */
  isWatching(): boolean {
    return this.#watching !== null
  }

  listen(heard: () => void): () => Promise<void> {
    const listener = { heard }
    this.#listeners.add(listener)
    this.begin()
    return async () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.close()
    }
  }

  /** Does nothing without listeners, or while it watches. */
  begin(): void {
    if (this.#listeners.size === 0 || this.#watching) return
    const watching = new AbortController()
    this.#watching = watching
    void this.#watch(watching.signal)
  }

  async #watch(signal: AbortSignal): Promise<void> {
    try {
      await this.#awaitJob(
        { seconds: WAIT_SEC },
        { signal, timeoutMs: WAIT_SEC * 1_000 + ANSWER_MS },
      )
    } catch {
      // The next receive meets it, too, and says so.
    }
    if (signal.aborted) return
    this.#watching = null
    for (const { heard } of this.#listeners) heard()
  }

  close(): void {
    this.#watching?.abort()
    this.#watching = null
  }
}
