// Recent results by the text of their job. A job delivered again gets its result from here instead of a second run. The text, not the
// id: after a restore from a backup that nobody told us about, another job may have the same id. The cache is lost when the process
// dies; idempotent functions cover that. Bounded by count and by size, oldest out first.
import { hash } from 'node:crypto'
import type { OutgoingMessage } from '../../bus/bus.ts'
import { type Body, messageIdOf } from '../../domain/messages/messages.ts'

export type JobResult = Body<'worker-result'>

/** Tells jobs apart by their whole text: the same only when a message is delivered again or replayed. */
export type JobDigest = string

export const digestOfJob = (body: string): JobDigest => hash('sha256', body, 'base64')

const RESULTS_MAX = 10_000
/** At 2 bytes a character: 64 MB at most. */
const CHARS_MAX = 32_000_000

export class ResultCache {
  readonly #byJob = new Map<string, { result: JobResult; chars: number }>()
  readonly #max: number
  readonly #charsMax: number
  #chars = 0

  constructor({ max = RESULTS_MAX, charsMax = CHARS_MAX } = {}) {
    this.#max = max
    this.#charsMax = charsMax
  }

  get(job: JobDigest): JobResult | null {
    return this.#byJob.get(job)?.result ?? null
  }

  /** Of jobs that ended then or later. */
  since(at: Date): JobResult[] {
    const results = [...this.#byJob.values()].map(({ result }) => result)
    return results.filter(({ timestamp }) => new Date(timestamp) >= at)
  }

  keep(job: JobDigest, result: JobResult): void {
    if (this.#byJob.has(job)) return
    const chars = JSON.stringify(result).length
    this.#byJob.set(job, { result, chars })
    this.#chars += chars
    for (const [oldestJob, oldest] of this.#byJob) {
      if (this.#byJob.size <= this.#max && this.#chars <= this.#charsMax) return
      this.#byJob.delete(oldestJob)
      this.#chars -= oldest.chars
    }
  }
}

export const resultMessage = (result: JobResult): OutgoingMessage => ({
  topic: 'worker-results',
  workerId: result.workerId,
  messageId: messageIdOf.workerResult(result.jobId),
  type: 'worker-result',
  body: result,
})
