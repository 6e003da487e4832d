// What a person decides about what ticks have left open. A decision names the held changes it was made about; if one of them is no
// longer held as it was seen, nothing is done and the person looks again. Many are done in chunks, a transaction each, and each
// chunk looks once more. Held members carry on meanwhile.
import { chunksOf } from '../chunks.ts'
import { findMembersByKey } from '../db/batches.ts'
import { insertEvents } from '../db/changes.ts'
import type { Tx } from '../db/db.ts'
import {
  addSourceTime,
  findBatchByTime,
  findPast,
  markGone,
  type NewData,
  refreshMembers,
} from '../db/membership.ts'
import {
  deleteMoveReviewsTo,
  deleteReviews,
  findReviews,
  lockReviews,
  markDismissed,
  type ReviewRow,
} from '../db/reviews.ts'
import type { EventRecord } from '../domain/decide/draft.ts'
import { reschedule } from '../domain/decide/lifecycle.ts'
import { foldKey } from '../domain/member-key.ts'
import { MatoolkitError } from '../errors.ts'
import { releaseBatch, requireAccepted } from './batch-actions.ts'
import { addMembers, createBatch, dataHash, type GivenMember } from './create.ts'
import type { Engine } from './engine.ts'
import { fencedEngine } from './engine.ts'
import { changeBatch } from './locking.ts'
import { type MembersOutcome, readmitMembers, removeMembers } from './member-actions.ts'
import { moveMembers } from './moves.ts'

/** In one transaction, so that what was seen and what is done are the same. */
const HELD_PER_CHUNK = 500

export interface ReviewDecision {
  /** The held changes as they were listed. */
  readonly reviewIds: readonly number[]
  readonly actor: string
  readonly reason: string
}

/** They leave their batches, as the source wants it. */
export async function confirmRemovals(
  engine: Engine,
  order: ReviewDecision,
): Promise<MembersOutcome> {
  const items = await requireHeld(engine, order, 'removal')
  return eachBatch(items, (batchId, chunk) =>
    removeMembers(decided(engine, chunk), {
      batchId,
      memberIds: chunk.map(({ memberId }) => memberId!),
      actor: order.actor,
      by: 'source',
      reason: order.reason,
    }),
  )
}

/** They stay as they are: who has left until the key is back, who came late as long as it stands in that group. */
export async function dismissReviews(engine: Engine, order: ReviewDecision): Promise<void> {
  const items = await requireHeld(engine, order)
  if (items.some(({ kind }) => kind === 'move'))
    requireAccepted('a move is decided with reschedule, move or keep, not dismissed')
  await dismiss(engine, items, order)
}

async function dismiss(
  { db, clock }: Engine,
  items: readonly ReviewRow[],
  { actor, reason }: ReviewDecision,
): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    await lockAll(tx, idsOf(items))
    await markDismissed(tx, idsOf(items), actor, now)
    for (const [batchId, some] of Map.groupBy(items, (item) => item.batchId)) {
      const because = `${some.length} held ${some[0]!.kind}(s) were dismissed: ${reason}`
      await insertEvents(tx, batchId, now, actor, [dismissedEvent(because, batchId === null)])
    }
  })
}

const dismissedEvent = (because: string, isOfRunbook: boolean): EventRecord => ({
  ...{ thing: isOfRunbook ? 'runbook' : 'batch', event: 'held_dismissed', because },
  ...{ from: null, to: null, memberId: null, phaseId: null, stepId: null },
  ...{ attempt: null, jobId: null, details: null },
})

/** Latecomers join after all: a batch that has ended opens again, and where there is none it is made. */
export async function admitLatecomers(
  engine: Engine,
  order: ReviewDecision,
): Promise<{ joined: number }> {
  const items = await requireHeld(engine, order, 'join')
  let joined = 0
  for (const group of Map.groupBy(items, placeOf).values()) {
    for (const chunk of chunksOf(group, HELD_PER_CHUNK))
      joined += await admitChunk(engine, chunk, order)
  }
  return { joined }
}

const placeOf = ({ runbookName, batchId, toTime }: ReviewRow): string =>
  `${runbookName} ${batchId} ${toTime?.toISOString()}`

async function admitChunk(
  engine: Engine,
  chunk: readonly ReviewRow[],
  order: ReviewDecision,
): Promise<number> {
  const { runbookName, toTime, batchId } = chunk[0]!
  const guarded = decided(engine, chunk)
  const members = chunk.map(({ key, data }) => ({ key, data: data! }))
  const target = batchId ?? (await findBatchByTime(engine.db, runbookName, toTime!))?.id
  if (target === undefined) {
    await createBatch(guarded, { runbookName, sourceTime: toTime, members, createdBy: order.actor })
    return members.length
  }
  const { added } = await addMembers(guarded, target, members, order.actor)
  return added.length + (await takeBackLeavers(engine, target, members, order))
}

/** Of those admitted, who had been in the batch and left it: their rows are there already. */
async function takeBackLeavers(
  engine: Engine,
  batchId: number,
  members: readonly GivenMember[],
  { actor, reason }: ReviewDecision,
): Promise<number> {
  const given = new Map(members.map((member) => [foldKey(member.key), member]))
  const rows = await findMembersByKey(engine.db, batchId, [...given.keys()])
  const removed = rows.filter(({ status }) => status === 'removed')
  if (removed.length === 0) return 0
  const memberIds = removed.map(({ id }) => id)
  const fresh = removed.map(({ id, key }) => newData(id, given.get(foldKey(key))!))
  await changeBatch(engine, batchId, actor, ({ tx }) => refreshMembers(tx, batchId, fresh))
  const outcome = await readmitMembers(engine, {
    batchId,
    memberIds,
    event: 'readd',
    actor,
    reason,
  })
  return outcome.done.length
}

const newData = (memberId: number, { key, data }: GivenMember): NewData => ({
  memberId,
  key,
  data: JSON.stringify(data),
  hash: dataHash(data),
})

export type MoveChoice = 'reschedule' | 'move' | 'keep'

export interface MoveDecision extends ReviewDecision {
  readonly choice: MoveChoice
}

/**
 * Moves that were held, all from one batch to one time. `reschedule`: it is the same wave on another date, so the batch starts then
 * and the new time means it too. `move`: these members go there. `keep`: they stay, as long as the source has them there. The
 * batches that were held over it go on when nothing is left to decide.
 */
export async function decideMoves(engine: Engine, order: MoveDecision): Promise<MembersOutcome> {
  const items = await requireHeld(engine, order, 'move')
  const { batchId, toTime, runbookName } = items[0]!
  if (items.some((item) => item.batchId !== batchId || +item.toTime! !== +toTime!))
    requireAccepted(
      'these moves begin in several batches or lead to several times; decide about each apart',
    )
  const outcome = await carryOutChoice(engine, items, order)
  const target = await findBatchByTime(engine.db, runbookName, toTime!)
  for (const id of new Set([batchId!, ...(target ? [target.id] : [])]))
    await releaseBatch(engine, {
      batchId: id,
      actor: order.actor,
      reason: `${order.choice}: ${order.reason}`,
    })
  return outcome
}

async function carryOutChoice(
  engine: Engine,
  items: readonly ReviewRow[],
  order: MoveDecision,
): Promise<MembersOutcome> {
  const { batchId, toTime, runbookName } = items[0]!
  const memberIds = items.map(({ memberId }) => memberId!)
  if (order.choice === 'keep') {
    await dismiss(engine, items, order)
    return { done: memberIds, refused: [] }
  }
  if (order.choice === 'reschedule') {
    await rescheduleWave(engine, items, order)
    return { done: memberIds, refused: [] }
  }
  return eachBatch(items, async (_batchId, chunk) => {
    const seen = fencedEngine(engine, (tx) => lockAll(tx, idsOf(chunk)))
    const outcome = await moveMembers(seen, {
      batchId: batchId!,
      memberIds: chunk.map(({ memberId }) => memberId!),
      to: { runbookName, time: toTime! },
      actor: order.actor,
      by: 'source',
      reason: order.reason,
    })
    // Who could not move yet (a job is out) stays on the list, and the batch stays held: nothing new is sent meanwhile.
    const moved = new Set(outcome.done)
    const gone = chunk.filter(({ memberId }) => moved.has(memberId!))
    await engine.db.transaction((tx) => deleteReviews(tx, idsOf(gone)))
    return outcome
  })
}

const idsOf = (items: readonly ReviewRow[]): number[] => items.map(({ id }) => id)

async function rescheduleWave(
  engine: Engine,
  items: readonly ReviewRow[],
  { actor, reason }: MoveDecision,
): Promise<void> {
  const { batchId, toTime, cause } = items[0]!
  if (cause !== 'redated')
    requireAccepted(`batch ${batchId} is still in the source at its own time; choose move or keep`)
  // All that lead there, also those that were not named: the wave as a whole has got another date.
  const guarded = fencedEngine(engine, async (tx) => {
    await lockAll(tx, idsOf(items))
    await deleteMoveReviewsTo(tx, batchId!, toTime!)
  })
  await changeBatch(guarded, batchId!, actor, async ({ tx, draft }) => {
    requireAccepted(reschedule(draft, toTime!, reason))
    await addSourceTime(tx, batchId!, toTime!, actor, draft.now)
  })
}

/** Immediate runbooks: whoever was in a batch that has ended starts again at the next tick, as if the key had been gone. */
export async function restartKeys(
  engine: Engine,
  order: { runbookName: string; keys: readonly string[]; actor: string },
): Promise<{ found: number }> {
  const past = await findPast(engine.db, order.runbookName, order.keys.map(foldKey))
  const ids = [...past.values()].map(([newest]) => newest!.memberId)
  await engine.db.transaction((tx) => markGone(tx, order.runbookName, ids, engine.clock.now()))
  return { found: ids.length }
}

async function eachBatch(
  items: readonly ReviewRow[],
  run: (batchId: number, chunk: readonly ReviewRow[]) => Promise<MembersOutcome>,
): Promise<MembersOutcome> {
  const outcome: MembersOutcome = { done: [], refused: [] }
  const byBatch = [...Map.groupBy(items, ({ batchId }) => batchId!)].sort(([a], [b]) => a - b)
  for (const [batchId, some] of byBatch) {
    for (const chunk of chunksOf(some, HELD_PER_CHUNK)) {
      const { done, refused } = await run(batchId, chunk)
      outcome.done.push(...done)
      outcome.refused.push(...refused)
    }
  }
  return outcome
}

/** A door whose work takes these off the list, or is not done at all. */
const decided = (engine: Engine, items: readonly ReviewRow[]): Engine =>
  fencedEngine(engine, async (tx) => {
    await lockAll(tx, idsOf(items))
    await deleteReviews(tx, idsOf(items))
  })

async function lockAll(tx: Tx, ids: readonly number[]): Promise<void> {
  requireAll(ids, (await lockReviews(tx, ids)).length)
}

const requireAll = (ids: readonly number[], found: number): void => {
  if (found < ids.length)
    throw new MatoolkitError('HELD_CHANGED', { count: ids.length - found, asked: ids.length })
}

async function requireHeld(
  { db }: Engine,
  { reviewIds }: ReviewDecision,
  kind?: ReviewRow['kind'],
): Promise<ReviewRow[]> {
  const ids = [...new Set(reviewIds)]
  if (ids.length === 0) requireAccepted('no held change was named')
  const items = await findReviews(db, ids)
  requireAll(ids, items.length)
  const other = items.find((item) => kind !== undefined && item.kind !== kind)
  if (other) requireAccepted(`held change ${other.id} is a ${other.kind}, not a ${kind}`)
  return items
}
