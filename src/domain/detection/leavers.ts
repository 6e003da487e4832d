// Who leaves. A key that is missing once may be a flicker; missing from two good ticks in a row, in a group that is there, it has
// left. Removal undoes what was done for a person, so it is reviews when it looks like a mistake: too many within a day, or after the
// batch has started, or once the person's own cut-over has begun.

import type { Safeguards } from '../runbook/model.ts'
import type { Comparison, KnownBatch, KnownMember } from './compare.ts'
import { type NewReview, type Review, removalReview } from './reviews.ts'

/** So few are never too many: one person of a wave of four is 25 %. */
const FEW = 3

/** More than the percentage and more than a few. */
export const isTooMany = (count: number, of: number, percent: number): boolean =>
  count > FEW && count * 100 > of * percent

export interface LeaverFacts {
  readonly byId: ReadonlyMap<number, KnownBatch>
  /** Members who missed the last good tick, or more than one. */
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly reviews: readonly Review[]
  readonly begun: ReadonlySet<number>
  /** How many the source removed from each batch within the last 24 hours. */
  readonly removedLately: ReadonlyMap<number, number>
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
  // A dismissal lasts until the key is back, whatever becomes of its group meanwhile.
  const dismissed = facts.reviews.filter(
    (one) => one.kind === 'removal' && one.isDismissed && !one.isOver && !isPresent(one.folded),
  )
  const newReviews: NewReview<never>[] = dismissed.map((one) => ({ ...one, row: null }))
  const isDismissed = new Set(dismissed.map(({ memberId }) => memberId))
  for (const [batchId, members] of Map.groupBy(missing, (member) => member.batchId)) {
    const due: KnownMember[] = []
    for (const member of members) {
      const missed = facts.absences.has(member.id) ? 2 : 1
      absences.set(member.id, missed)
      if (missed === 2 && !isDismissed.has(member.id)) due.push(member)
    }
    const decided = decide(facts.byId.get(batchId)!, due, facts)
    leavers.push(...decided.leavers)
    newReviews.push(...decided.newReviews)
  }
  return { leavers, absences, newReviews }
}

function decide(
  batch: KnownBatch,
  due: readonly KnownMember[],
  { begun, removedLately, safeguards, nowMs }: LeaverFacts,
): { leavers: KnownMember[]; newReviews: NewReview<never>[] } {
  const newReviews: NewReview<never>[] = []
  const going: KnownMember[] = []
  const mayRun = safeguards.removalsAfterStart === 'run'
  const hasStarted = batch.startMs !== null && batch.startMs <= nowMs
  for (const member of due) {
    if (!mayRun && begun.has(member.id)) {
      newReviews.push(
        removalReview(member, 'begun', 'it has left the source, but its cut-over has begun'),
      )
    } else if (!mayRun && hasStarted) {
      const reason = `it has left the source, but batch ${batch.id} has started`
      newReviews.push(removalReview(member, 'started', reason))
    } else going.push(member)
  }
  const lately = removedLately.get(batch.id) ?? 0
  const percent = safeguards.maxRemovalPercent
  const of = batch.members + lately
  if (!isTooMany(lately + going.length, of, percent)) return { leavers: going, newReviews }
  const reason = `${lately + going.length} of ${of} members would leave batch ${batch.id} within 24 hours, more than ${percent} %`
  return {
    leavers: [],
    newReviews: [...newReviews, ...going.map((member) => removalReview(member, 'many', reason))],
  }
}
