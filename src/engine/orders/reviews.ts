// A person approves or dismisses reviews: source changes that a tick must not make alone. A decision names the reviews as they were
// listed; if one of them is no longer open, nothing is done (REVIEW_CHANGED). Large decisions run in chunks, one transaction each,
// and each chunk checks its reviews again. The members carry on meanwhile.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { chunksOf } from '../../base/run/chunks.ts'
import type { Tx } from '../../db/connection/db.ts'
import {
  addSourceTime,
  findBatchByTime,
  type NewData,
  refreshMembers,
} from '../../db/sources/membership.ts'
import {
  deleteMoveReviewsTo,
  deleteReviews,
  findReviews,
  lockReviews,
  markDismissed,
  type ReviewRow,
} from '../../db/sources/reviews.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { findMembersByKey } from '../../db/state/members.ts'
import { overdueAt, reschedule } from '../../domain/decide/lifecycle.ts'
import type { ReviewKind } from '../../domain/sources/reviews.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { type Engine, fencedEngine } from '../transactions/engine.ts'
import { changeBatch } from '../transactions/locking.ts'
import { releaseBatch, requireAccepted, requireConsent } from './batch-actions.ts'
import { addMembers, createBatch, dataHash, type GivenMember } from './create.ts'
import { type MembersOutcome, readmitMembers, removeMembers } from './member-actions.ts'
import { moveMembers } from './moves.ts'
import { overdueAfterMove } from './review-effect.ts'

const REVIEWS_PER_CHUNK = 500

export interface ReviewDecision {
  /** The reviews as they were listed. */
  readonly reviewIds: readonly number[]
  readonly actor: string
  readonly reason: string
}

/** `reschedule`: the batch itself starts at the new time. `move`: the members go to the batch of that time. */
export type MoveChoice = 'reschedule' | 'move'

export interface ReviewApproval extends ReviewDecision {
  /** The kind that the person means: any other is refused. */
  readonly kind?: ReviewKind
  /** Only for moves; required when the whole wave has a new date. */
  readonly choice?: MoveChoice
  /** Only for moves: phases may start at once because their new time has passed. */
  readonly allowOverdue?: boolean
}

export interface ReviewOutcome {
  readonly kind: ReviewKind
  readonly doneCount: number
  readonly refused: MembersOutcome['refused']
}

/** Makes the changes that the source asks for. All reviews are of one kind; moves lead from one batch to one time. */
export async function approveReviews(
  engine: Engine,
  approval: ReviewApproval,
): Promise<ReviewOutcome> {
  const items = await requireOpen(engine, approval)
  const kind = approval.kind ?? items[0]!.kind
  const other = items.find((item) => item.kind !== kind)
  if (other)
    requireAccepted(
      `review ${other.id} is a ${other.kind}, not a ${kind}; approve each kind in a call of its own`,
    )
  if (kind !== 'move' && approval.choice !== undefined)
    requireAccepted(`"${approval.choice}" is a choice for moves, and these reviews are ${kind}s`)
  if (kind === 'join')
    return { kind, doneCount: await approveJoins(engine, items, approval), refused: [] }
  const approve = kind === 'removal' ? approveRemovals : approveMoves
  const { done, refused } = await approve(engine, items, approval)
  return { kind, doneCount: done.length, refused }
}

/** Leavers leave their batches. */
function approveRemovals(
  engine: Engine,
  items: readonly ReviewRow[],
  { actor, reason }: ReviewDecision,
): Promise<MembersOutcome> {
  return eachBatch(items, (batchId, chunk) =>
    removeMembers(closingReviews(engine, chunk), {
      batchId,
      memberIds: chunk.map(({ memberId }) => memberId!),
      actor,
      by: 'source',
      reason,
    }),
  )
}

/**
 * Nothing changes: a leaver stays until the key is back, a latecomer stays out and a mover stays in its batch for as long as the
 * source has it in that group. Batches held for the moves resume when no move is left to decide.
 */
export async function dismissReviews(engine: Engine, decision: ReviewDecision): Promise<void> {
  const items = await requireOpen(engine, decision)
  await dismiss(engine, items, decision)
  const moves = items.filter(({ kind }) => kind === 'move')
  for (const sameMove of Map.groupBy(moves, placeOf).values())
    await releaseBatches(engine, sameMove[0]!, decision.actor, `dismissed: ${decision.reason}`)
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
    for (const [batchId, group] of Map.groupBy(items, (item) => item.batchId)) {
      const because = `${dismissedText(group)} dismissed: ${reason}`
      const entity = batchId === null ? 'runbook' : 'batch'
      await insertEvents(tx, batchId, now, actor, [
        eventRecord(entity, 'review_dismissed', because),
      ])
    }
  })
}

/** "2 removal reviews, 1 join review" */
const dismissedText = (items: readonly ReviewRow[]): string =>
  [...Map.groupBy(items, ({ kind }) => kind)]
    .map(([kind, { length }]) => `${length} ${kind} review${length === 1 ? '' : 's'}`)
    .join(', ')

/** Latecomers join: an ended batch reopens, a missing one is created. */
async function approveJoins(
  engine: Engine,
  items: readonly ReviewRow[],
  decision: ReviewDecision,
): Promise<number> {
  let joined = 0
  for (const group of Map.groupBy(items, placeOf).values()) {
    for (const chunk of chunksOf(group, REVIEWS_PER_CHUNK, bytesOf))
      joined += await admitChunk(engine, chunk, decision)
  }
  return joined
}

const bytesOf = ({ data }: ReviewRow): number => JSON.stringify(data).length

const placeOf = ({ runbookName, batchId, toTime }: ReviewRow): string =>
  `${runbookName} ${batchId} ${toTime?.toISOString()}`

async function admitChunk(
  engine: Engine,
  chunk: readonly ReviewRow[],
  order: ReviewDecision,
): Promise<number> {
  const { runbookName, toTime, batchId } = chunk[0]!
  const guarded = closingReviews(engine, chunk)
  const members = chunk.map(({ key, data }) => ({ key, data: data! }))
  const target = batchId ?? (await findBatchByTime(engine.db, runbookName, toTime!))?.id
  if (target === undefined) {
    await createBatch(guarded, { runbookName, sourceTime: toTime, members, createdBy: order.actor })
    return members.length
  }
  const { added } = await addMembers(guarded, target, members, order.actor)
  return added.length + (await readmitLeavers(engine, target, members, order))
}

/** Latecomers who were in the batch before and left it: their rows exist already. */
async function readmitLeavers(
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

async function approveMoves(
  engine: Engine,
  items: readonly ReviewRow[],
  approval: ReviewApproval,
): Promise<MembersOutcome> {
  const [first] = items
  if (items.some((item) => placeOf(item) !== placeOf(first!))) {
    requireAccepted(
      'these moves start in several batches or lead to several times; approve one batch and time per call',
    )
  }
  const choice = approval.choice ?? 'move'
  if (approval.choice === undefined && items.some(({ cause }) => cause === 'redated')) {
    requireAccepted(
      `the whole wave of batch ${first!.batchId} has a new date; choose reschedule (the batch starts then) or move (its members go to another batch)`,
    )
  }
  const { allowOverdue = false } = approval
  requireConsent(first!.batchId!, await overdueAfterMove(engine, first!), { allowOverdue })
  const outcome =
    choice === 'reschedule'
      ? await rescheduleWave(engine, items, approval)
      : await moveToNewWave(engine, items, approval)
  await releaseBatches(engine, first!, approval.actor, `${choice}: ${approval.reason}`)
  return outcome
}

/** Ends the holds that a move put on both of its batches, unless another move is still open. */
async function releaseBatches(
  engine: Engine,
  { runbookName, batchId, toTime }: ReviewRow,
  actor: string,
  reason: string,
): Promise<void> {
  const target = await findBatchByTime(engine.db, runbookName, toTime!)
  for (const id of new Set([batchId!, ...(target ? [target.id] : [])]))
    await releaseBatch(engine, { batchId: id, actor, reason })
}

function moveToNewWave(
  engine: Engine,
  items: readonly ReviewRow[],
  { actor, reason }: ReviewDecision,
): Promise<MembersOutcome> {
  const { runbookName, toTime } = items[0]!
  return eachBatch(items, async (batchId, chunk) => {
    const fenced = fencedEngine(engine, (tx) => lockAll(tx, idsOf(chunk)))
    const outcome = await moveMembers(fenced, {
      batchId,
      memberIds: chunk.map(({ memberId }) => memberId!),
      to: { runbookName, time: toTime! },
      actor,
      by: 'source',
      reason,
    })
    // A member with an unsettled job cannot move yet: its review stays open and the batch stays on hold, so nothing new is sent.
    const moved = new Set(outcome.done)
    const closed = chunk.filter(({ memberId }) => moved.has(memberId!))
    await engine.db.transaction((tx) => deleteReviews(tx, idsOf(closed)))
    return outcome
  })
}

const idsOf = (items: readonly ReviewRow[]): number[] => items.map(({ id }) => id)

async function rescheduleWave(
  engine: Engine,
  items: readonly ReviewRow[],
  { actor, reason, allowOverdue = false }: ReviewApproval,
): Promise<MembersOutcome> {
  const { batchId, toTime, cause } = items[0]!
  if (cause !== 'redated')
    requireAccepted(
      `batch ${batchId} is still in the source at its own time and cannot be rescheduled; choose move, or dismiss the reviews`,
    )
  // The wave as a whole has a new date, so every move to that time is settled, named or not.
  const guarded = fencedEngine(engine, async (tx) => {
    await lockAll(tx, idsOf(items))
    await deleteMoveReviewsTo(tx, batchId!, toTime!)
  })
  await changeBatch(guarded, batchId!, actor, async ({ tx, draft }) => {
    requireConsent(batchId!, overdueAt(draft.phases, toTime!, draft.now), { allowOverdue })
    requireAccepted(reschedule(draft, toTime!, reason))
    await addSourceTime(tx, batchId!, toTime!, actor, draft.now)
  })
  return { done: items.map(({ memberId }) => memberId!), refused: [] }
}

async function eachBatch(
  items: readonly ReviewRow[],
  run: (batchId: number, chunk: readonly ReviewRow[]) => Promise<MembersOutcome>,
): Promise<MembersOutcome> {
  const outcome: MembersOutcome = { done: [], refused: [] }
  const byBatch = [...Map.groupBy(items, ({ batchId }) => batchId!)].sort(([a], [b]) => a - b)
  for (const [batchId, group] of byBatch) {
    for (const chunk of chunksOf(group, REVIEWS_PER_CHUNK)) {
      const { done, refused } = await run(batchId, chunk)
      outcome.done.push(...done)
      outcome.refused.push(...refused)
    }
  }
  return outcome
}

/** An engine whose transactions also close these reviews, or fail as a whole. */
const closingReviews = (engine: Engine, items: readonly ReviewRow[]): Engine =>
  fencedEngine(engine, async (tx) => {
    await lockAll(tx, idsOf(items))
    await deleteReviews(tx, idsOf(items))
  })

async function lockAll(tx: Tx, ids: readonly number[]): Promise<void> {
  requireAll(ids, (await lockReviews(tx, ids)).length)
}

const requireAll = (ids: readonly number[], found: number): void => {
  if (found < ids.length)
    throw new MatoolkitError('REVIEW_CHANGED', { count: ids.length - found, asked: ids.length })
}

async function requireOpen({ db }: Engine, { reviewIds }: ReviewDecision): Promise<ReviewRow[]> {
  const ids = [...new Set(reviewIds)]
  if (ids.length === 0) requireAccepted('no review was named')
  const items = await findReviews(db, ids)
  requireAll(ids, items.length)
  return items
}
