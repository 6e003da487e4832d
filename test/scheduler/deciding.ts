// Decides some open reviews at random, as a person would.
import type { Queryable } from '../../src/db/connection/db.ts'
import { listReviews, type ReviewRow } from '../../src/db/sources/reviews.ts'
import {
  approveReviews,
  dismissReviews,
  type ReviewDecision,
} from '../../src/engine/orders/reviews.ts'
import type { Engine } from '../../src/engine/transactions/engine.ts'

const LISTED = 100
const DISMISSED_SHARE = 0.3
const CHOICES = ['reschedule', 'move', 'keep'] as const

/** Decides one open review and all like it. Returns what it did; null when no review is open. */
export async function decideAtRandom(
  db: Queryable,
  engine: Engine,
  fraction: () => number,
): Promise<string | null> {
  const items = await listReviews(db, { runbookName: 'wave', limit: LISTED })
  const item = items[Math.floor(fraction() * items.length)]
  if (!item) return null
  const order: ReviewDecision = {
    reviewIds: items.filter((other) => isAlike(item, other)).map(({ id }) => id),
    actor: 'operator',
    reason: 'by chance',
  }
  if (item.kind === 'move') {
    const choice = CHOICES[Math.floor(fraction() * CHOICES.length)]!
    if (choice === 'keep') await dismissReviews(engine, order)
    else await approveReviews(engine, { ...order, choice, allowOverdue: true })
    return `${choice} move`
  }
  if (fraction() < DISMISSED_SHARE) {
    await dismissReviews(engine, order)
    return `dismiss ${item.kind}`
  }
  await approveReviews(engine, order)
  return `approve ${item.kind}`
}

const isAlike = (one: ReviewRow, other: ReviewRow): boolean =>
  one.kind === other.kind &&
  one.batchId === other.batchId &&
  +(one.toTime ?? 0) === +(other.toTime ?? 0)
