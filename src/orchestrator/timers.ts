// Timers: give back jobs after a restore, finish holds, upgrade batches, start and expand due phases, settle dead and lost jobs, wake retries and polls, fill workers.
// Times are columns, acted on to the second; every function works from the current state, so a second call does no harm. A batch
// whose change fails is held, and the others continue.

import { SIGNATURE_FAULTS } from '../base/keys/job-keys.ts'
import { chunksOf } from '../base/run/chunks.ts'
import type { DeadJob } from '../bus/bus.ts'
import { listBatchesWithStaleDecisions } from '../db/orders/gates.ts'
import { findUnsettledEpoch, listEarlierJobs, markEpochsSettled } from '../db/state/epochs.ts'
import { loadOwners, type StepOwner } from '../db/state/facts.ts'
import { listDuePhases, listUnexpandedPhases } from '../db/state/phases.ts'
import { listOutdatedBatches } from '../db/state/version-upgrades.ts'
import {
  type DueWait,
  extendJobWaits,
  listDueJobs,
  listDueWaits,
  listWorkersWithQueue,
} from '../db/state/waits.ts'
import type { Blocks } from '../domain/decide/job-limit.ts'
import { onPhaseDue, onSoakEnded } from '../domain/decide/lifecycle.ts'
import { type HasRun, onDeadLetter, onLost, onRestored } from '../domain/decide/settle.ts'
import { onWake } from '../domain/decide/wake.ts'
import { parseJobId } from '../domain/messages/messages.ts'
import { reviewWindows } from '../engine/orders/change-windows.ts'
import { finishHolds } from '../engine/orders/holds.ts'
import { concurrently } from '../engine/transactions/concurrently.ts'
import type { BatchTransaction, Engine } from '../engine/transactions/engine.ts'
import {
  EXPANDED_TOGETHER,
  expandLarge,
  expandSmall,
  isSmall,
} from '../engine/transactions/expand.ts'
import { orHoldBatch } from '../engine/transactions/hold-on-failure.ts'
import { loadBatchSteps, loadMembersTogether } from '../engine/transactions/loading.ts'
import { changeBatch, inBatches } from '../engine/transactions/locking.ts'
import { endStaleDecisions, loadStartFacts } from '../engine/transactions/phase-starts.ts'
import {
  BATCHES_TOGETHER,
  portionsOf,
  togetherElseAlone,
} from '../engine/transactions/several-batches.ts'
import { sendCorrections } from './corrections.ts'
import { fillWorker } from './fill-worker.ts'
import { judgeJobs, withdrawLapsed } from './lost-jobs.ts'

const BATCHES_PER_LOOK = 100
const PHASES_PER_LOOK = 1_000
const WAITS_PER_LOOK = 10_000
const DEAD_JOBS_PER_LOOK = 1_000
const STEPS_PER_CHUNK = 500
const ACTOR = 'timer'

/** Does everything that is due now. Returns how much there was; call again until 0. */
export async function runTimers(engine: Engine): Promise<number> {
  return (
    (await settleHolds(engine)) +
    (await startDuePhases(engine)) +
    (await continueWork(engine)) +
    (await fillWorkers(engine))
  )
}

/** Ends what a restore, holds and publishing have left to do. */
export async function settleHolds(engine: Engine): Promise<number> {
  return (
    (await settleEarlierJobs(engine)) +
    (await finishHolds(engine)) +
    (await upgradeVersions(engine)) +
    (await reviewWindows(engine, ACTOR)) +
    (await endStaleGateDecisions(engine))
  )
}

/** Writes steps, and acts on times and lost jobs. May take many seconds. */
export async function continueWork(engine: Engine): Promise<number> {
  return (
    (await expandPhases(engine)) +
    (await sendCorrections(engine)) +
    (await settleDeadJobs(engine)) +
    (await settleLostJobs(engine)) +
    (await wakeWaits(engine))
  )
}

/** Upgrades unfinished batches to the active version, also those that nothing else would lock for days. */
export async function upgradeVersions(engine: Engine): Promise<number> {
  let upgraded = 0
  for (const batchId of await listOutdatedBatches(engine.db, ACTOR, BATCHES_PER_LOOK)) {
    // Locking the batch upgrades it.
    if (
      await orHoldBatch(engine, batchId, ACTOR, () =>
        changeBatch(engine, batchId, ACTOR, async () => {}),
      )
    )
      upgraded += 1
  }
  return upgraded
}

/** Decisions about gates whose version, members or time have changed become void, and an event says so. */
async function endStaleGateDecisions(engine: Engine): Promise<number> {
  const now = engine.clock.now()
  const batchIds = await listBatchesWithStaleDecisions(engine.db, now, BATCHES_PER_LOOK)
  let ended = 0
  for (const batchId of batchIds) {
    const end = () =>
      changeBatch(engine, batchId, ACTOR, async (batchTx) => {
        await endStaleDecisions(batchTx)
      })
    if (await orHoldBatch(engine, batchId, ACTOR, end)) ended += 1
  }
  return ended
}

export async function startDuePhases(engine: Engine): Promise<number> {
  let started = 0
  const due = await listDuePhases(engine.db, engine.clock.now(), PHASES_PER_LOOK)
  const groups = [...Map.groupBy(due, ({ batchId }) => batchId)]
  const start = async (some: readonly (typeof groups)[number][]) => {
    const batchIds = some.map(([batchId]) => batchId)
    await inBatches(engine, { batchIds, actor: ACTOR, lock: 'exclusive' }, async (batchTxs) => {
      for (const [at, batchTx] of batchTxs.entries()) {
        const { draft } = batchTx
        const phases = some[at]![1].map(({ id }) => draft.phase(id))
        await loadStartFacts(batchTx, phases)
        for (const phase of phases) {
          if (phase.status === 'dispatched') onSoakEnded(draft, phase)
          else onPhaseDue(draft, phase)
        }
      }
    })
    for (const [, phases] of some) started += phases.length
  }
  await concurrently(engine, chunksOf(groups, BATCHES_TOGETHER), (some) =>
    togetherOrHold(engine, some, ([batchId]) => batchId, start),
  )
  return started
}

/** A chunk of each phase in turn, so that a large one does not keep a small one waiting. */
export async function expandPhases(engine: Engine): Promise<number> {
  let expanded = 0
  const phases = await listUnexpandedPhases(engine.db, PHASES_PER_LOOK)
  const small = phases.filter(({ membersActive }) => isSmall(membersActive))
  // The next phases of the same batches come at the next look.
  const firsts = [...Map.groupBy(small, ({ batchId }) => batchId).values()].map(([first]) => first!)
  const large = phases.filter(({ membersActive }) => !isSmall(membersActive))
  const portions = [
    ...portionsOf(firsts, ({ membersActive }) => membersActive, EXPANDED_TOGETHER),
    ...large.map((phase) => [phase]),
  ]
  await concurrently(engine, portions, (some) =>
    togetherOrHold(
      engine,
      some,
      ({ batchId }) => batchId,
      async (chosen) => {
        if (isSmall(chosen[0]!.membersActive)) await expandSmall(engine, chosen, ACTOR)
        else await expandLarge(engine, chosen[0]!, ACTOR)
        expanded += chosen.length
      },
    ),
  )
  return expanded
}

export async function wakeWaits(engine: Engine): Promise<number> {
  const due = await listDueWaits(engine.db, engine.clock.now(), WAITS_PER_LOOK)
  return inChunks(engine, due, async ({ draft }, chunk) => {
    for (const { stepId } of chunk) onWake(draft, draft.steps.get(stepId)!)
  })
}

/** Jobs without a result. The bus tells which are still queued or running; the others are lost, and their steps retry or fail. */
export async function settleLostJobs(engine: Engine): Promise<number> {
  const due = await listDueJobs(engine.db, engine.clock.now(), WAITS_PER_LOOK)
  if (due.length === 0) return 0
  const { awaited, lost } = await judgeJobs(engine, due)
  const extended = awaited.length > 0 ? await extendJobWaits(engine.db, awaited) : 0
  const settled = await inChunks(engine, lost, async (batchTx, chunk) => {
    const taken = await withdrawLapsed(batchTx, chunk)
    for (const { stepId, jobId } of taken)
      onLost(batchTx.draft, batchTx.draft.steps.get(stepId)!, jobId)
  })
  return extended + settled
}

/** After a restore: jobs of earlier epochs go back to their steps, which are sent again once the hold ends. */
async function settleEarlierJobs(engine: Engine): Promise<number> {
  const epoch = await findUnsettledEpoch(engine.db)
  if (epoch === null) return 0
  const jobs = await listEarlierJobs(engine.db, epoch, WAITS_PER_LOOK)
  if (jobs.length === 0) await markEpochsSettled(engine.db, engine.clock.now())
  return inChunks(engine, jobs, async ({ draft }, chunk) => {
    for (const { stepId, jobId } of chunk) onRestored(draft, draft.steps.get(stepId)!, jobId)
  })
}

/** Jobs in the dead letters: their steps retry, fail or wait again, with the letter's reason, and the letter is closed. */
export async function settleDeadJobs(engine: Engine): Promise<number> {
  const { deadLetters } = engine.bus
  const letters = await deadLetters.listUnnoticedJobs(DEAD_JOBS_PER_LOOK)
  if (letters.length === 0) return 0
  const stepIds = letters.flatMap(({ jobId }) => parseJobId(jobId)?.stepId ?? [])
  const owners = new Map((await loadOwners(engine.db, stepIds)).map((owner) => [owner.id, owner]))
  const ours = letters.flatMap((letter) => withOwner(letter, owners))
  const known = new Set(ours.map(({ id }) => id))
  const foreign = letters.filter(({ id }) => !known.has(id))
  await deadLetters.markNoticed(
    foreign.map(({ id }) => id),
    null,
  )
  const settled = await inChunks(engine, ours, async ({ tx, draft }, chunk) => {
    const [settledIds, leftIds]: [string[], string[]] = [[], []]
    for (const { id, stepId, jobId, workerId, why, deliveryCount, reason } of chunk) {
      const step = draft.steps.get(stepId)!
      // A worker may give up its own jobs only.
      const isOwn = workerId === step.definition.workerId
      if (isOwn) onDeadLetter(draft, step, jobId, why, whetherItRan(reason, deliveryCount))
      // Somebody must find out who wrote a job that a worker refused.
      const isDecided = isOwn && !REFUSED.includes(reason)
      ;(isDecided ? settledIds : leftIds).push(id)
    }
    await deadLetters.markNoticed(settledIds, 'orchestrator', tx)
    await deadLetters.markNoticed(leftIds, null, tx)
  })
  return foreign.length + settled
}

const REFUSED: readonly string[] = SIGNATURE_FAULTS

function whetherItRan(reason: string, deliveryCount: number): HasRun {
  if (deliveryCount === 0) return 'never'
  return deliveryCount === 1 && REFUSED.includes(reason) ? 'refused' : 'possibly'
}

function withOwner(
  letter: DeadJob,
  owners: ReadonlyMap<number, StepOwner>,
): (DeadJob & DueWait & { why: string })[] {
  const owner = owners.get(parseJobId(letter.jobId)?.stepId ?? 0)
  if (!owner) return []
  const { batchId, memberId } = owner
  const why = `${letter.reason}: ${letter.description}`
  return [{ ...letter, stepId: owner.id, batchId, memberId, why }]
}

/** Decides steps in chunks, a transaction each and small batches together, with their members loaded. Returns how many succeeded. */
async function inChunks<T extends DueWait>(
  engine: Engine,
  items: readonly T[],
  decide: (batchTx: BatchTransaction, chunk: readonly T[]) => Promise<void>,
): Promise<number> {
  let done = 0
  // Only the last chunk of a batch is small, so none shares its transaction with another of the same batch.
  const chunks = [...Map.groupBy(items, ({ batchId }) => batchId).values()].flatMap((group) => [
    ...chunksOf(group, STEPS_PER_CHUNK),
  ])
  const change = async (some: readonly (readonly T[])[]) => {
    const batchIds = some.map((chunk) => chunk[0]!.batchId)
    await inBatches(engine, { batchIds, actor: ACTOR, lock: 'exclusive' }, async (batchTxs) => {
      const parts = batchTxs.map((batchTx, at) => ({ batchTx, chunk: some[at]! }))
      await loadMembersTogether(
        parts.map(({ batchTx, chunk }) => ({
          batchTx,
          memberIds: chunk.flatMap(({ memberId }) => memberId ?? []),
        })),
        { stepIds: some.flat().map(({ stepId }) => stepId) },
      )
      for (const { batchTx, chunk } of parts) {
        if (chunk.some(({ memberId }) => memberId === null)) await loadBatchSteps(batchTx)
        await decide(batchTx, chunk)
      }
    })
    for (const chunk of some) done += chunk.length
  }
  const portions = portionsOf(chunks, (chunk) => chunk.length, STEPS_PER_CHUNK)
  await concurrently(engine, portions, (some) =>
    togetherOrHold(engine, some, (chunk) => chunk[0]!.batchId, change),
  )
  return done
}

/** Changes batches in one transaction, or each alone when that fails. One that fails alone is held. */
function togetherOrHold<Item>(
  engine: Engine,
  items: readonly Item[],
  batchIdOf: (item: Item) => number,
  change: (items: readonly Item[]) => Promise<void>,
): Promise<void> {
  return togetherElseAlone(engine, items, change, (item) =>
    orHoldBatch(engine, batchIdOf(item), ACTOR, () => change([item])),
  )
}

export async function fillWorkers(engine: Engine, blocks: Blocks = 'any'): Promise<number> {
  await engine.pace.write(engine.db, engine.clock.now())
  let looked = 0
  for (const workerId of await listWorkersWithQueue(engine.db))
    looked += await fillWorker(engine, workerId, ACTOR, blocks)
  return looked
}
