// A batch with its phases and their common ETag. A change locks the batch before it compares `If-Match`, so the compared state is the
// state that it changes.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { lockBatch } from '../../db/state/facts.ts'
import { type BatchLine, findBatchLine, findBatchLines } from '../../db/views/batches.ts'
import { type BatchStates, withStates } from '../../db/views/person-states.ts'
import { phaseOrder } from '../../domain/decide/next.ts'
import type { Phase } from '../../domain/state/facts.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { requireEtag } from '../http/etag.ts'
import { batchEtag } from './batch-shapes.ts'

/** A batch with where its people stand. */
export type CountedLine = BatchLine & BatchStates

export interface BatchState {
  readonly line: CountedLine
  /** In time order, superseded rows included. */
  readonly phases: readonly Phase[]
  readonly etag: string
}

/** Existence check plus counters. Throws BATCH_NOT_FOUND. */
export async function loadBatchLine(db: Queryable, batchId: number): Promise<BatchLine> {
  const line = await findBatchLine(db, batchId)
  if (!line) throw new MatoolkitError('BATCH_NOT_FOUND', { batchId })
  return line
}

export async function loadBatchState(db: Queryable, batchId: number): Promise<BatchState> {
  return (await withPhases(db, [await loadBatchLine(db, batchId)]))[0]!
}

/** Those of these batches that exist, in this order. */
export async function loadBatchStates(
  db: Queryable,
  batchIds: readonly number[],
): Promise<BatchState[]> {
  const lines = await findBatchLines(db, batchIds)
  return withPhases(
    db,
    batchIds.flatMap((id) => lines.get(id) ?? []),
  )
}

export async function withPhases(
  db: Queryable,
  lines: readonly BatchLine[],
): Promise<BatchState[]> {
  return (await withStates(db, lines)).map((line) => ({
    line,
    phases: phaseOrder(line.phases),
    etag: batchEtag(line, line.phases),
  }))
}

/** Locks the batch for the rest of the transaction and compares `If-Match`. */
export async function lockBatchState(
  { db }: Engine,
  batchId: number,
  ifMatch: string | null,
): Promise<BatchState> {
  await db.transaction((tx) => lockBatch(tx, batchId))
  const state = await loadBatchState(db, batchId)
  requireEtag(ifMatch, state.etag, `Batch ${batchId}`)
  return state
}
