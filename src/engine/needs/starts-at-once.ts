// Runs a change and says what it starts immediately, from the state before and after it. A dry run rolls the change back and gives the
// same answer.
import { listPhasesOf } from '../../db/state/version-upgrades.ts'
import {
  listBatchesOfResume,
  listHeldSteps,
  listStartingBatches,
  listStepsOfResume,
  type StartingBatch,
} from '../../db/views/starts-at-once.ts'
import {
  type PhaseStart,
  phaseStarts,
  type StartsAtOnce,
  stepNamesIn,
} from '../../domain/plan/starts-at-once.ts'
import type { HoldTarget } from '../../domain/state/holds.ts'
import type { Engine } from '../transactions/engine.ts'

/** Runs the change and returns what it starts. `concerned` names the batches, before the change and after it. */
export async function withStarts<T>(
  engine: Engine,
  concerned: () => Promise<readonly number[]>,
  change: () => Promise<T>,
): Promise<{ readonly result: T; readonly startsAtOnce: StartsAtOnce }> {
  const held = await listHeldSteps(engine.db, await concerned())
  const result = await change()
  const batches = await listStartingBatches(engine.db, await concerned())
  const resumed = new Set(batches.filter(({ heldAt }) => heldAt === null).map(({ id }) => id))
  const startsAtOnce = {
    phases: await phasesStarting(engine, batches),
    steps: held.filter(({ batchId }) => resumed.has(batchId)),
  }
  return { result, startsAtOnce }
}

/** What starts now that a hold of the system, a runbook, a worker or a member has ended: the first phases and steps. */
export async function startsOfResume(engine: Engine, held: HoldTarget): Promise<StartsAtOnce> {
  const { db } = engine
  const now = engine.clock.now()
  const batches = await listStartingBatches(db, await listBatchesOfResume(db, held, now))
  return {
    phases: await phasesStarting(engine, batches),
    steps: await listStepsOfResume(db, held, now),
  }
}

async function phasesStarting(
  engine: Engine,
  batches: readonly StartingBatch[],
): Promise<PhaseStart[]> {
  const ids = batches.map(({ id }) => id)
  const phases = Map.groupBy(await listPhasesOf(engine.db, ids), ({ batchId }) => batchId)
  const starts: PhaseStart[] = []
  for (const batch of batches) {
    const { runbookName, runbookVersion, id } = batch
    const runbook = await engine.runbooks.get(engine.db, runbookName, runbookVersion)
    const stepNamesOf = stepNamesIn(runbook)
    starts.push(...phaseStarts(batch, phases.get(id) ?? [], stepNamesOf, engine.clock.now()))
  }
  return starts
}
