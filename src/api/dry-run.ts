// A dry run is the change itself, taken back: what it says is what the change would have said, because it is the same code. It
// holds the batch's lock as long as the change would.
import { nestedDb } from '../db/nested-db.ts'
import type { Engine } from '../engine/engine.ts'

class TakenBack extends Error {}

/** Runs the work and keeps what it returns; with `dryRun` nothing of what it did. */
export async function runOrDryRun<T>(
  engine: Engine,
  dryRun: boolean,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  if (!dryRun) return work(engine)
  const { db } = engine
  const found = Promise.withResolvers<T>()
  try {
    await db.transaction(async (tx) => {
      found.resolve(await work({ ...engine, db: nestedDb(tx, db.kind) }))
      throw new TakenBack()
    })
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error
  }
  return found.promise
}
