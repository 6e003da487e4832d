// A dry run is the change itself, taken back: what it says is what the change would have said, because it is the same code. It
// holds the batch's lock as long as the change would.
import { joined } from '../db/joined.ts'
import type { Door } from '../engine/door.ts'

class TakenBack extends Error {}

/** Runs the work and keeps what it returns; with `dryRun` nothing of what it did. */
export async function runOrTry<T>(
  door: Door,
  dryRun: boolean,
  work: (door: Door) => Promise<T>,
): Promise<T> {
  if (!dryRun) return work(door)
  const { db } = door
  const found = Promise.withResolvers<T>()
  try {
    await db.transaction(async (tx) => {
      found.resolve(await work({ ...door, db: joined(tx, db.kind) }))
      throw new TakenBack()
    })
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error
  }
  return found.promise
}
