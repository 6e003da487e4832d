// A lane: so much work at a time, and so much that waits in order. Beyond that it refuses at once, so that nobody can fill it forever.

export interface LaneLimits {
  readonly places: number
  /** Beyond it `refusal` is thrown. */
  readonly waitingMax: number
  refusal(): Error
}

export class Lane {
  readonly #limits: LaneLimits
  readonly #waiting: (() => void)[] = []
  #busy = 0
  #pauses = 0

  constructor(limits: LaneLimits) {
    this.#limits = limits
  }

  get isIdle(): boolean {
    return this.#busy === 0 && this.#waiting.length === 0
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const { places, waitingMax, refusal } = this.#limits
    if (this.#pauses === 0 && this.#busy < places) this.#busy += 1
    else if (this.#waiting.length >= waitingMax) throw refusal()
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      this.#busy -= 1
      this.#fill()
    }
  }

  /** Nothing new begins until this work ends. */
  async pausedDuring<T>(work: () => Promise<T>): Promise<T> {
    this.#pauses += 1
    try {
      return await work()
    } finally {
      this.#pauses -= 1
      this.#fill()
    }
  }

  /** Places go to who waits longest. */
  #fill(): void {
    while (this.#pauses === 0 && this.#busy < this.#limits.places) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#busy += 1
      next()
    }
  }
}

/** A lane for each key, kept while it is in use. */
export class LanePerKey {
  readonly #limits: LaneLimits
  readonly #lanes = new Map<string, Lane>()

  constructor(limits: LaneLimits) {
    this.#limits = limits
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(key) ?? new Lane(this.#limits)
    this.#lanes.set(key, lane)
    try {
      return await lane.run(work)
    } finally {
      if (lane.isIdle) this.#lanes.delete(key)
    }
  }
}
