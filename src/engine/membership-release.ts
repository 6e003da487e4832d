// Letting a batch go on that was held over moves which a person had to decide, once there is nothing left to decide.
import { hasUndecidedMoves } from '../db/reviews.ts'
import { postponeWaits } from '../db/waits.ts'
import { resume } from '../domain/decide/lifecycle.ts'
import { HELD_BY_SOURCE } from '../domain/detection/scheduled.ts'
import { changeBatch, type Engine } from './engine.ts'

/** Does nothing to a batch that a person holds, or over which some move is still undecided. */
export function releaseBatch(
  engine: Engine,
  batchId: number,
  actor: string,
  reason: string,
): Promise<void> {
  return changeBatch(engine, batchId, actor, async ({ tx, draft }) => {
    const { heldAt, heldBy } = draft.batch
    if (heldAt === null || heldBy !== HELD_BY_SOURCE) return
    if (await hasUndecidedMoves(tx, batchId)) return
    resume(draft, reason)
    await postponeWaits(tx, batchId, heldAt, draft.now)
  })
}
