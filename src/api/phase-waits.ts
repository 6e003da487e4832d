// The phases of a batch with the reason why nothing of one is sent. Only phases that should be running are looked at.
import type { z } from 'zod'
import { loadHolds } from '../db/holds.ts'
import { listPhaseWaiters, listWaitGroups, listWorkerFacts } from '../db/views/insight.ts'
import { holdsOnBatch } from '../domain/holds.ts'
import { isPhaseDue, isSilent, waitsOfPhases } from '../domain/stuck.ts'
import type { Engine } from '../engine/engine.ts'
import { type phase, shownPhase } from './batch-shapes.ts'
import type { BatchState } from './batch-state.ts'

/** Held members looked at; more of them tell nothing new. */
const HELD_MEMBERS_MAX = 100

export async function showPhases(
  engine: Engine,
  { line, phases }: BatchState,
): Promise<z.input<typeof phase>[]> {
  const now = engine.clock.now()
  const isIdle = !phases.some((one) => isPhaseDue(one, now))
  if (line.endedAt !== null || isIdle) return phases.map((one) => shownPhase(one, null))
  const { db } = engine
  const holds = holdsOnBatch(await loadHolds(db, line.id))
  const groups = await listWaitGroups(db, line.id, now)
  const wanted = new Set(groups.map(({ workerId }) => workerId))
  const workers = (await listWorkerFacts(db, wanted)).map((load) => ({
    ...load,
    window: engine.pace.windowOf(load),
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
  const waits = waitsOfPhases({ batch: line, holds, phases, workers, waiters, now })
  return phases.map((one) => shownPhase(one, waits.get(one.id) ?? null))
}
