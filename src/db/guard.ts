// The guard of every update: it names the state that was loaded under the lock, and must find as many rows as it was given.
import type { Tx } from './db.ts'

/** Thrown when a guarded update moved fewer rows than it should: another writer was there without the lock. */
export class GuardFailed extends Error {
  override readonly name = 'GuardFailed'
}

/** Runs the update and throws unless it moved that many rows, by the server's own count. */
export async function updateGuarded(
  tx: Tx,
  what: string,
  wanted: number,
  update: string,
  values: readonly unknown[],
): Promise<void> {
  const moved = await tx.change(update, values)
  if (moved !== wanted)
    throw new GuardFailed(`${what}: ${moved} of ${wanted} rows were as they had been loaded`)
}
