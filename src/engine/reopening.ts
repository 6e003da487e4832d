// A batch that had ended opens again: somebody in it is retried, redone or removed, or its init is run anew. All its active members
// are then in an unfinished batch again, those too whom nobody spoke of. Whoever has joined another batch since would be in two at
// once (I31), and a source that drops that person would have them removed from both.
import { listActiveElsewhere, lockMembership } from '../db/batches.ts'
import { isBatchEnded } from '../domain/transitions.ts'
import { MatoolkitError } from '../errors.ts'
import type { BatchTransaction } from './engine.ts'

/** So many are named; the others are counted. */
const NAMED_MAX = 3
const LOOKED_AT_MAX = 1_000

/** Call when everything is written: who became active in this very change counts too. */
export async function requireActiveNowhereElse({ tx, draft }: BatchTransaction): Promise<void> {
  const { batch, batchStatusLoaded } = draft
  if (!isBatchEnded(batchStatusLoaded) || isBatchEnded(batch.status)) return
  await lockMembership(tx, batch.runbookName)
  const elsewhere = await listActiveElsewhere(tx, batch.id, LOOKED_AT_MAX)
  if (elsewhere.length === 0) return
  const named = elsewhere
    .slice(0, NAMED_MAX)
    .map(({ key, batchId }) => `${key} in batch ${batchId}`)
  const count = elsewhere.length < LOOKED_AT_MAX ? elsewhere.length : `at least ${LOOKED_AT_MAX}`
  const others = elsewhere.length > NAMED_MAX ? ' and others' : ''
  throw new MatoolkitError('REFUSED', {
    reason:
      `batch ${batch.id} has ended and would open again with ${count} members who are active elsewhere ` +
      `(${named.join(', ')}${others}): do it when they are through there, or in a batch of its own.`,
  })
}
