// What this worker made or changed lately, by name. A tenant replicates with a delay, so a name from here that is not found may still
// appear; any other is misspelt or gone, and waiting for it would hold a slot for nothing. A worker that has just started does not know
// what the process before it did, and waits for every name.
import type { Clock } from '../../base/run/clock.ts'
import { isObject, type Json } from '../../base/text/json.ts'

/** Longer delays are what `retry` of a step is for. */
const RECENT_MS = 120_000
const NAMES_MAX = 50_000
/** No name of a person or group is longer. */
const NAME_CHARS_MAX = 320

export class RecentNames {
  readonly #clock: Clock
  readonly #startedMs: number
  /** The oldest first. */
  readonly #notedMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedMs = +clock.now()
  }

  /** Notes every text in the values. */
  note(...values: readonly Json[]): void {
    const nowMs = +this.#clock.now()
    for (const name of namesIn(values)) {
      this.#notedMs.delete(name)
      this.#notedMs.set(name, nowMs)
    }
    for (const [name, notedMs] of this.#notedMs) {
      if (this.#notedMs.size <= NAMES_MAX && notedMs > nowMs - RECENT_MS) break
      this.#notedMs.delete(name)
    }
  }

  /** Whether one of the texts may be too new to be visible everywhere. */
  has(values: Json): boolean {
    const fromMs = +this.#clock.now() - RECENT_MS
    if (this.#startedMs > fromMs) return true
    return namesIn(values).some((name) => (this.#notedMs.get(name) ?? -Infinity) > fromMs)
  }
}

function namesIn(value: Json | readonly Json[]): string[] {
  if (typeof value === 'string')
    return value.length > 0 && value.length <= NAME_CHARS_MAX ? [value.toLowerCase()] : []
  if (Array.isArray(value)) return value.flatMap(namesIn)
  return isObject(value as Json) ? Object.values(value as object).flatMap(namesIn) : []
}
