// What a person does with some of what ticks have held, at random: for tests that live through whatever comes.
import type { Queryable } from '../../src/db/db.ts'
import { listReviews, type ReviewRow } from '../../src/db/reviews.ts'
import type { Engine } from '../../src/engine/engine.ts'
import {
  admitLatecomers,
  confirmRemovals,
  decideMoves,
  dismissReviews,
  type ReviewDecision,
} from '../../src/engine/reviews.ts'

const LISTED = 100
const DISMISSED_SHARE = 0.3
const CHOICES = ['reschedule', 'move', 'keep'] as const

/** Decides about everything that is held for the same reason as one of them. Says what; null when nothing is held. */
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
    await decideMoves(engine, { ...order, choice })
    return `${choice} move`
  }
  if (fraction() < DISMISSED_SHARE) {
    await dismissReviews(engine, order)
    return `dismiss ${item.kind}`
  }
  if (item.kind === 'removal') await confirmRemovals(engine, order)
  else await admitLatecomers(engine, order)
  return item.kind === 'removal' ? 'confirm removal' : 'admit join'
}

const isAlike = (one: ReviewRow, other: ReviewRow): boolean =>
  one.kind === other.kind &&
  one.batchId === other.batchId &&
  +(one.toTime ?? 0) === +(other.toTime ?? 0)
