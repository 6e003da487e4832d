// The jobs that this worker must not start: a hold or a cancel came after they were sent, and the transport cannot take them back. Job ids
// are used once, so what is stopped stays stopped; a job that is sent again later has another id.
import type { Control } from '../bus/bus.ts'
import { readMessage } from '../domain/messages.ts'

/** Far more than a worker's window of jobs; the oldest go first. */
const KEPT_MAX = 20_000

export class StoppedJobs {
  readonly #control: Control | undefined
  readonly #workerId: string
  readonly #why = new Map<string, string>()
  #last: string | null = null

  constructor(workerId: string, control: Control | undefined) {
    this.#workerId = workerId
    this.#control = control
  }

  /** Null for a job that may start. */
  why(jobId: string): string | null {
    return this.#why.get(jobId) ?? null
  }

  /** Reads what is new. It starts nothing, so it needs no signature. */
  async read(): Promise<void> {
    if (!this.#control) return
    const { bodies, last } = await this.#control.read(this.#workerId, this.#last)
    for (const body of bodies) {
      const read = readMessage('worker-stop', body)
      // Nobody waits for an answer to one that is unreadable; a hello repeats what matters.
      if (!read.ok || read.message.messageType !== 'worker-stop') continue
      const { jobIds, because } = read.message
      for (const jobId of jobIds) this.#why.set(jobId, because)
    }
    for (const jobId of this.#why.keys()) {
      if (this.#why.size <= KEPT_MAX) break
      this.#why.delete(jobId)
    }
    this.#last = last
  }
}
