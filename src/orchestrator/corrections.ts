// Corrections: finds members who were told a start time that is no longer true, and does the step again that told them. It looks at the state:
// a new date, a move to another batch and a message that was on its way while the date changed are the same to it. A look that never
// happened costs time and no correction.
import { chunksOf } from '../base/run/chunks.ts'
import { listOwed, type OwedCorrection, retireSentMessages } from '../db/orders/sent-messages.ts'
import { correct } from '../domain/decide/corrections.ts'
import { isPassed } from '../domain/state/transitions.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import { orHoldBatch } from '../engine/transactions/hold-on-failure.ts'
import { loadMembersWithSteps } from '../engine/transactions/loading.ts'
import { changeBatch } from '../engine/transactions/locking.ts'

const OWED_PER_LOOK = 5_000
const MEMBERS_PER_CHUNK = 500
const ACTOR = 'timer'

/** Returns how many corrections were begun or became needless; those whose member is busy come later. */
export async function sendCorrections(engine: Engine): Promise<number> {
  const owed = await listOwed(engine.db, OWED_PER_LOOK)
  let done = 0
  for (const [batchId, ofBatch] of Map.groupBy(owed, (one) => one.batchId))
    for (const chunk of chunksOf(ofBatch, MEMBERS_PER_CHUNK))
      await orHoldBatch(engine, batchId, ACTOR, async () => {
        done += await correctChunk(engine, batchId, chunk)
      })
  return done
}

function correctChunk(
  engine: Engine,
  batchId: number,
  chunk: readonly OwedCorrection[],
): Promise<number> {
  return changeBatch(engine, batchId, ACTOR, async (batchTx) => {
    const { tx, draft } = batchTx
    const memberIds = chunk.map(({ memberId }) => memberId)
    await loadMembersWithSteps(batchTx, memberIds, { all: true })
    const outcomes = chunk
      // Read before the lock: the date, the member and the step may have changed since.
      .filter(({ startTime }) => +startTime !== +(draft.batch.startTime ?? 0))
      .filter(({ memberId, stepId }) => {
        const status = draft.steps.get(stepId)?.status
        return draft.member(memberId).status === 'active' && (!status || isPassed(status))
      })
      .map((owed) => ({ id: owed.id, outcome: correct(draft, owed) }))
    await retireSentMessages(
      tx,
      outcomes.flatMap(({ id, outcome }) => (outcome === 'never' ? [id] : [])),
    )
    return outcomes.filter(({ outcome }) => outcome !== 'later').length
  })
}
