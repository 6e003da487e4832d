// A batch as it is shown and as it is changed: its line, its phases and the tag over both. A change locks the batch first, so
// that what is compared with `If-Match` is what the change then meets.
import type { Queryable } from '../db/db.ts'
import { loadPhases, lockBatch } from '../db/facts.ts'
import { type BatchLine, findBatchLine } from '../db/views/batches.ts'
import { phaseOrder } from '../domain/decide/next.ts'
import type { Phase } from '../domain/facts.ts'
import type { Engine } from '../engine/engine.ts'
import { MatoolkitError } from '../errors.ts'
import { tagOfBatch } from './batch-shapes.ts'
import { requireTag } from './state-tag.ts'

export interface BatchState {
  readonly line: BatchLine
  /** By time, rows that no longer count included. */
  readonly phases: readonly Phase[]
  readonly tag: string
}

/** For those who need no more of it than that it is there, and its counters. */
export async function loadBatchLine(db: Queryable, batchId: number): Promise<BatchLine> {
  const line = await findBatchLine(db, batchId)
  if (!line) throw new MatoolkitError('BATCH_NOT_FOUND', { batchId })
  return line
}

export async function loadBatchState(db: Queryable, batchId: number): Promise<BatchState> {
  const line = await loadBatchLine(db, batchId)
  const phases = await loadPhases(db, batchId)
  return { line, phases: phaseOrder(phases), tag: tagOfBatch(line, phases) }
}

/** Locks the batch for the transaction of the change and checks what the caller saw. */
export async function lockBatchState(
  { db }: Engine,
  batchId: number,
  ifMatch: string | null,
): Promise<BatchState> {
  await db.transaction((tx) => lockBatch(tx, batchId))
  const state = await loadBatchState(db, batchId)
  requireTag(ifMatch, state.tag, `Batch ${batchId}`)
  return state
}
