// A dry run is the change itself, rolled back: same code, so the same answer. It locks the batch as long as the change would, and
// uses up no batch number.
import { nestedDb } from '../../db/connection/nested-db.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

class RolledBack extends Error {}

/** Runs the work and returns its result. With `dryRun` the work is rolled back. */
export async function runOrDryRun<T>(
  engine: Engine,
  dryRun: boolean,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  if (!dryRun) return work(engine)
  const { db } = engine
  const result = Promise.withResolvers<T>()
  try {
    await db.transaction(async (tx) => {
      const dry = { ...engine, db: nestedDb(tx, db.kind), isDryRun: true }
      result.resolve(await work(dry))
      throw new RolledBack()
    })
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error
  }
  return result.promise
}
