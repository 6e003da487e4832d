// What a worker announces: its id, slots, functions, and how its tenant throttles it. The orchestrator sends no job to a worker it
// has never heard from, and none for slots it was not told of.
import type { Bus } from '../../bus/bus.ts'
import { messageIdOf } from '../../domain/messages/messages.ts'
import { type Catalogue, factsIn, parametersSchema } from '../functions/catalogue.ts'
import type { ThrottleState } from '../http/throttle.ts'

/** More or fewer lent slots are announced no more often. */
const HELLO_EARLIEST_MS = 10_000
/** States announced; a tenant has four. */
const THROTTLES_MAX = 20

export interface Announced {
  readonly workerId: string
  readonly version: string
  readonly bus: Bus
  readonly maxParallelism: number
  readonly replicas?: number
  readonly throttles?: () => readonly ThrottleState[]
}

export class Announcement {
  readonly #announced: Announced
  readonly #catalogue: Catalogue
  readonly #slotsWithLent: () => number
  /** The latest announcement, and the slots it told of. */
  #latest = { at: new Date(0), slots: 0 }

  constructor(announced: Announced, catalogue: Catalogue, slotsWithLent: () => number) {
    this.#announced = announced
    this.#catalogue = catalogue
    this.#slotsWithLent = slotsWithLent
  }

  async send(now: Date): Promise<void> {
    const { bus, workerId, version, maxParallelism, replicas = 1, throttles } = this.#announced
    const slots = this.#slotsWithLent()
    this.#latest = { at: now, slots }
    const functions = [...this.#catalogue.values()].map((fn) => ({
      name: fn.name,
      description: fn.description,
      parameters: parametersSchema(fn),
      facts: factsIn(fn),
    }))
    await bus.publish([
      {
        topic: 'worker-results',
        workerId,
        messageId: messageIdOf.workerHello(workerId, now),
        type: 'worker-hello',
        body: {
          workerId,
          version,
          slots: maxParallelism * (replicas - 1) + slots,
          functions,
          ...(throttles ? { throttles: throttles().slice(0, THROTTLES_MAX).map(told) } : {}),
        },
      },
    ])
  }

  /** Lent slots are slots: without an announcement no further job would come for them. */
  async sendIfChanged(now: Date): Promise<void> {
    const { at, slots } = this.#latest
    if (this.#slotsWithLent() === slots || +now - +at < HELLO_EARLIEST_MS) return
    await this.send(now)
  }
}

const told = (state: ThrottleState) => ({
  ...state,
  closedUntil: state.closedUntil?.toISOString() ?? null,
  throttledSec: Math.round(state.throttledSec),
})
