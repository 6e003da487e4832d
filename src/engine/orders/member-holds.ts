// Holds of many members of a batch. Setting them is one short transaction, so that they take effect at once; then the jobs that no worker
// has taken are withdrawn. If the process dies in between, timers finish it.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { ORCHESTRATOR_EVENTS } from '../../bus/bus.ts'
import { hint } from '../../bus/hints.ts'
import type { Tx } from '../../db/connection/db.ts'
import {
  countHeldMembers,
  countJobsOf,
  deleteMemberHolds,
  insertMemberHolds,
  loadMemberHolds,
  markMembersWithdrawn,
} from '../../db/orders/member-holds.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { lockBatches } from '../../db/state/facts.ts'
import { lockHolds, postponeMembers } from '../../db/state/holds.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import { nameOfHeld } from '../../domain/state/holds.ts'
import type { Engine } from '../transactions/engine.ts'
import { orHoldBatch } from '../transactions/hold-on-failure.ts'
import { inBatches, unlessLocked } from '../transactions/locking.ts'
import { withdrawJobs } from '../transactions/withdraw.ts'
import type { MembersOrder, MembersOutcome } from './member-actions.ts'

/** Every transaction on the batch reads its held members. More of them than these are a hold of the batch. */
export const HELD_MEMBERS_MAX = 10_000

/** Sets the holds. From this commit on nothing is sent for these members; `withdrawHeld` follows. */
export async function holdMembers(engine: Engine, order: MembersOrder): Promise<MembersOutcome> {
  const { batchId, memberIds, actor, reason } = order
  return engine.db.transaction(async (tx) => {
    await lockHolds(tx)
    // After the wait for the lock: nothing is sent later than this.
    const now = engine.clock.now()
    const before = await loadMemberHolds(tx, memberIds)
    const wasHeld = new Set(before.map((hold) => hold.memberId))
    const done = memberIds.filter((id) => !wasHeld.has(id))
    await requireRoom(tx, batchId, done.length)
    await insertMemberHolds(tx, { batchId, memberIds: done, heldBy: actor, reason }, now)
    await noteHolds(tx, order, now, 'held', done)
    const refused = before.map((hold) => ({
      memberId: hold.memberId!,
      reason: `${nameOfHeld(hold)} is already held by ${hold.heldBy}: ${hold.reason}`,
    }))
    return { done, refused }
  })
}

async function requireRoom(tx: Tx, batchId: number, more: number): Promise<void> {
  const held = (await countHeldMembers(tx, batchId)) + more
  if (held <= HELD_MEMBERS_MAX) return
  const reason = `Batch ${batchId} would have ${held} held members; at most ${HELD_MEMBERS_MAX} are held one by one. Hold the batch instead.`
  throw new MatoolkitError('REFUSED', { reason })
}

/** What the holds of these members stopped. */
export interface StoppedMembers {
  readonly withdrawn: number
  readonly running: number
}

/** Withdraws the jobs of held members that no worker has taken. A batch that cannot be changed is held with the reason. */
export async function withdrawHeld(
  engine: Engine,
  { batchId, memberIds, actor }: Omit<MembersOrder, 'reason'>,
): Promise<StoppedMembers> {
  let withdrawn = 0
  let isDone = true
  if (memberIds.length > 0 && (await countJobsOf(engine.db, batchId, memberIds)) > 0)
    isDone = await unlessLocked(() =>
      orHoldBatch(engine, batchId, actor, async () => {
        const order = {
          batchIds: [batchId],
          actor,
          lock: 'exclusive',
          isPostponable: true,
        } as const
        withdrawn = await inBatches(engine, order, async ([batchTx]) => {
          // Those who were resumed meanwhile keep what was sent since.
          const held = await loadMemberHolds(batchTx!.tx, memberIds)
          if (held.length === 0) return 0
          return withdrawJobs(batchTx!, `held by ${held[0]!.heldBy}: ${held[0]!.reason}`, {
            memberIds: held.map((hold) => hold.memberId!),
          })
        })
      }),
    )
  if (isDone) await markMembersWithdrawn(engine.db, memberIds, engine.clock.now())
  return { withdrawn, running: await countJobsOf(engine.db, batchId, memberIds) }
}

/** Ends the holds: what no other hold covers goes out, with the time that it had left. */
export async function resumeMembers(engine: Engine, order: MembersOrder): Promise<MembersOutcome> {
  const { batchId, memberIds } = order
  return engine.db.transaction(async (tx) => {
    await lockBatches(tx, [batchId])
    await lockHolds(tx)
    const now = engine.clock.now()
    const done = (await loadMemberHolds(tx, memberIds)).map((hold) => hold.memberId!)
    await postponeMembers(tx, batchId, done, now)
    await deleteMemberHolds(tx, done)
    await noteHolds(tx, order, now, 'resumed', done)
    await hint(tx, ORCHESTRATOR_EVENTS)
    const wasHeld = new Set(done)
    const refused = memberIds
      .filter((id) => !wasHeld.has(id))
      .map((memberId) => ({ memberId, reason: `member ${memberId} is not held` }))
    return { done, refused }
  })
}

function noteHolds(
  tx: Tx,
  { batchId, actor, reason }: MembersOrder,
  now: Date,
  event: 'held' | 'resumed',
  memberIds: readonly number[],
): Promise<void> {
  const events = memberIds.map((memberId) => eventRecord('member', event, reason, { memberId }))
  return insertEvents(tx, batchId, now, actor, events)
}
