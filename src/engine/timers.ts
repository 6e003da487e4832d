// What the clock does: phases fall due, retries and polls come up, deadlines pass, steps are written, slots are filled.
// Times are columns, acted on to the second; every function looks at the state of now, so being called twice does no harm.
import { listDuePhases, listUnexpandedPhases } from '../db/batches.ts'
import { listDueWaits, listWorkersWanted } from '../db/waits.ts'
import { onPhaseDue } from '../domain/decide/course.ts'
import { onWake } from '../domain/decide/wake.ts'
import { bringBatchSteps, bringMembers, changeBatch, type Door } from './door.ts'
import { expandPhase } from './expand.ts'
import { fillWorker } from './fill.ts'

const PHASES_PER_LOOK = 100
const WAITS_PER_LOOK = 10_000
const WAITS_PER_CHUNK = 500
const ACTOR = 'timer'

/** Everything that is due now. Returns how much there was, so that a caller can go on until there is nothing. */
export async function runTimers(door: Door): Promise<number> {
  return (
    (await startDuePhases(door)) +
    (await expandPhases(door)) +
    (await wakeWaits(door)) +
    (await fillWorkers(door))
  )
}

export async function startDuePhases(door: Door): Promise<number> {
  const due = await listDuePhases(door.db, door.clock.now(), PHASES_PER_LOOK)
  for (const { id, batchId } of due) {
    await changeBatch(door, batchId, ACTOR, async ({ draft }) => {
      onPhaseDue(draft, draft.phase(id))
    })
  }
  return due.length
}

/** A chunk of each phase in turn, so that a large one does not keep a small one waiting. */
export async function expandPhases(door: Door): Promise<number> {
  const open = await listUnexpandedPhases(door.db, PHASES_PER_LOOK)
  for (const { id, batchId } of open) await expandPhase(door, batchId, id, ACTOR)
  return open.length
}

export async function wakeWaits(door: Door): Promise<number> {
  const due = await listDueWaits(door.db, door.clock.now(), WAITS_PER_LOOK)
  for (const [batchId, group] of Map.groupBy(due, (wait) => wait.batchId)) {
    for (let start = 0; start < group.length; start += WAITS_PER_CHUNK) {
      const chunk = group.slice(start, start + WAITS_PER_CHUNK)
      await changeBatch(door, batchId, ACTOR, async (visit) => {
        const members = chunk.flatMap(({ memberId }) => memberId ?? [])
        await bringMembers(visit, members, { stepIds: chunk.map(({ stepId }) => stepId) })
        if (members.length < chunk.length) await bringBatchSteps(visit)
        for (const { stepId } of chunk) onWake(visit.draft, visit.draft.steps.get(stepId)!)
      })
    }
  }
  return due.length
}

export async function fillWorkers(door: Door): Promise<number> {
  let looked = 0
  for (const workerId of await listWorkersWanted(door.db))
    looked += await fillWorker(door, workerId, ACTOR)
  return looked
}
