// Every invariant after a story or a simulated event: what is broken, as lines to read.
import type { Queryable } from '../../src/db/connection/db.ts'
import { findBroken } from '../../src/db/invariants/invariants.ts'

/** One line a violation; none when all is well. `batchId` looks at one batch only. One clock writes every time, unless told. */
export async function brokenInvariants(
  db: Queryable,
  now: Date,
  batchId?: number,
  clocksDifferMs = 0,
): Promise<string[]> {
  const broken = await findBroken(db, now, batchId ?? null, clocksDifferMs)
  return broken.map(
    ({ id, sentence, batchId: batch, found }) =>
      `${id} ${sentence}. ${batch === null ? '' : `Batch ${batch}: `}${found}`,
  )
}
