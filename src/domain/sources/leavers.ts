// Leavers. A key missing once may be a glitch; missing from two good ticks in a row, in a group that is present, it has left.
// Removal reverses what was done for a person, so it needs review when it looks like a mistake: too many within a day, after
// the batch has started, or after the person's cut-over has begun.

import type { Safeguards } from '../runbook/model.ts'
import type { Comparison, KnownBatch, KnownMember } from './compare.ts'
import { type NewReview, type Review, type ReviewedMember, removalReview } from './reviews.ts'

/** Up to this many are never too many: one person of a wave of four is 25 %. */
const FEW = 3

/** More than the percentage and more than a few. */
export const isTooMany = (count: number, of: number, percent: number): boolean =>
  count > FEW && count * 100 > of * percent

export interface LeaverFacts {
  readonly byId: ReadonlyMap<number, KnownBatch>
  /** Members missing from the last good tick, or from more than one. */
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly reviews: readonly Review[]
  readonly cutOverBegun: ReadonlySet<number>
  /** Removals by the source in the last 24 hours, by batch. */
  readonly removedLastDay: ReadonlyMap<number, number>
  readonly safeguards: Safeguards
  readonly nowMs: number
}

export interface LeaverChanges {
  readonly leavers: readonly KnownMember[]
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly newReviews: readonly NewReview<never>[]
}

export function leaverChanges(
  { missing, isPresent }: Pick<Comparison, 'missing' | 'isPresent'>,
  facts: LeaverFacts,
): LeaverChanges {
  const leavers: KnownMember[] = []
  const absences = new Map<number, 1 | 2>()
  // A dismissal lasts until the key is back, whatever happens to its group.
  const dismissed = facts.reviews.filter(
    (review) =>
      review.kind === 'removal' &&
      review.isDismissed &&
      !review.isOver &&
      !isPresent(review.folded),
  )
  const newReviews: NewReview<never>[] = dismissed.map((review) => ({ ...review, row: null }))
  const dismissedIds = new Set(dismissed.map(({ memberId }) => memberId))
  for (const [batchId, members] of Map.groupBy(missing, (member) => member.batchId)) {
    const due: KnownMember[] = []
    for (const member of members) {
      const missed = facts.absences.has(member.id) ? 2 : 1
      absences.set(member.id, missed)
      if (missed === 2 && !dismissedIds.has(member.id)) due.push(member)
    }
    const decided = judgeLeavers(facts.byId.get(batchId)!, due, facts)
    // Not spread: a call takes about 120,000 arguments.
    for (const leaver of decided.leavers) leavers.push(leaver)
    for (const review of decided.newReviews) newReviews.push(review)
  }
  return { leavers, absences, newReviews }
}

/** Who may leave at once, and who needs review. */
export function judgeLeavers<Leaver extends ReviewedMember>(
  batch: Pick<KnownBatch, 'id' | 'startMs' | 'members'>,
  due: readonly Leaver[],
  {
    cutOverBegun,
    removedLastDay,
    safeguards,
    nowMs,
  }: Pick<LeaverFacts, 'cutOverBegun' | 'removedLastDay' | 'safeguards' | 'nowMs'>,
): { leavers: Leaver[]; newReviews: NewReview<never>[] } {
  const newReviews: NewReview<never>[] = []
  const leaving: Leaver[] = []
  const mayRun = safeguards.removalsAfterStart === 'run'
  const hasStarted = batch.startMs !== null && batch.startMs <= nowMs
  for (const member of due) {
    if (!mayRun && cutOverBegun.has(member.id)) {
      newReviews.push(
        removalReview(member, 'begun', 'it left the source, but its cut-over has begun'),
      )
    } else if (!mayRun && hasStarted) {
      const reason = `it left the source, but batch ${batch.id} has started`
      newReviews.push(removalReview(member, 'started', reason))
    } else leaving.push(member)
  }
  const removedCount = removedLastDay.get(batch.id) ?? 0
  const percent = safeguards.maxRemovalPercent
  const of = batch.members + removedCount
  if (!isTooMany(removedCount + leaving.length, of, percent))
    return { leavers: leaving, newReviews }
  const reason = `${removedCount + leaving.length} of ${of} members would leave batch ${batch.id} within 24 hours, more than ${percent} %`
  return {
    leavers: [],
    newReviews: [...newReviews, ...leaving.map((member) => removalReview(member, 'many', reason))],
  }
}
