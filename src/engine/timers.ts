// What the clock does: batches take up a new version, phases fall due, retries and polls come up, deadlines pass, jobs come back as dead letters, steps are
// written, slots are filled. Times are columns, acted on to the second; every function looks at the state of now, so being
// called twice does no harm. A batch whose change fails is held, and the others go on.
import type { DeadJob } from '../bus/bus.ts'
import { listDuePhases, listUnexpandedPhases } from '../db/batches.ts'
import { loadOwners, type StepOwner } from '../db/facts.ts'
import { listOutdatedBatches } from '../db/version-upgrades.ts'
import { type DueWait, listDueWaits, listWorkersWithQueue } from '../db/waits.ts'
import { onPhaseDue } from '../domain/decide/lifecycle.ts'
import { onDeadLetter } from '../domain/decide/settle.ts'
import { onWake } from '../domain/decide/wake.ts'
import { parseJobId } from '../domain/messages.ts'
import type { BatchTransaction, Engine } from './engine.ts'
import { expandPhase } from './expand.ts'
import { fillWorker } from './fill-worker.ts'
import { orHoldBatch } from './hold-on-failure.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'
import { changeBatch } from './locking.ts'

const BATCHES_PER_LOOK = 100
const PHASES_PER_LOOK = 100
const WAITS_PER_LOOK = 10_000
const DEAD_JOBS_PER_LOOK = 1_000
const STEPS_PER_CHUNK = 500
const ACTOR = 'timer'

/** Everything that is due now. Returns how much there was, so that a caller can go on until there is nothing. */
export async function runTimers(engine: Engine): Promise<number> {
  return (
    (await upgradeVersions(engine)) +
    (await startDuePhases(engine)) +
    (await expandPhases(engine)) +
    (await settleDeadJobs(engine)) +
    (await wakeWaits(engine)) +
    (await fillWorkers(engine))
  )
}

/** Batches under way take up the version that was published, also those to which nobody would come for days. */
export async function upgradeVersions(engine: Engine): Promise<number> {
  let taken = 0
  for (const batchId of await listOutdatedBatches(engine.db, ACTOR, BATCHES_PER_LOOK)) {
    // Coming to it is enough: the door puts it on the version.
    if (
      await orHoldBatch(engine, batchId, ACTOR, () =>
        changeBatch(engine, batchId, ACTOR, async () => {}),
      )
    )
      taken += 1
  }
  return taken
}

export async function startDuePhases(engine: Engine): Promise<number> {
  let started = 0
  for (const { id, batchId } of await listDuePhases(
    engine.db,
    engine.clock.now(),
    PHASES_PER_LOOK,
  )) {
    const isDone = await orHoldBatch(engine, batchId, ACTOR, () =>
      changeBatch(engine, batchId, ACTOR, async ({ draft }) => {
        onPhaseDue(draft, draft.phase(id))
      }),
    )
    if (isDone) started += 1
  }
  return started
}

/** A chunk of each phase in turn, so that a large one does not keep a small one waiting. */
export async function expandPhases(engine: Engine): Promise<number> {
  let expanded = 0
  for (const { id, batchId } of await listUnexpandedPhases(engine.db, PHASES_PER_LOOK)) {
    const isDone = await orHoldBatch(engine, batchId, ACTOR, () =>
      expandPhase(engine, batchId, id, ACTOR),
    )
    if (isDone) expanded += 1
  }
  return expanded
}

export async function wakeWaits(engine: Engine): Promise<number> {
  const due = await listDueWaits(engine.db, engine.clock.now(), WAITS_PER_LOOK)
  return inChunks(engine, due, async ({ draft }, chunk) => {
    for (const { stepId } of chunk) onWake(draft, draft.steps.get(stepId)!)
  })
}

/** Jobs that ended in the dead letters: their steps go on by the retry rule, with the letter's reason. */
export async function settleDeadJobs(engine: Engine): Promise<number> {
  const { deadLetters } = engine.bus
  const letters = await deadLetters.listUnnoticedJobs(DEAD_JOBS_PER_LOOK)
  if (letters.length === 0) return 0
  const stepIds = letters.flatMap(({ jobId }) => parseJobId(jobId)?.stepId ?? [])
  const owners = new Map((await loadOwners(engine.db, stepIds)).map((owner) => [owner.id, owner]))
  const ours = letters.flatMap((letter) => addressed(letter, owners))
  const known = new Set(ours.map(({ id }) => id))
  const foreign = letters.filter(({ id }) => !known.has(id))
  await deadLetters.markNoticed(foreign.map(({ id }) => id))
  const settled = await inChunks(engine, ours, async ({ tx, draft }, chunk) => {
    for (const { stepId, jobId, why } of chunk)
      onDeadLetter(draft, draft.steps.get(stepId)!, jobId, why)
    await deadLetters.markNoticed(
      chunk.map(({ id }) => id),
      tx,
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
  engine: Engine,
  all: readonly T[],
  decide: (batchTx: BatchTransaction, chunk: readonly T[]) => Promise<void>,
): Promise<number> {
  let done = 0
  for (const [batchId, group] of Map.groupBy(all, (one) => one.batchId)) {
    for (let start = 0; start < group.length; start += STEPS_PER_CHUNK) {
      const chunk = group.slice(start, start + STEPS_PER_CHUNK)
      const isDone = await orHoldBatch(engine, batchId, ACTOR, () =>
        changeBatch(engine, batchId, ACTOR, async (batchTx) => {
          const members = chunk.flatMap(({ memberId }) => memberId ?? [])
          await loadMembersWithSteps(batchTx, members, {
            stepIds: chunk.map(({ stepId }) => stepId),
          })
          if (members.length < chunk.length) await loadBatchSteps(batchTx)
          await decide(batchTx, chunk)
        }),
      )
      if (isDone) done += chunk.length
    }
  }
  return done
}

export async function fillWorkers(engine: Engine): Promise<number> {
  let looked = 0
  for (const workerId of await listWorkersWithQueue(engine.db))
    looked += await fillWorker(engine, workerId, ACTOR)
  return looked
}
