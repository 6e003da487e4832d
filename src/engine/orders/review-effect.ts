// What deciding on some reviews means: who is concerned, from when to when, and which phases a new date makes overdue.
import type { Queryable } from '../../db/connection/db.ts'
import { findBatchByTime } from '../../db/sources/membership.ts'
import { findReviews, type ReviewRow } from '../../db/sources/reviews.ts'
import { listPhasesOf } from '../../db/state/version-upgrades.ts'
import { type OverduePhase, overdueAt } from '../../domain/decide/lifecycle.ts'
import type { Engine } from '../transactions/engine.ts'

const KEYS_LISTED = 5

/** Reviews of one kind, from one batch, to one time. */
export interface ReviewGroup
  extends Pick<ReviewRow, 'kind' | 'runbookName' | 'batchId' | 'fromTime' | 'toTime'> {
  readonly people: number
  /** The first few. */
  readonly memberKeys: readonly string[]
}

/** The reviews that are still open. */
export async function groupReviews(
  db: Queryable,
  reviewIds: readonly number[],
): Promise<ReviewGroup[]> {
  const place = ({ kind, runbookName, batchId, toTime }: ReviewRow) =>
    `${kind} ${runbookName} ${batchId} ${toTime?.toISOString()}`
  const rows = await findReviews(db, [...new Set(reviewIds)])
  return [...Map.groupBy(rows, place).values()].map((same) => {
    const { kind, runbookName, batchId, fromTime, toTime } = same[0]!
    const memberKeys = same.slice(0, KEYS_LISTED).map(({ key }) => key)
    return { kind, runbookName, batchId, fromTime, toTime, people: same.length, memberKeys }
  })
}

/** The batches that the members of these reviews are in or go to, as far as they exist. */
export async function batchesOfReviews(
  db: Queryable,
  groups: readonly ReviewGroup[],
): Promise<number[]> {
  const ids = new Set<number>()
  for (const { batchId, runbookName, toTime } of groups) {
    if (batchId !== null) ids.add(batchId)
    const target = toTime && (await findBatchByTime(db, runbookName, toTime))
    if (target) ids.add(target.id)
  }
  return [...ids]
}

/** Phases that the members' batch has not begun and that would start at once with the new date. */
export async function overdueAfterMove(
  { db, clock }: Engine,
  { batchId, toTime }: Pick<ReviewRow, 'batchId' | 'toTime'>,
): Promise<OverduePhase[]> {
  return overdueAt(await listPhasesOf(db, [batchId!]), toTime!, clock.now())
}
