// The phases of a batch with what their version says about them, and the reason why nothing of one is sent. Only phases that should be
// running are looked at.

import type { z } from 'zod'
import { loadHolds } from '../../db/state/holds.ts'
import { listPhaseWaiters, listWaitGroups } from '../../db/views/batch-summary.ts'
import { listWorkerFacts } from '../../db/views/workers.ts'
import { isPhaseDue, isSilent, waitsOfPhases } from '../../domain/needs/stuck.ts'
import { noReturnSteps } from '../../domain/runbook/function-facts.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { phaseNamed } from '../../domain/runbook/steps.ts'
import type { Phase } from '../../domain/state/facts.ts'
import { holdsOnBatch } from '../../domain/state/holds.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { type PhaseDefinition, type phase, shownPhase } from './batch-shapes.ts'
import type { BatchState } from './batch-state.ts'

/** Held members looked at; more of them tell nothing new. */
const HELD_MEMBERS_MAX = 100

export async function showPhases(
  engine: Engine,
  state: BatchState,
): Promise<z.input<typeof phase>[]> {
  const waits = await waitsOf(engine, state)
  const definitionOf = await definitionsOf(engine, state)
  return state.phases.map((one) => shownPhase(one, definitionOf(one), waits.get(one.id) ?? null))
}

/** A phase is as the version says that it came from. */
async function definitionsOf(
  { db, runbooks, functions, clock }: Engine,
  { line, phases }: BatchState,
) {
  const factsOf = await functions.factsOf(db, clock.now())
  const versions = [...new Set(phases.map(({ runbookVersion }) => runbookVersion))]
  const byVersion = new Map<number, Runbook>()
  for (const version of versions)
    byVersion.set(version, await runbooks.get(db, line.runbookName, version))
  return ({ runbookVersion, name }: Phase): PhaseDefinition => {
    const runbook = byVersion.get(runbookVersion)!
    const found = phaseNamed(runbook, name)
    return {
      ramp: found?.ramp ?? null,
      maxFailedPercent: runbook.safeguards.maxFailedPercent,
      noReturnSteps: noReturnSteps(found?.steps ?? [], factsOf),
    }
  }
}

/** By the ids of the phases that wait. */
async function waitsOf(
  engine: Engine,
  { line, phases }: BatchState,
): Promise<ReadonlyMap<number, string>> {
  const now = engine.clock.now()
  const isIdle = !phases.some((one) => isPhaseDue(one, now))
  if (line.endedAt !== null || isIdle) return new Map()
  const { db } = engine
  const holds = holdsOnBatch(await loadHolds(db, line.id))
  const groups = await listWaitGroups(db, line.id, now)
  const wanted = new Set(groups.map(({ workerId }) => workerId))
  const workers = (await listWorkerFacts(db, wanted)).map((load) => ({
    ...load,
    jobLimit: engine.pace.jobLimitOf(load),
  }))
  const blocked = workers.filter(
    (worker) => !worker.isKnown || isSilent(worker, now) || holds.workers.has(worker.workerId),
  )
  const workerIds = blocked.map(({ workerId }) => workerId)
  const memberIds = [...holds.members.keys()].slice(0, HELD_MEMBERS_MAX)
  const waiters =
    workerIds.length + memberIds.length === 0
      ? []
      : await listPhaseWaiters(db, line.id, workerIds, memberIds)
  return waitsOfPhases({ batch: line, holds, phases, workers, waiters, now })
}
