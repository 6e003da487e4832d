// The jobs that this process has received and not acked: their leases, and the slots they occupy. A job is known by its text, so one that is
// delivered again while it is here only brings a newer lease.
import type { Clock } from '../../base/run/clock.ts'
import type { ReceivedMessage } from '../../bus/bus.ts'
import type { JobDigest } from './result-cache.ts'
import { type Slot, slotsWithLent } from './slots.ts'

export interface LeasedJob {
  /** The newest delivery: only its lease can ack. */
  received: ReceivedMessage
  /** Stands for its slot, which the jobs of one joint call share; null while it waits for others or for a slot. */
  slot: Slot | null
  /** It waits, and no other job may come in its place: it will need a slot. */
  keepsPlace: boolean
  /** Resolves when its function ends. */
  ended: Promise<void>
}

export class LeasedJobs {
  readonly #slots: number
  readonly #clock: Clock
  readonly #jobs = new Map<JobDigest, LeasedJob>()

  /** `slots`: the worker's own. */
  constructor(slots: number, clock: Clock) {
    this.#slots = slots
    this.#clock = clock
  }

  get size(): number {
    return this.#jobs.size
  }

  get(digest: JobDigest): LeasedJob | undefined {
    return this.#jobs.get(digest)
  }

  add(
    digest: JobDigest,
    received: ReceivedMessage,
    { slot = null, keepsPlace = false }: Partial<Pick<LeasedJob, 'slot' | 'keepsPlace'>> = {},
  ): LeasedJob {
    const leased = { received, slot, keepsPlace, ended: Promise.resolve() }
    this.#jobs.set(digest, leased)
    return leased
  }

  remove(digest: JobDigest): LeasedJob | undefined {
    const leased = this.#jobs.get(digest)
    this.#jobs.delete(digest)
    return leased
  }

  clear(): void {
    this.#jobs.clear()
  }

  messages(): ReceivedMessage[] {
    return [...this.#jobs.values()].map(({ received }) => received)
  }

  freeSlots(): number {
    return this.slotsWithLent() - this.#usedSlots().size
  }

  slotsWithLent(): number {
    return slotsWithLent(this.#slots, this.#usedSlots(), this.#clock.now())
  }

  /** The worker's own slots that are neither used nor kept for a job that waits. */
  freePlaces(): number {
    const kept = [...this.#jobs.values()].filter(({ keepsPlace }) => keepsPlace).length
    return this.#slots - this.#usedSlots().size - kept
  }

  /** Resolves when no function is running. */
  async idle(): Promise<void> {
    await Promise.all([...this.#jobs.values()].map(({ ended }) => ended))
  }

  #usedSlots(): ReadonlySet<Slot> {
    const used = new Set<Slot>()
    for (const { slot } of this.#jobs.values()) if (slot) used.add(slot)
    return used
  }
}
