// Batches that do not get on, and why: for status, API and notifications alike.
import type { Queryable } from '../../db/connection/db.ts'
import { loadPhasesOf } from '../../db/state/facts.ts'
import { loadHolds } from '../../db/state/holds.ts'
import { listWaitGroups } from '../../db/views/batch-summary.ts'
import { findBatchLine } from '../../db/views/batches.ts'
import { listLateBatches } from '../../db/views/status.ts'
import { listWorkerFacts, type WorkerLine } from '../../db/views/workers.ts'
import { phaseOrder } from '../../domain/decide/next.ts'
import type { StuckBatch } from '../../domain/needs/from-work.ts'
import { findStuck, isSilent, LATE_AFTER_MS, type WaitGroup } from '../../domain/needs/stuck.ts'
import { holdsOnBatch } from '../../domain/state/holds.ts'
import type { Engine } from '../transactions/engine.ts'

/** Batches that may be stuck, found in one statement over all; oldest first. */
export function findLateBatches(
  db: Queryable,
  workers: readonly WorkerLine[],
  now: Date,
  limit: number,
): Promise<number[]> {
  const silent = workers.filter((worker) => !worker.isKnown || isSilent(worker, now))
  const workerIds = silent.map(({ workerId }) => workerId)
  return listLateBatches(db, new Date(+now - LATE_AFTER_MS), workerIds, limit)
}

/** A batch with what its open steps wait for. */
export interface LoadedStuck extends StuckBatch {
  readonly waits: readonly WaitGroup[]
}

/** Null when the batch is gone. Among the needs, reviews have kinds of their own; the list of one batch takes them in. */
export async function loadStuck(
  db: Queryable,
  pace: Engine['pace'],
  batchId: number,
  now: Date,
  openReviews = 0,
): Promise<LoadedStuck | null> {
  const line = await findBatchLine(db, batchId)
  if (!line) return null
  const phases = phaseOrder((await loadPhasesOf(db, [batchId])).get(batchId)!)
  const waits = await listWaitGroups(db, batchId, now)
  const loads = await listWorkerFacts(db, new Set(waits.map(({ workerId }) => workerId)))
  const workers = loads.map((load) => ({ ...load, jobLimit: pace.jobLimitOf(load) }))
  const holds = holdsOnBatch(await loadHolds(db, batchId))
  const stuck = findStuck({ batch: line, holds, phases, waits, workers, openReviews, now })
  return { batchId, runbookName: line.runbookName, stuck, waits }
}
