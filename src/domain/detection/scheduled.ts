// What one tick does, put together from its parts: who moves, who leaves, who comes, whose data changed, what is reviews for a person
// and which batches wait with it. A plan is a list of things to do, each of which is checked once more under the lock that does it.

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

/** A wave that is first seen so long after its cut-over is more likely an old row than a late one. */
const STALE_MS = 24 * 60 * 60_000
/** Who holds a batch over moves that a person must decide. The tick that finds them gone lets the batch go on. */
export const HELD_BY_SOURCE = 'source'
const HELD_AS_STALE = 'scheduler'

/** What is looked up for the few whom the comparison found. */
export interface Lookups {
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly reviews: readonly Review[]
  /** Of movers and missing members: those for whom a step of T-0 or later was sent. */
  readonly begun: ReadonlySet<number>
  readonly undoing: ReadonlySet<number>
  readonly past: ReadonlyMap<string, readonly PastMembership[]>
  readonly removedLately: ReadonlyMap<number, number>
}

export interface BatchToCreate<Row extends FoundRow = FoundRow> {
  readonly timeMs: number
  readonly rows: readonly Row[]
  /** By whom and why it begins held; null when it does not. */
  readonly hold: { readonly by: string; readonly reason: string } | null
}

export interface TickChanges<Row extends FoundRow = FoundRow> {
  readonly refreshes: readonly MemberWithRow<Row>[]
  readonly moves: readonly MemberMove<Row>[]
  readonly batches: readonly BatchToCreate<Row>[]
  /** By batch. */
  readonly joins: ReadonlyMap<number, readonly Row[]>
  readonly rejoins: readonly KnownMember[]
  readonly removals: readonly KnownMember[]
  /** Members missing now, and whether for the first time. Whoever is not among them any more is forgotten. */
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly reviews: ReviewChanges<Row>
  readonly holds: ReadonlyMap<number, string>
  readonly resumes: readonly number[]
  readonly issues: readonly Issue[]
}

export function scheduledChanges<Row extends FoundRow>(
  comparison: Comparison<Row>,
  batches: readonly KnownBatch[],
  lookups: Lookups,
  safeguards: Safeguards,
  nowMs: number,
): TickChanges<Row> {
  const byId = new Map(batches.map((batch) => [batch.id, batch]))
  const byTime = batchesByTime(batches)
  const facts = { ...lookups, byId, byTime, safeguards, nowMs }
  const moving = moveChanges(comparison, { ...facts, maxPercent: safeguards.maxRemovalPercent })
  const leaving = leaverChanges(comparison, facts)
  const coming = joinerChanges(comparison, facts)
  const reviews = reviewChanges(lookups.reviews, [
    ...moving.newReviews,
    ...leaving.newReviews,
    ...coming.newReviews,
  ])
  const frozen = new Map(moving.undecided.map((newReview) => [newReview.toMs!, newReview.reason]))
  return {
    refreshes: refreshesOf(comparison),
    moves: moving.moves,
    batches: [...coming.fresh].map(([timeMs, rows]) => ({
      timeMs,
      rows,
      hold: holdOfNew(timeMs, frozen.get(timeMs), nowMs),
    })),
    joins: coming.joins,
    rejoins: comparison.rejoiners.map(({ member }) => member),
    removals: leaving.leavers,
    absences: leaving.absences,
    reviews,
    holds: holdsOf(reviews.add, byId, byTime),
    resumes: resumesOf(moving.undecided, batches, byTime),
    issues: [...comparison.issues, ...moving.issues, ...coming.issues],
  }
}

/** Everybody whose data changed, those who come back included. */
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
  const reason = `its cut-over, ${isoSeconds(timeMs)}, had been over for more than a day when it was found`
  return { by: HELD_AS_STALE, reason }
}

/** Both ends of a move that a person must decide wait. Once only: a batch that a person resumed is not reviews again over the same. */
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
  const waiting = new Set(undecided.flatMap(({ batchId, toMs }) => [batchId, byTime(toMs!)[0]?.id]))
  return batches
    .filter(({ id, isEnded, heldBy }) => !isEnded && heldBy === HELD_BY_SOURCE && !waiting.has(id))
    .map(({ id }) => id)
}
