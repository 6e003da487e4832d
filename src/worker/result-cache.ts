// Recent results by job id. A job delivered again gets its result from here instead of a second run. The cache is lost when the
// process dies; idempotent functions cover that. Bounded by count and by size, oldest out first.
import type { Body } from '../domain/messages.ts'

export type JobResult = Body<'worker-result'>

const RESULTS_MAX = 10_000
/** At 2 bytes a character: 64 MB at most. */
const CHARS_MAX = 32_000_000

export class ResultCache {
  readonly #byJobId = new Map<string, { result: JobResult; chars: number }>()
  readonly #max: number
  readonly #charsMax: number
  #chars = 0

  constructor({ max = RESULTS_MAX, charsMax = CHARS_MAX } = {}) {
    this.#max = max
    this.#charsMax = charsMax
  }

  get(jobId: string): JobResult | null {
    return this.#byJobId.get(jobId)?.result ?? null
  }

  keep(result: JobResult): void {
    if (this.#byJobId.has(result.jobId)) return
    const chars = JSON.stringify(result).length
    this.#byJobId.set(result.jobId, { result, chars })
    this.#chars += chars
    for (const [jobId, oldest] of this.#byJobId) {
      if (this.#byJobId.size <= this.#max && this.#chars <= this.#charsMax) return
      this.#byJobId.delete(jobId)
      this.#chars -= oldest.chars
    }
  }
}
