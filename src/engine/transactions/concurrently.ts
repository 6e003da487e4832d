// Work on several batches at the same time, each with its own connection and lock.
import type { Engine } from './engine.ts'

const AT_ONCE = 4

/** Runs all items, a few at a time: one on the embedded database. Waits for those under way before it throws the first failure. */
export async function concurrently<T>(
  { db }: Engine,
  items: Iterable<T>,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items].values()
  const lane = async () => {
    for (const item of left) await run(item)
  }
  const lanes = Array.from({ length: db.kind === 'pglite' ? 1 : AT_ONCE }, lane)
  const ended = await Promise.allSettled(lanes)
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}
