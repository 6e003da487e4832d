// Where a claim starts to look. Settled rows leave dead entries at the head of the queue's index until vacuum removes them, and
// while anybody's transaction is open (a backup, a report) they cannot even be marked as dead: with 200,000 messages gone
// through under an open snapshot, a claim from the head took 468 ms, and one that began near the end 19 ms (middle of five, on
// a busy machine). So a claim begins a little before where the last one ended, and only every two seconds at the head, to find what lies further back: lapsed leases
// and senders that were slow to commit.

/** A sender's transaction may take this long after reading its clock without its messages waiting for a look at the head. */
const MARGIN_MS = 5_000
const HEAD_EVERY_MS = 2_000

export interface LowWaterMark {
  /** The earliest visible_at to look at; null is the head of the queue. */
  start(now: Date): Date | null
  /** What a claim from `start` found. `latest` is the newest visible_at among the rows, null when there were none. */
  found(start: Date | null, latest: Date | null, mayBeMore: boolean, now: Date): void
}

export function makeLowWaterMark(): LowWaterMark {
  let floorMs = Number.NEGATIVE_INFINITY
  let headAtMs = Number.NEGATIVE_INFINITY
  return {
    start: (now) => {
      const headIsDue = now.getTime() - headAtMs >= HEAD_EVERY_MS
      return headIsDue || floorMs === Number.NEGATIVE_INFINITY ? null : new Date(floorMs)
    },
    found: (start, latest, mayBeMore, now) => {
      const reachedMs = (latest?.getTime() ?? Number.NEGATIVE_INFINITY) - MARGIN_MS
      // Messages from below the floor, and there may be more: so the next claim begins at the head as well.
      if (start === null && !(mayBeMore && reachedMs < floorMs)) headAtMs = now.getTime()
      floorMs = Math.max(floorMs, reachedMs)
    },
  }
}
