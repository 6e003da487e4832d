// The worker's memory of what it answered. A job that is delivered again is answered again from here and not run again; after a
// kill the memory is gone, and the functions' idempotence protects. Bounded twice, by number and by size, oldest first out.
import type { Body } from '../domain/messages.ts'

export type CachedResult = Body<'worker-result'>

const ANSWERS_MAX = 10_000
/** Text of 2 bytes a character: 64 MB at most. */
const CHARS_MAX = 32_000_000

export class ResultCache {
  readonly #kept = new Map<string, { answer: CachedResult; chars: number }>()
  readonly #max: number
  readonly #charsMax: number
  #chars = 0

  constructor({ max = ANSWERS_MAX, charsMax = CHARS_MAX } = {}) {
    this.#max = max
    this.#charsMax = charsMax
  }

  get(jobId: string): CachedResult | null {
    return this.#kept.get(jobId)?.answer ?? null
  }

  keep(answer: CachedResult): void {
    if (this.#kept.has(answer.jobId)) return
    const chars = JSON.stringify(answer).length
    this.#kept.set(answer.jobId, { answer, chars })
    this.#chars += chars
    for (const [jobId, oldest] of this.#kept) {
      if (this.#kept.size <= this.#max && this.#chars <= this.#charsMax) return
      this.#kept.delete(jobId)
      this.#chars -= oldest.chars
    }
  }
}
