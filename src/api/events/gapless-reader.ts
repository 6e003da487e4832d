// Releases events in id order, each once, none missed. An id is assigned when its event is written but becomes visible on commit, so
// reading on from the highest visible id loses the events of a slow transaction. The reader waits at a gap until every transaction
// that ran when it first saw the gap has ended; an id still missing then was rolled back. A trigger numbers a transaction before its
// events, so that none of those is taken for a later one.
import type { Horizon } from '../../db/views/events.ts'

interface Gap {
  readonly next: number
  readonly sinceMs: number
}

/** Our statements end within a minute. A transaction that runs longer is not ours and must not stop the stream. */
const WAIT_MAX_MS = 120_000

export class GaplessReader {
  #last: number
  readonly #gaps = new Map<number, Gap>()

  /** Events up to `last` count as released. */
  constructor(last: number) {
    this.#last = last
  }

  get last(): number {
    return this.#last
  }

  /** Takes the events after `last`, in order and read in one snapshot with the horizon; returns those to release now. */
  take<Event extends { readonly id: number }>(
    events: readonly Event[],
    horizon: Horizon,
    now: Date,
  ): Event[] {
    let before = this.#last
    const released: Event[] = []
    let isWaiting = false
    for (const event of events) {
      // All gaps start waiting at once: one after the other, each would cost a round.
      if (event.id !== before + 1 && !this.#isClosed(before, horizon, now)) isWaiting = true
      if (!isWaiting) released.push(event)
      before = event.id
    }
    this.#last = released.at(-1)?.id ?? this.#last
    for (const after of this.#gaps.keys()) if (after < this.#last) this.#gaps.delete(after)
    return released
  }

  #isClosed(after: number, { oldest, next }: Horizon, now: Date): boolean {
    const gap = this.#gaps.get(after) ?? { next, sinceMs: +now }
    this.#gaps.set(after, gap)
    return oldest >= gap.next || +now - gap.sinceMs > WAIT_MAX_MS
  }
}

/** The id to start after, given the newest ids in ascending order: before the first gap, which may still fill. */
export function startingPoint(newest: readonly number[]): number {
  const gap = newest.findIndex((id, index) => index > 0 && id !== newest[index - 1]! + 1)
  return newest[gap < 0 ? newest.length - 1 : gap - 1] ?? 0
}
