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

  /** Everything up to this id was read, without a gap. */
  advanceTo(id: number): void {
    this.#last = id
    this.#gaps.clear()
  }

  /** Takes the ids after `last`, in order and read in one snapshot with the horizon; `last` is then the last one to release now. */
  take(ids: readonly number[], horizon: Horizon, now: Date): void {
    let before = this.#last
    let isWaiting = false
    for (const id of ids) {
      // All gaps start waiting at once: one after the other, each would cost a round.
      if (id !== before + 1 && !this.#isClosed(before, horizon, now)) isWaiting = true
      if (!isWaiting) this.#last = id
      before = id
    }
    for (const after of this.#gaps.keys()) if (after < this.#last) this.#gaps.delete(after)
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
