// What a person does with some of what ticks have held, at random: for tests that live through whatever comes.
import type { Queryable } from '../../src/db/db.ts'
import { type HeldItem, listHeld } from '../../src/db/held-changes.ts'
import type { Door } from '../../src/engine/door.ts'
import {
  admit,
  confirmRemovals,
  decideMoves,
  dismissHeld,
  type HeldOrder,
} from '../../src/engine/held.ts'

const LISTED = 100
const DISMISSED_SHARE = 0.3
const CHOICES = ['reschedule', 'move', 'keep'] as const

/** Decides about everything that is held for the same reason as one of them. Says what; null when nothing is held. */
export async function decideAtRandom(
  db: Queryable,
  door: Door,
  fraction: () => number,
): Promise<string | null> {
  const items = await listHeld(db, { runbookName: 'wave', limit: LISTED })
  const item = items[Math.floor(fraction() * items.length)]
  if (!item) return null
  const order: HeldOrder = {
    heldIds: items.filter((other) => isAlike(item, other)).map(({ id }) => id),
    actor: 'operator',
    reason: 'by chance',
  }
  if (item.kind === 'move') {
    const choice = CHOICES[Math.floor(fraction() * CHOICES.length)]!
    await decideMoves(door, { ...order, choice })
    return `${choice} move`
  }
  if (fraction() < DISMISSED_SHARE) {
    await dismissHeld(door, order)
    return `dismiss ${item.kind}`
  }
  if (item.kind === 'removal') await confirmRemovals(door, order)
  else await admit(door, order)
  return item.kind === 'removal' ? 'confirm removal' : 'admit join'
}

const isAlike = (one: HeldItem, other: HeldItem): boolean =>
  one.kind === other.kind &&
  one.batchId === other.batchId &&
  +(one.toTime ?? 0) === +(other.toTime ?? 0)
