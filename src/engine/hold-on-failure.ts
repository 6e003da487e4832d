// Stop rather than guess: a change that fails for a reason that will not pass by itself stops its batch, not the system. The
// batch is held with the reason, nothing more is sent for it until a person has looked, and all other batches go on.

import { holdRow } from '../db/batches.ts'
import { insertEvents } from '../db/changes.ts'
import { isTransient } from '../db/transient.ts'
import type { EventRecord } from '../domain/decide/draft.ts'
import { setHold } from '../domain/decide/finish.ts'
import { isBatchEnded } from '../domain/transitions.ts'
import { messageOf } from '../errors.ts'
import type { Engine } from './engine.ts'
import { changeBatch } from './locking.ts'

const REASON_CHARS_MAX = 300

/** Runs a change of one batch. False when it failed and the batch is held for it; throws when the database is in trouble. */
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

export async function holdAfterFailure(
  engine: Engine,
  batchId: number,
  error: unknown,
  actor: string,
): Promise<void> {
  const reason = `a change could not be made: ${messageOf(error).slice(0, REASON_CHARS_MAX)}`
  try {
    await changeBatch(engine, batchId, actor, async ({ draft }) => {
      const { batch } = draft
      const isOver = isBatchEnded(batch.status) && batch.rollbackOpen + batch.removalOpen === 0
      if (batch.heldAt === null && !isOver) setHold(draft, actor, reason)
    })
  } catch (again) {
    if (isTransient(again)) throw again
    await holdUnread(engine, batchId, actor, reason)
  }
}

/** The facts themselves cannot be loaded or written: only the flag is set. The jobs that are out are not called back then. */
async function holdUnread(
  engine: Engine,
  batchId: number,
  actor: string,
  reason: string,
): Promise<void> {
  const now = engine.clock.now()
  await engine.db.transaction(async (tx) => {
    if (await holdRow(tx, batchId, actor, reason, now))
      await insertEvents(tx, batchId, now, actor, [heldEvent(reason)])
  })
}

const heldEvent = (because: string): EventRecord => ({
  entity: 'batch',
  event: 'held',
  from: null,
  to: null,
  memberId: null,
  phaseId: null,
  stepId: null,
  attempt: null,
  jobId: null,
  because,
  details: null,
})
