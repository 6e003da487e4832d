// What the clock does: batches take up a new version, phases fall due, retries and polls come up, deadlines pass, jobs come back as dead letters, steps are
// written, slots are filled. Times are columns, acted on to the second; every function looks at the state of now, so being
// called twice does no harm. A batch whose change fails is held, and the others go on.
import { listDuePhases, listUnexpandedPhases } from '../db/batches.ts'
import { listBatchesBehind } from '../db/behind.ts'
import { type DeadJob, listDeadJobs, markNoticed } from '../db/dead-letters.ts'
import { loadOwners, type StepOwner } from '../db/facts.ts'
import { type DueWait, listDueWaits, listWorkersWanted } from '../db/waits.ts'
import { onPhaseDue } from '../domain/decide/course.ts'
import { onDeadLetter } from '../domain/decide/settle.ts'
import { onWake } from '../domain/decide/wake.ts'
import { parseJobId } from '../domain/messages.ts'
import { bringBatchSteps, bringMembers, changeBatch, type Door, type Visit } from './door.ts'
import { expandPhase } from './expand.ts'
import { fillWorker } from './fill.ts'
import { orHold } from './poison.ts'

const BATCHES_PER_LOOK = 100
const PHASES_PER_LOOK = 100
const WAITS_PER_LOOK = 10_000
const DEAD_JOBS_PER_LOOK = 1_000
const STEPS_PER_CHUNK = 500
const ACTOR = 'timer'

/** Everything that is due now. Returns how much there was, so that a caller can go on until there is nothing. */
export async function runTimers(door: Door): Promise<number> {
  return (
    (await takeVersions(door)) +
    (await startDuePhases(door)) +
    (await expandPhases(door)) +
    (await settleDeadJobs(door)) +
    (await wakeWaits(door)) +
    (await fillWorkers(door))
  )
}

/** Batches under way take up the version that was published, also those to which nobody would come for days. */
export async function takeVersions(door: Door): Promise<number> {
  let taken = 0
  for (const batchId of await listBatchesBehind(door.db, ACTOR, BATCHES_PER_LOOK)) {
    // Coming to it is enough: the door puts it on the version.
    if (await orHold(door, batchId, ACTOR, () => changeBatch(door, batchId, ACTOR, async () => {})))
      taken += 1
  }
  return taken
}

export async function startDuePhases(door: Door): Promise<number> {
  let started = 0
  for (const { id, batchId } of await listDuePhases(door.db, door.clock.now(), PHASES_PER_LOOK)) {
    const isDone = await orHold(door, batchId, ACTOR, () =>
      changeBatch(door, batchId, ACTOR, async ({ draft }) => {
        onPhaseDue(draft, draft.phase(id))
      }),
    )
    if (isDone) started += 1
  }
  return started
}

/** A chunk of each phase in turn, so that a large one does not keep a small one waiting. */
export async function expandPhases(door: Door): Promise<number> {
  let expanded = 0
  for (const { id, batchId } of await listUnexpandedPhases(door.db, PHASES_PER_LOOK)) {
    const isDone = await orHold(door, batchId, ACTOR, () => expandPhase(door, batchId, id, ACTOR))
    if (isDone) expanded += 1
  }
  return expanded
}

export async function wakeWaits(door: Door): Promise<number> {
  const due = await listDueWaits(door.db, door.clock.now(), WAITS_PER_LOOK)
  return inChunks(door, due, async ({ draft }, chunk) => {
    for (const { stepId } of chunk) onWake(draft, draft.steps.get(stepId)!)
  })
}

/** Jobs that ended in the dead letters: their steps go on by the retry rule, with the letter's reason. */
export async function settleDeadJobs(door: Door): Promise<number> {
  const letters = await listDeadJobs(door.db, DEAD_JOBS_PER_LOOK)
  if (letters.length === 0) return 0
  const stepIds = letters.flatMap(({ jobId }) => parseJobId(jobId)?.stepId ?? [])
  const owners = new Map((await loadOwners(door.db, stepIds)).map((owner) => [owner.id, owner]))
  const ours = letters.flatMap((letter) => addressed(letter, owners))
  const known = new Set(ours.map(({ id }) => id))
  const foreign = letters.filter(({ id }) => !known.has(id))
  await markNoticed(
    door.db,
    foreign.map(({ id }) => id),
    door.clock.now(),
  )
  const settled = await inChunks(door, ours, async ({ tx, draft }, chunk) => {
    for (const { stepId, jobId, why } of chunk)
      onDeadLetter(draft, draft.steps.get(stepId)!, jobId, why)
    await markNoticed(
      tx,
      chunk.map(({ id }) => id),
      draft.now,
    )
  })
  return foreign.length + settled
}

function addressed(
  letter: DeadJob,
  owners: ReadonlyMap<number, StepOwner>,
): (DeadJob & DueWait & { why: string })[] {
  const owner = owners.get(parseJobId(letter.jobId)?.stepId ?? 0)
  if (!owner) return []
  const { batchId, memberId } = owner
  const why = `${letter.reason}: ${letter.description}`
  return [{ ...letter, stepId: owner.id, batchId, memberId, why }]
}

/** The steps of each batch in chunks, a transaction each, with their members among the facts. Returns how many went well. */
async function inChunks<T extends DueWait>(
  door: Door,
  all: readonly T[],
  decide: (visit: Visit, chunk: readonly T[]) => Promise<void>,
): Promise<number> {
  let done = 0
  for (const [batchId, group] of Map.groupBy(all, (one) => one.batchId)) {
    for (let start = 0; start < group.length; start += STEPS_PER_CHUNK) {
      const chunk = group.slice(start, start + STEPS_PER_CHUNK)
      const isDone = await orHold(door, batchId, ACTOR, () =>
        changeBatch(door, batchId, ACTOR, async (visit) => {
          const members = chunk.flatMap(({ memberId }) => memberId ?? [])
          await bringMembers(visit, members, { stepIds: chunk.map(({ stepId }) => stepId) })
          if (members.length < chunk.length) await bringBatchSteps(visit)
          await decide(visit, chunk)
        }),
      )
      if (isDone) done += chunk.length
    }
  }
  return done
}

export async function fillWorkers(door: Door): Promise<number> {
  let looked = 0
  for (const workerId of await listWorkersWanted(door.db))
    looked += await fillWorker(door, workerId, ACTOR)
  return looked
}
