// Stop rather than guess: a change that fails for a lasting reason puts its batch on hold with that reason until a person has looked.
// All other batches continue.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { isTransient } from '../../base/errors/transient.ts'
import { safeReasonOf } from '../../base/log/redact.ts'
import { findNewerSchema, isClosed } from '../../db/schema/migrate.ts'
import { holdRow } from '../../db/state/batches.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { setHold } from '../../domain/decide/finish.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import { isBatchEnded } from '../../domain/state/transitions.ts'
import type { Engine } from './engine.ts'
import { changeBatch } from './locking.ts'

const REASON_CHARS_MAX = 300

/** Runs a change of one batch. False when it failed and the batch is held; throws when the database is unavailable. */
export async function orHoldBatch(
  engine: Engine,
  batchId: number,
  actor: string,
  change: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await change()
    return true
  } catch (error) {
    if (isTransient(error)) throw error
    await holdAfterFailure(engine, batchId, error, actor)
    return false
  }
}

/** Throws SCHEMA_NEWER: then the failure says nothing about the batch, and a newer process will handle it. */
export async function holdAfterFailure(
  engine: Engine,
  batchId: number,
  error: unknown,
  actor: string,
): Promise<void> {
  const newer = await findNewerSchema(engine.db)
  if (newer && isClosed(newer))
    throw new MatoolkitError('SCHEMA_NEWER', { ...newer }, { cause: error })
  const reason = `a change failed: ${safeReasonOf(error).slice(0, REASON_CHARS_MAX)}`
  try {
    await changeBatch(engine, batchId, actor, async ({ draft }) => {
      const { batch } = draft
      const isOver =
        isBatchEnded(batch.status) && batch.rollbackOpen + batch.removalOpen + batch.undoOpen === 0
      if (batch.heldAt === null && !isOver) setHold(draft, actor, reason)
    })
  } catch (again) {
    if (isTransient(again)) throw again
    await holdRowOnly(engine, batchId, actor, reason)
  }
}

/** The batch cannot be loaded or written: sets only the hold. Its jobs are not withdrawn. */
async function holdRowOnly(
  engine: Engine,
  batchId: number,
  actor: string,
  reason: string,
): Promise<void> {
  const now = engine.clock.now()
  await engine.db.transaction(async (tx) => {
    if (await holdRow(tx, batchId, actor, reason, now))
      await insertEvents(tx, batchId, now, actor, [eventRecord('batch', 'held', reason)])
  })
}
