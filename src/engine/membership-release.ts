// Letting a batch go on that was held over moves which a person had to decide, once there is nothing left to decide.
import { hasUndecidedMoves } from '../db/held-changes.ts'
import { moveHeldTimes } from '../db/waits.ts'
import { resume } from '../domain/decide/course.ts'
import { HELD_BY_SOURCE } from '../domain/detect-plan.ts'
import { changeBatch, type Door } from './door.ts'

/** Does nothing to a batch that a person holds, or over which some move is still undecided. */
export function releaseBatch(
  door: Door,
  batchId: number,
  actor: string,
  reason: string,
): Promise<void> {
  return changeBatch(door, batchId, actor, async ({ tx, draft }) => {
    const { heldAt, heldBy } = draft.batch
    if (heldAt === null || heldBy !== HELD_BY_SOURCE) return
    if (await hasUndecidedMoves(tx, batchId)) return
    resume(draft, reason)
    await moveHeldTimes(tx, batchId, heldAt, draft.now)
  })
}
