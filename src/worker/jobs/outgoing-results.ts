// Results that wait to be sent, in memory: while the bus is down they stay, and are sent again. A result that the bus will never
// carry ends its job in the dead letters, with the reason, and does not hold up the others.

import { type ErrorCode, MatoolkitError } from '../../base/errors/errors.ts'
import type { Bus } from '../../bus/bus.ts'
import { type JobDigest, type JobResult, resultMessage } from './result-cache.ts'

/** Errors that no retry can cure: the bus will never carry such a message. */
const UNSENDABLE: ReadonlySet<ErrorCode> = new Set([
  'MESSAGE_TOO_LARGE',
  'MESSAGE_BODY_INVALID',
  'MESSAGE_ID_INVALID',
])

export interface EndedJob {
  readonly digest: JobDigest
  readonly result: JobResult
}

/** Ends the job of a result that cannot be sent; again for the same one, it does nothing. */
type RefuseResult = (digest: JobDigest, why: string) => Promise<void>

export class OutgoingResults {
  readonly #bus: Bus
  readonly #refuse: RefuseResult
  #unsent: EndedJob[] = []

  constructor(bus: Bus, refuse: RefuseResult) {
    this.#bus = bus
    this.#refuse = refuse
  }

  get size(): number {
    return this.#unsent.length
  }

  add(ended: EndedJob): void {
    this.#unsent.push(ended)
  }

  /** Sends all that wait at once and returns them. If sending fails, the results stay. */
  async send(): Promise<readonly EndedJob[]> {
    const ended = this.#unsent
    if (ended.length === 0) return []
    this.#unsent = []
    try {
      await this.#publish(ended)
      return ended
    } catch (error) {
      this.#unsent.unshift(...ended)
      throw error
    }
  }

  /** Publishes all at once, or in halves when one of them is unsendable. */
  async #publish(ended: readonly EndedJob[]): Promise<void> {
    try {
      await this.#bus.publish(ended.map(({ result }) => resultMessage(result)))
    } catch (error) {
      if (!(error instanceof MatoolkitError && UNSENDABLE.has(error.code))) throw error
      if (ended.length === 1) return this.#refuse(ended[0]!.digest, error.message)
      const half = Math.ceil(ended.length / 2)
      await this.#publish(ended.slice(0, half))
      await this.#publish(ended.slice(half))
    }
  }
}
