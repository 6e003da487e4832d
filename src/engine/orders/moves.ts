// Moving members to another batch, with their data, outputs and passed steps (by phase and step name), and without cleanup. Members move
// in chunks, a transaction over both batches each; refused members are returned with the reason. A member whose cut-over has begun (a
// step of T-0 or later was sent) does not move.

import type { Tx } from '../../db/connection/db.ts'
import { carrySentMessages } from '../../db/orders/sent-messages.ts'
import { findBatchByTime } from '../../db/sources/membership.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { moveHolds } from '../../db/state/holds.ts'
import {
  copyMemberData,
  copyMembers,
  findMembersByKey,
  findMembersElsewhere,
  lockMembership,
} from '../../db/state/members.ts'
import {
  isCleanedUp,
  isCompensationOpen,
  moveMemberOut,
  type Refusal,
  refuseMoveOut,
} from '../../domain/decide/membership.ts'
import { effectiveSteps, queueNextOfMember } from '../../domain/decide/next.ts'
import { reopenStep } from '../../domain/decide/reopen-step.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import { isUnsettled, type Member, type Step } from '../../domain/state/facts.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { isPassed } from '../../domain/state/transitions.ts'
import type { BatchTransaction, Engine } from '../transactions/engine.ts'
import { ensureSteps } from '../transactions/expand.ts'
import { finish } from '../transactions/finish.ts'
import { loadMembersWithSteps } from '../transactions/loading.ts'
import { begin } from '../transactions/locking.ts'
import { memberChunks } from '../transactions/member-chunks.ts'
import { createBatchIn } from './create.ts'
import { type MembersOrder, type MembersOutcome, requireMembers } from './member-actions.ts'

/** An existing batch, or the batch of a source time, created in the same transaction when there is none. */
export type MoveDestination =
  | { readonly batchId: number }
  | { readonly runbookName: string; readonly time: Date }

export interface MoveOrder extends MembersOrder {
  readonly to: MoveDestination
  /** Stored as `removedBy` of the members; `source` when the data moved them. */
  readonly by?: string
}

export async function moveMembers(engine: Engine, order: MoveOrder): Promise<MembersOutcome> {
  const outcome: MembersOutcome = { done: [], refused: [] }
  const memberIds = [...new Set(order.memberIds)]
  for await (const chunk of memberChunks(engine.db, memberIds)) {
    const { done, refused } = await engine.db.transaction((tx) =>
      moveChunk(engine, tx, order, chunk),
    )
    outcome.done.push(...done)
    outcome.refused.push(...refused)
  }
  return outcome
}

async function moveChunk(
  engine: Engine,
  tx: Tx,
  order: MoveOrder,
  memberIds: readonly number[],
): Promise<MembersOutcome> {
  const { from, to } = await beginBoth(engine, tx, order)
  await requireMembers(from, memberIds)
  const refusal = refuseBatches(from, to)
  if (refusal) {
    await finish([...new Set([from, to])])
    return { done: [], refused: memberIds.map((memberId) => ({ memberId, reason: refusal })) }
  }
  await loadMembersWithSteps(from, memberIds, { all: true })
  const rows = await rowsThere(from, to, memberIds)
  const elsewhere = await activeElsewhere(from, memberIds)
  const outcome: MembersOutcome = { done: [], refused: [] }
  for (const memberId of memberIds) {
    const there = rows.get(foldKey(from.draft.member(memberId).key))
    const reason =
      refuseMember(from, to, memberId, there) ??
      elsewhere.get(memberId) ??
      leaveFrom(from, to, memberId, order)
    if (reason === null) outcome.done.push(memberId)
    else outcome.refused.push({ memberId, reason })
  }
  await finish([from])
  const pairs = await moveIn(from, to, outcome.done, rows, isByHand(order))
  await finish([to])
  await carrySentMessages(to.tx, pairs)
  return outcome
}

/** Locks both batches in the order of their ids: two crossing moves must not deadlock. A batch created here has the highest id. */
async function beginBoth(
  engine: Engine,
  tx: Tx,
  { batchId, to, actor }: MoveOrder,
): Promise<{ from: BatchTransaction; to: BatchTransaction }> {
  const known =
    'batchId' in to ? to.batchId : (await findBatchByTime(tx, to.runbookName, to.time))?.id
  const access = 'exclusive'
  const batchIds = [...new Set([batchId, known ?? batchId])]
  const [from, other] = await begin(engine, tx, { batchIds, actor, access, isPostponable: false })
  if (known !== undefined) return { from: from!, to: other ?? from! }
  const { runbookName, time } = to as Extract<MoveDestination, { time: Date }>
  const created = await createBatchIn(engine, tx, {
    runbookName,
    sourceTime: time,
    members: [],
    createdBy: actor,
  })
  const [there] = await begin(engine, tx, { batchIds: [created.batchId], actor, access })
  return { from: from!, to: there! }
}

function refuseBatches(from: BatchTransaction, to: BatchTransaction): Refusal {
  const { batch } = to.draft
  if (from === to) return `the member is already in batch ${batch.id}`
  if (from.draft.batch.runbookName !== batch.runbookName)
    return `batch ${batch.id} belongs to another runbook`
  return batch.endedAt === null ? null : `batch ${batch.id} is ${batch.status}`
}

/** A member who is active in an ended batch may have joined another since; nobody is active in two at once. */
async function activeElsewhere(
  { tx, draft: { batch } }: BatchTransaction,
  memberIds: readonly number[],
): Promise<Map<number, string>> {
  if (batch.endedAt === null) return new Map()
  await lockMembership(tx, batch.runbookName)
  const rows = await findMembersElsewhere(tx, batch.id, memberIds)
  return new Map(
    rows.map(({ memberId, batchId }) => [
      memberId,
      `member ${memberId} is active in batch ${batchId}`,
    ]),
  )
}

interface RowThere {
  readonly id: number
  readonly status: string
}

/** The target batch's rows of the same keys. Loads them with their steps. */
async function rowsThere(
  from: BatchTransaction,
  to: BatchTransaction,
  memberIds: readonly number[],
): Promise<Map<string, RowThere>> {
  const keys = memberIds.map((id) => from.draft.member(id).key)
  const rows = await findMembersByKey(to.tx, to.draft.batch.id, keys)
  await loadMembersWithSteps(
    to,
    rows.map(({ id }) => id),
    { all: true },
  )
  return new Map(rows.map((row) => [foldKey(row.key), row]))
}

function refuseMember(
  from: BatchTransaction,
  to: BatchTransaction,
  memberId: number,
  there?: RowThere,
): Refusal {
  const no = refuseMoveOut(from.draft, from.draft.member(memberId))
  if (no || !there) return no
  const { id, status } = there
  if (status !== 'removed')
    return `batch ${to.draft.batch.id} has an ${status} member with the same key`
  if (isCompensationOpen(to.draft, to.draft.member(id)))
    return `the cleanup of member ${id} has not ended`
  const isOut = (to.draft.stepsOfMember.get(id) ?? []).some(isUnsettled)
  return isOut ? `member ${id} has an unsettled job` : null
}

const leaveFrom = (
  from: BatchTransaction,
  to: BatchTransaction,
  memberId: number,
  order: MoveOrder,
): Refusal =>
  moveMemberOut(
    from.draft,
    from.draft.member(memberId),
    to.draft.batch.id,
    order.by ?? order.actor,
    isByHand(order) ? order.reason : undefined,
  )

/** A person moves the member against its row in the source, which does not move it back. */
const isByHand = ({ by = '' }: MoveOrder): boolean => by !== 'source'

async function moveIn(
  from: BatchTransaction,
  to: BatchTransaction,
  memberIds: readonly number[],
  rows: ReadonlyMap<string, RowThere>,
  byHand: boolean,
): Promise<readonly { readonly from: number; readonly to: number }[]> {
  const members = memberIds.map((id) => from.draft.member(id))
  const isNew = (member: Member) => !rows.has(foldKey(member.key))
  const ids = new Map(
    (
      await copyMembers(
        to.tx,
        members.filter(isNew).map(({ id }) => id),
        to.draft.batch.id,
        to.draft.now,
      )
    ).map(({ id, folded }) => [folded, id]),
  )
  const back = members.filter((member) => !isNew(member))
  await copyMemberData(
    to.tx,
    back.map(({ id, key }) => ({ from: id, to: rows.get(foldKey(key))!.id })),
  )
  for (const { key } of back) ids.set(foldKey(key), rows.get(foldKey(key))!.id)
  await carryHolds(from, to, members, ids)
  // Most members of a wave have passed the same steps, so they get theirs together.
  const groups = Map.groupBy(members, (member) =>
    [...passedSteps(from, member).keys()].sort().join('\n'),
  )
  for (const group of groups.values()) {
    const passed = passedSteps(from, group[0]!)
    const here = group.map(({ key }) => ids.get(foldKey(key))!)
    await ensureSteps(to, here, ({ name }, { stepName }) => passed.has(nameOf(name, stepName)))
    for (const member of group)
      arrive(from, to, member, ids.get(foldKey(member.key))!, isNew(member), byHand)
  }
  return members.map(({ id, key }) => ({ from: id, to: ids.get(foldKey(key))! }))
}

/** A held member stays held in its new batch. */
async function carryHolds(
  from: BatchTransaction,
  to: BatchTransaction,
  members: readonly Member[],
  ids: ReadonlyMap<string, number>,
): Promise<void> {
  const held = members.filter(({ id }) => from.draft.holds.members.has(id))
  const pairs = held.map(({ id, key }) => ({ from: id, to: ids.get(foldKey(key))! }))
  await moveHolds(to.tx, to.draft.batch.id, pairs)
  // As rows and not as notes of the draft: the other batch's transaction has been written.
  const { actor, now } = to.draft
  const gone = pairs.map((pair) =>
    eventRecord(
      'member',
      'resumed',
      `the hold goes with the member to batch ${to.draft.batch.id}`,
      {
        memberId: pair.from,
      },
    ),
  )
  const here = pairs.map((pair) =>
    eventRecord('member', 'held', from.draft.holds.members.get(pair.from)!.reason, {
      memberId: pair.to,
    }),
  )
  await insertEvents(to.tx, from.draft.batch.id, now, actor, gone)
  await insertEvents(to.tx, to.draft.batch.id, now, actor, here)
}

function arrive(
  from: BatchTransaction,
  { draft }: BatchTransaction,
  member: Member,
  id: number,
  isNew: boolean,
  byHand: boolean,
): void {
  const passed = passedSteps(from, member)
  const here = draft.member(id)
  const fromBatchId = from.draft.batch.id
  const startsOver = isCleanedUp(draft, here)
  const stays = byHand && !from.draft.batch.isManual && !draft.batch.isManual
  const why = `moved in from batch ${fromBatchId}${stays ? '; stays until the source puts it into a third group' : ''}`
  activateArrival(draft, here, member, why, isNew)
  for (const step of effectiveSteps(draft, id)) {
    const done = passed.get(nameOf(draft.phaseOf(step)!.name, step.definition.stepName))
    if (startsOver || !isPassed(step.status)) reopenStep(draft, step, 'the member moved in')
    if (done && step.status === 'pending') {
      draft.transitionStep(step, 'mark_done', `passed in batch ${fromBatchId}`, {
        completedAt: draft.now,
        // What was done there can be rolled back here.
        mayHaveEffect: step.mayHaveEffect || done.mayHaveEffect,
      })
    }
  }
  queueNextOfMember(draft, here)
}

const nameOf = (phase: string, step: string) => `${phase}/${step}`.toLowerCase()

const passedSteps = ({ draft }: BatchTransaction, { id }: Member): Map<string, Step> =>
  new Map(
    effectiveSteps(draft, id)
      .filter((step: Step) => isPassed(step.status))
      .map((step) => [nameOf(draft.phaseOf(step)!.name, step.definition.stepName), step]),
  )

function activateArrival(
  draft: BatchTransaction['draft'],
  here: Member,
  there: Member,
  why: string,
  isNew: boolean,
): void {
  if (isNew) {
    draft.changeBatch({ membersActive: draft.batch.membersActive + 1 })
    return draft.note('move_in', why, { memberId: here.id })
  }
  draft.transitionMember(here, 'move_in', why, {
    outputs: there.outputs,
    removedAt: null,
    removedBy: null,
    failedAt: null,
    movedToBatchId: null,
  })
}
