// Work on several batches in one transaction, so that its cost follows the members and not the batches: 300 batches took 150 statements
// each. A batch that fails, or that somebody else keeps locked, costs the others nothing but a second try, each alone.
import { isLockTimeout, isTransient } from '../../base/errors/transient.ts'
import { concurrently } from './concurrently.ts'
import type { Engine } from './engine.ts'

/** Batches in one transaction: a hundred small ones take as long as a chunk of 500 members. */
export const BATCHES_TOGETHER = 100

/** Runs `change` for all items in one transaction, or for each by itself with `alone` when that fails. Throws when the database is unavailable. */
export async function togetherElseAlone<Item>(
  engine: Engine,
  items: readonly Item[],
  change: (items: readonly Item[]) => Promise<unknown>,
  alone: (item: Item) => Promise<unknown>,
): Promise<void> {
  if (items.length > 1) {
    try {
      await change(items)
      return
    } catch (error) {
      if (!mayBeOneBatch(error)) throw error
    }
  }
  await concurrently(engine, items, async (item) => void (await alone(item)))
}

/** The others may succeed without it. Not when the database is unavailable. */
export const mayBeOneBatch = (error: unknown): boolean =>
  !isTransient(error) || isLockTimeout(error)

/** Items in portions of up to `most` in all, and at most a hundred; a larger one has its own. In order. */
export function portionsOf<Item>(
  items: Iterable<Item>,
  sizeOf: (item: Item) => number,
  most: number,
): Item[][] {
  const portions: Item[][] = []
  let size = 0
  for (const item of items) {
    const last = portions.at(-1)
    size += sizeOf(item)
    if (last && size <= most && last.length < BATCHES_TOGETHER) last.push(item)
    else {
      portions.push([item])
      size = sizeOf(item)
    }
  }
  return portions
}
