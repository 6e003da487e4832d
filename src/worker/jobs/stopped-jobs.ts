// The jobs that this worker must not start: a hold or a cancel came after they were sent, and the transport cannot take them back. Job ids
// are used once, so what is stopped stays stopped; a job that is sent again later has another id. A worker that nobody could tell to stop
// takes no jobs: a hold would not reach it.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Control, ControlPage } from '../../bus/bus.ts'
import { readMessage } from '../../domain/messages/messages.ts'

/** Far more than a worker's job limit; the oldest go first. */
const KEPT_MAX = 20_000

export class StoppedJobs {
  readonly #control: Control | null
  readonly #workerId: string
  readonly #why = new Map<string, string>()
  #last: string | null = null
  #untold: MatoolkitError | null = null
  #isRead = false

  constructor(workerId: string, control: Control | null) {
    this.#workerId = workerId
    this.#control = control
  }

  /** Null for a job that may start. */
  why(jobId: string): string | null {
    return this.#why.get(jobId) ?? null
  }

  /** Why nobody can tell the worker to stop; null when all is well. */
  get untold(): string | null {
    return this.#untold?.message ?? null
  }

  /** Before the first job is taken. */
  async readFirst(): Promise<void> {
    if (!this.#isRead) await this.read()
  }

  /** Reads what is new. It starts nothing, so it needs no signature. Throws WORKER_UNTOLD once, until it can be told again. */
  async read(): Promise<void> {
    if (!this.#control) return
    const page = await this.#pageOf(this.#control)
    if (page === null) return
    const { bodies, last } = page
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

  async #pageOf(control: Control): Promise<ControlPage | null> {
    try {
      const page = await control.read(this.#workerId, this.#last)
      this.#untold = null
      this.#isRead = true
      return page
    } catch (cause) {
      const { code, details } = cause as MatoolkitError
      if (code !== 'BUS_ENTITY_MISSING') throw cause
      if (this.#untold) return null
      const { entity = '' } = details
      this.#untold = new MatoolkitError(
        'WORKER_UNTOLD',
        { workerId: this.#workerId, entity },
        { cause },
      )
      throw this.#untold
    }
  }
}
