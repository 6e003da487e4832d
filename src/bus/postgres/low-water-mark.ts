// Where a claim starts in the queue's index. Acknowledged rows leave dead entries at its head until vacuum removes them, and an open
// transaction (a backup, a report) keeps them there: after 200,000 messages under an open snapshot a claim from the head took
// 468 ms, one that began near the end 19 ms (median of five, busy machine). So a claim begins shortly before the end of the last
// one. Every two seconds it begins at the head, to find lapsed leases and messages of senders that were slow to commit.

/** A sender that commits within this time of reading its clock need not wait for the next claim from the head. */
const MARGIN_MS = 5_000
const HEAD_EVERY_MS = 2_000

export interface LowWaterMark {
  /** The earliest visible_at that the claim considers; null is the head of the queue. */
  start(now: Date): Date | null
  /** Reports a claim from `start`. `latest` is the newest visible_at among its rows, null without rows. */
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
      // The claim found messages below the floor and may have left some: the next one begins at the head too.
      if (start === null && !(mayBeMore && reachedMs < floorMs)) headAtMs = now.getTime()
      floorMs = Math.max(floorMs, reachedMs)
    },
  }
}
