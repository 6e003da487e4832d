// Slots for each service: a job that waits for its turn at one lends its slot to another job, so a closed Exchange gate does not starve
// Graph. It continues as soon as it may, slot or not; the gate, not the slot, limits its calls.

/** A shorter wait is not worth another job. */
const LENDS_AFTER_MS = 2_000
/** For each slot of its own a worker uses no more: what waits is leased, renewed and counts its timeout, so there is an end to it. */
const USED_A_SLOT_MAX = 4

/** A slot in use, by one job or by those that are done together. With several calls that wait it lends itself once. */
export class Slot {
  #calls = 0
  #since: Date | null = null

  /** A call begins to wait; call what is returned when it continues. */
  wait(now: Date): () => void {
    this.#calls += 1
    this.#since ??= now
    return () => {
      this.#calls -= 1
      if (this.#calls === 0) this.#since = null
    }
  }

  isLent(now: Date): boolean {
    return this.#since !== null && +now - +this.#since >= LENDS_AFTER_MS
  }
}

/** Slots that there are now: the worker's own, and one more for each that is lent. */
export function slotsWithLent(own: number, used: ReadonlySet<Slot>, now: Date): number {
  const lent = [...used].filter((slot) => slot.isLent(now)).length
  return Math.min(own + lent, own * USED_A_SLOT_MAX)
}
