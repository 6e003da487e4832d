// How jobs come to the worker, and what becomes of one that finds no slot. That depends on what the transport can do, and only this file
// asks for it. A consumer that asks takes one job per free slot, or many at once if it can give back uncounted what it cannot start; a
// broker that sends by itself sends one job per slot, and more as soon as those that wait for each other make room.
import { type Bus, type ReceivedMessage, workerJobs } from '../../bus/bus.ts'

/** Jobs received at once while all that come are collected. */
const COLLECTED_AT_ONCE = 100
/** Jobs leased at once where a broker sends them by itself; two calls of the largest functions. */
const COLLECTED_MAX = 2_000

export class JobSupply {
  readonly #bus: Bus
  readonly #subscription: ReturnType<typeof workerJobs>
  /** All jobs of the last receive were collected. */
  #collectsAll = false

  constructor(bus: Bus, workerId: string) {
    this.#bus = bus
    this.#subscription = workerJobs(workerId)
  }

  /** Jobs that a broker sends by itself may have come although no slot is free. */
  mayBring(free: number): boolean {
    return free > 0 || this.#bus.capabilities.stream !== null
  }

  /** While all slots are taken, a restore must be noticed too. */
  async receiveNothing(): Promise<void> {
    await this.#bus.receive(this.#subscription, 0)
  }

  async receive(free: number): Promise<ReceivedMessage[]> {
    const { stream, takesBackDeliveries } = this.#bus.capabilities
    // Few at a time would take longer than they wait for each other.
    const isMany = this.#collectsAll && takesBackDeliveries
    const limit = isMany ? Math.max(free, COLLECTED_AT_ONCE) : free
    const received =
      free > 0
        ? await this.#bus.receive(this.#subscription, limit)
        : (stream?.arrived(this.#subscription, COLLECTED_AT_ONCE) ?? [])
    this.#collectsAll = received.length > 0
    return received
  }

  /** A job came that waits for no others. */
  endCollecting(): void {
    this.#collectsAll = false
  }

  /** A collection may have become due meanwhile, and taken the slot. Where a job can neither go back uncounted nor wait, one more runs. */
  get whenFull(): 'goes back' | 'waits' | 'runs' {
    const { stream, takesBackDeliveries } = this.#bus.capabilities
    if (takesBackDeliveries) return 'goes back'
    return stream ? 'waits' : 'runs'
  }

  /** A joint call may be filled with as many jobs as it takes. */
  get takesMany(): boolean {
    return this.whenFull !== 'runs'
  }

  /** Where a broker sends as many jobs as there are slots, others may come in place of those that are collected. */
  mayMakeRoom(leasedCount: number): boolean {
    return this.#bus.capabilities.stream !== null && leasedCount < COLLECTED_MAX
  }

  makeRoom(message: ReceivedMessage): void {
    this.#bus.capabilities.stream?.makeRoom([message])
  }

  /** As if they had not come: a hold still takes them back. */
  async giveBack(messages: readonly ReceivedMessage[]): Promise<void> {
    if (messages.length > 0) await this.#bus.release(messages, 0)
  }
}
