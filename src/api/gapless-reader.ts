// Events in the order of their ids, each once, none missed. Ids are given when an event is written and become visible when its
// transaction commits, so a later id can be seen before an earlier one: whoever goes on from the highest id seen loses the events
// of a slow transaction. A hole among the ids is therefore waited for until every transaction that ran when it was first seen has
// ended; what has not come by then was rolled back and never will. Whoever has been told an event has been told all before it.

import type { Horizon } from '../db/views/events.ts'

interface Hole {
  readonly next: number
  readonly sinceMs: number
}

/**
 * Statements end after a minute and transactions that stand still after seconds; what runs longer than this belongs to somebody
 * else on the same server, and must not stop the stream.
 */
const WAIT_MAX_MS = 120_000

export class GaplessReader {
  #last: number
  readonly #holes = new Map<number, Hole>()

  /** `last` and everything before it counts as told. */
  constructor(last: number) {
    this.#last = last
  }

  get last(): number {
    return this.#last
  }

  /** Of the events after `last`, in order and read at one moment with the horizon, those that may be told now. */
  take<Event extends { readonly id: number }>(
    events: readonly Event[],
    horizon: Horizon,
    now: Date,
  ): Event[] {
    let before = this.#last
    const told: Event[] = []
    let isWaiting = false
    for (const event of events) {
      // Every hole is noted when it is first seen: noted one by one, each would cost a round of its own.
      if (event.id !== before + 1 && !this.#isOver(before, horizon, now)) isWaiting = true
      if (!isWaiting) told.push(event)
      before = event.id
    }
    this.#last = told.at(-1)?.id ?? this.#last
    for (const after of this.#holes.keys()) if (after < this.#last) this.#holes.delete(after)
    return told
  }

  #isOver(after: number, { oldest, next }: Horizon, now: Date): boolean {
    const hole = this.#holes.get(after) ?? { next, sinceMs: +now }
    this.#holes.set(after, hole)
    return oldest >= hole.next || +now - hole.sinceMs > WAIT_MAX_MS
  }
}

/** Where to begin among the newest ids, lowest first: before the first hole, because it may still be filled. */
export function beginAt(newest: readonly number[]): number {
  const hole = newest.findIndex((id, index) => index > 0 && id !== newest[index - 1]! + 1)
  return newest[hole < 0 ? newest.length - 1 : hole - 1] ?? 0
}
