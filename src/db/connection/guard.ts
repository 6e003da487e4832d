// Guarded updates: they name the state that was loaded under the lock and must find every row.
import type { Tx } from './db.ts'

/** A guarded update found fewer rows than expected: somebody wrote without the lock. */
class GuardFailed extends Error {
  override readonly name = 'GuardFailed'
}

/** Throws GuardFailed unless the update changes `expected` rows. */
export async function updateGuarded(
  tx: Tx,
  what: string,
  expected: number,
  update: string,
  values: readonly unknown[],
): Promise<void> {
  const changed = await tx.change(update, values)
  if (changed !== expected)
    throw new GuardFailed(`${what}: ${changed} of ${expected} rows were as loaded`)
}
