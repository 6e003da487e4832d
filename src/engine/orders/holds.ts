// Holds of the system, a runbook, a worker, a batch or a member. A batch's own is a change of the batch (batch-actions.ts). The others
// are set in a short transaction, so that they take effect at once, whatever the batches are doing. Then the jobs that no worker has taken are withdrawn, batch by batch;
// if the process dies in between, timers finish it.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { ORCHESTRATOR_EVENTS } from '../../bus/bus.ts'
import { hint } from '../../bus/hints.ts'
import type { Queryable, Tx } from '../../db/connection/db.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { lockBatches } from '../../db/state/facts.ts'
import {
  countJobsIn,
  deleteHold,
  findHold,
  insertHold,
  listBatchesIn,
  listUnfinishedHolds,
  lockHolds,
  markWithdrawn,
  postponeWaits,
  writeHoldReason,
} from '../../db/state/holds.ts'
import { type EventRecord, eventRecord } from '../../domain/state/event-record.ts'
import {
  type Hold,
  type HoldTarget,
  NO_REASON_YET,
  nameOfHeld,
  tellHold,
} from '../../domain/state/holds.ts'
import { concurrently } from '../transactions/concurrently.ts'
import type { Engine } from '../transactions/engine.ts'
import { orHoldBatch } from '../transactions/hold-on-failure.ts'
import { inBatches, unlessLocked } from '../transactions/locking.ts'
import { withdrawJobs } from '../transactions/withdraw.ts'
import { giveBatchReason, holdBatch, requireAccepted, resumeBatch } from './batch-actions.ts'
import { withdrawHeld } from './member-holds.ts'

export interface HoldOrder extends HoldTarget {
  /** Of a member. */
  readonly batchId?: number
  readonly actor: string
  readonly reason?: string | undefined
}

/** What a hold stopped. */
export interface Stopped {
  readonly hold: Hold
  /** Jobs that no worker had taken. */
  readonly withdrawn: number
  /** Jobs that a worker runs: they finish, and their results are recorded. */
  readonly running: number
}

/** Sets the hold, then withdraws. From its first commit on nothing that it covers is sent. */
export async function holdScope(engine: Engine, order: HoldOrder): Promise<Stopped> {
  if (order.scope === 'batch') {
    const stopped = await holdBatch(engine, ofBatch(order))
    return { hold: (await findHold(engine.db, order))!, ...stopped }
  }
  const untilMs = +engine.clock.now() + WITHDRAWS_MAX_MS
  const hold = await engine.db.transaction((tx) => setHoldIn(engine, tx, order))
  return { hold, ...(await finishHold(engine, hold, order.actor, untilMs)) }
}

const ofBatch = ({ target, actor, reason }: HoldOrder) => ({
  batchId: Number(target),
  actor,
  ...(reason !== undefined && { reason }),
})

async function setHoldIn(
  engine: Engine,
  tx: Tx,
  { scope, target, batchId, actor, reason = NO_REASON_YET }: HoldOrder,
): Promise<Hold> {
  await lockHolds(tx)
  // After the wait for the lock: nothing is sent later than this.
  const now = engine.clock.now()
  const memberId = scope === 'member' ? Number(target) : null
  const isNew = await insertHold(
    tx,
    { scope, target, batchId: batchId ?? null, memberId, heldBy: actor, reason },
    now,
  )
  const hold = (await findHold(tx, { scope, target }))!
  if (!isNew)
    requireAccepted(`${nameOfHeld(hold)} is already held by ${hold.heldBy}: ${hold.reason}`)
  await noteHold(tx, now, actor, hold, 'held', reason)
  return hold
}

function noteHold(
  tx: Tx,
  now: Date,
  actor: string,
  { scope, target, batchId, memberId }: Hold,
  event: 'held' | 'resumed' | 'hold_reason',
  because: string,
): Promise<void> {
  const subject = {
    ...(memberId !== null && { memberId }),
    ...(scope === 'runbook' && { details: { name: target } }),
    ...(scope === 'worker' && { details: { workerId: target } }),
  }
  const entity = scope as EventRecord['entity']
  return insertEvents(tx, batchId, now, actor, [eventRecord(entity, event, because, subject)])
}

// Then the rest is left to the timers: a hold is answered within two seconds, although a batch or the bus stays locked, or the machine is
// at its limit with hundreds of batches.
const LOCKED_MAX = 3
const WITHDRAWS_MAX_MS = 1_500

/** Withdraws what the hold covers. A batch that cannot be changed is held with the reason, and the others are done. */
async function finishHold(
  engine: Engine,
  hold: Hold,
  actor: string,
  untilMs = Number.POSITIVE_INFINITY,
): Promise<Omit<Stopped, 'hold'>> {
  let withdrawn = 0
  const filter = {
    ...(hold.scope === 'worker' && { workerId: hold.target }),
    ...(hold.memberId !== null && { memberIds: [hold.memberId] }),
  }
  const order = (batchId: number) =>
    ({ batchIds: [batchId], actor, lock: 'exclusive', isPostponable: true }) as const
  let left = 0
  // One after another 100 batches took 7 s on a machine at its limit, and the hold was answered after all of them.
  await concurrently(engine, await listBatchesIn(engine.db, hold, 'jobs'), async (batchId) => {
    const isOver = left >= LOCKED_MAX || +engine.clock.now() >= untilMs
    const withdraw = () =>
      orHoldBatch(engine, batchId, actor, async () => {
        withdrawn += await inBatches(engine, order(batchId), async ([batchTx]) => {
          // Ended meanwhile: what was sent since then stays sent.
          if (!(await findHold(batchTx!.tx, hold))) return 0
          return withdrawJobs(batchTx!, tellHold(hold), filter)
        })
      })
    if (isOver || !(await unlessLocked(withdraw))) left += 1
  })
  if (left === 0) await markWithdrawn(engine.db, hold, engine.clock.now())
  return { withdrawn, running: await countJobsIn(engine.db, hold) }
}

/** Holds whose process died before it had withdrawn the jobs. Returns how many. */
export async function finishHolds(engine: Engine): Promise<number> {
  const unfinished = await listUnfinishedHolds(engine.db)
  const [ofMembers, others] = [true, false].map((isMember) =>
    unfinished.filter(({ scope }) => (scope === 'member') === isMember),
  ) as [Hold[], Hold[]]
  for (const hold of others) await finishHold(engine, hold, hold.heldBy)
  for (const [batchId, holds] of Map.groupBy(ofMembers, (hold) => hold.batchId!)) {
    const memberIds = holds.map(({ memberId }) => memberId!)
    await withdrawHeld(engine, { batchId, memberIds, actor: holds[0]!.heldBy })
  }
  return unfinished.length
}

/**
 * Ends the hold: what no other hold covers goes out, with the time that it had left. The batches are locked before the holds, as
 * senders do, so that the times and the end of the hold are one change.
 */
export async function resumeScope(engine: Engine, order: HoldOrder): Promise<Hold> {
  if (order.scope === 'batch') {
    const hold = await findHold(engine.db, order)
    await resumeBatch(engine, { reason: NO_REASON_YET, ...ofBatch(order) })
    return hold!
  }
  return engine.db.transaction(async (tx) => {
    const batchIds = await listBatchesIn(tx, order, 'waits')
    await lockBatches(tx, batchIds)
    await lockHolds(tx)
    const now = engine.clock.now()
    const hold = await requireHold(tx, order)
    await postponeWaits(tx, hold, batchIds, hold.heldAt, now)
    await deleteHold(tx, hold)
    await noteHold(tx, now, order.actor, hold, 'resumed', order.reason ?? 'no reason given')
    await hint(tx, ORCHESTRATOR_EVENTS)
    return hold
  })
}

/** Records why it is held, once somebody has the time to say it. Returns the hold as it was before. */
export async function giveReason(
  engine: Engine,
  order: HoldOrder & { readonly reason: string },
): Promise<Hold> {
  if (order.scope === 'batch') {
    const hold = await requireHold(engine.db, order)
    await giveBatchReason(engine, { ...ofBatch(order), reason: order.reason })
    return hold
  }
  return engine.db.transaction(async (tx) => {
    const hold = await requireHold(tx, order)
    await writeHoldReason(tx, hold, order.reason)
    await noteHold(tx, engine.clock.now(), order.actor, hold, 'hold_reason', order.reason)
    return hold
  })
}

async function requireHold(db: Queryable, { scope, target }: HoldTarget): Promise<Hold> {
  const hold = await findHold(db, { scope, target })
  if (hold) return hold
  const name = scope === 'system' ? 'the whole system' : `${scope} ${target}`
  throw new MatoolkitError('REFUSED', { reason: `${name} is not held.` })
}
