// The changes of one tick of a scheduled runbook: moves, leavers, joiners, refreshed data, reviews, and the batches held for
// them. The engine checks each change again under the lock that makes it.

import type { Safeguards } from '../runbook/model.ts'
import {
  batchesByTime,
  type Comparison,
  type FoundRow,
  type Issue,
  isoSeconds,
  type KnownBatch,
  type KnownMember,
  type MemberWithRow,
} from './compare.ts'
import { joinerChanges, type PastMembership } from './joiners.ts'
import { leaverChanges } from './leavers.ts'
import { type MemberMove, moveChanges } from './moves.ts'
import { type NewReview, type Review, type ReviewChanges, reviewChanges } from './reviews.ts'

/** A wave first seen this long after its cut-over is more likely an old row than a late one. */
const STALE_MS = 24 * 60 * 60_000
/** The holder of a batch with moves under review. The tick that finds none left resumes it. */
export const HELD_BY_SOURCE = 'source'
const HELD_AS_STALE = 'scheduler'

/** Facts about the few members the comparison found. */
export interface MemberLookups {
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly reviews: readonly Review[]
  /** Movers and missing members with a sent step at T-0 or later. */
  readonly cutOverBegun: ReadonlySet<number>
  readonly compensating: ReadonlySet<number>
  readonly past: ReadonlyMap<string, readonly PastMembership[]>
  readonly removedLastDay: ReadonlyMap<number, number>
}

export interface BatchToCreate<Row extends FoundRow = FoundRow> {
  readonly timeMs: number
  readonly rows: readonly Row[]
  /** The holder and reason when it starts on hold; null when it does not. */
  readonly hold: { readonly by: string; readonly reason: string } | null
}

export interface TickChanges<Row extends FoundRow = FoundRow> {
  readonly refreshes: readonly MemberWithRow<Row>[]
  readonly moves: readonly MemberMove<Row>[]
  readonly batches: readonly BatchToCreate<Row>[]
  /** By batch id. */
  readonly joins: ReadonlyMap<number, readonly Row[]>
  readonly rejoins: readonly KnownMember[]
  readonly removals: readonly KnownMember[]
  /** Members missing now: 1 for the first time, 2 after that. Others are forgotten. */
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly reviews: ReviewChanges<Row>
  readonly holds: ReadonlyMap<number, string>
  readonly resumes: readonly number[]
  readonly issues: readonly Issue[]
}

export function scheduledChanges<Row extends FoundRow>(
  comparison: Comparison<Row>,
  batches: readonly KnownBatch[],
  lookups: MemberLookups,
  safeguards: Safeguards,
  nowMs: number,
): TickChanges<Row> {
  const byId = new Map(batches.map((batch) => [batch.id, batch]))
  const byTime = batchesByTime(batches)
  const facts = { ...lookups, byId, byTime, safeguards, nowMs }
  const moving = moveChanges(comparison, { ...facts, maxPercent: safeguards.maxRemovalPercent })
  const leaving = leaverChanges(comparison, facts)
  const joining = joinerChanges(comparison, facts)
  const reviews = reviewChanges(lookups.reviews, [
    ...moving.newReviews,
    ...leaving.newReviews,
    ...joining.newReviews,
  ])
  const holdReasons = new Map(
    moving.undecided.map((newReview) => [newReview.toMs!, newReview.reason]),
  )
  return {
    refreshes: refreshesOf(comparison),
    moves: moving.moves,
    batches: [...joining.fresh].map(([timeMs, rows]) => ({
      timeMs,
      rows,
      hold: holdOfNew(timeMs, holdReasons.get(timeMs), nowMs),
    })),
    joins: joining.joins,
    rejoins: comparison.rejoiners.map(({ member }) => member),
    removals: leaving.leavers,
    absences: leaving.absences,
    reviews,
    holds: holdsOf(reviews.add, byId, byTime),
    resumes: resumesOf(moving.undecided, batches, byTime),
    issues: [...comparison.issues, ...moving.issues, ...joining.issues],
  }
}

/** Members with changed data, rejoiners included. */
const refreshesOf = <Row extends FoundRow>({
  changed,
  rejoiners,
}: Comparison<Row>): MemberWithRow<Row>[] => [
  ...changed,
  ...rejoiners.filter(({ member, row }) => member.hash !== row.hash),
]

function holdOfNew(
  timeMs: number,
  undecided: string | undefined,
  nowMs: number,
): BatchToCreate['hold'] {
  if (undecided !== undefined) return { by: HELD_BY_SOURCE, reason: undecided }
  if (nowMs - timeMs <= STALE_MS) return null
  const reason = `it was found more than a day after its cut-over, ${isoSeconds(timeMs)}`
  return { by: HELD_AS_STALE, reason }
}

/** Holds both batches of a move under review. Once only: a batch that a person resumed is not held again for the same review. */
function holdsOf(
  added: readonly NewReview[],
  byId: ReadonlyMap<number, KnownBatch>,
  byTime: (timeMs: number) => readonly KnownBatch[],
): Map<number, string> {
  const holds = new Map<number, string>()
  for (const { kind, batchId, toMs, reason } of added) {
    if (kind !== 'move') continue
    for (const batch of [byId.get(batchId!), byTime(toMs!)[0]]) {
      if (batch && !batch.isEnded && batch.heldBy === null) holds.set(batch.id, reason)
    }
  }
  return holds
}

function resumesOf(
  undecided: readonly NewReview[],
  batches: readonly KnownBatch[],
  byTime: (timeMs: number) => readonly KnownBatch[],
): number[] {
  const underReview = new Set(
    undecided.flatMap(({ batchId, toMs }) => [batchId, byTime(toMs!)[0]?.id]),
  )
  return batches
    .filter(
      ({ id, isEnded, heldBy }) => !isEnded && heldBy === HELD_BY_SOURCE && !underReview.has(id),
    )
    .map(({ id }) => id)
}
