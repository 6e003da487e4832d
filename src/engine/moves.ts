// Moving to another wave: one act that carries data, outputs and what is passed (by phase and step name), and undoes nothing.
// Any number of members in chunks, two batches and one transaction a chunk; who cannot move now is named with the reason. From the
// moment a step of T-0 or later was sent for a member nobody moves it any more: then going back in time is a person's work.
import { chunksOf } from '../chunks.ts'
import {
  copyMemberData,
  copyMembers,
  findMembersByKey,
  findMembersElsewhere,
  lockMembership,
} from '../db/batches.ts'
import type { Tx } from '../db/db.ts'
import { findBatchByTime } from '../db/membership.ts'
import {
  isCleanedUp,
  isCompensationOpen,
  moveMemberOut,
  type Refusal,
} from '../domain/decide/membership.ts'
import { effectiveSteps, queueNextOfMember } from '../domain/decide/next.ts'
import { reopenStep } from '../domain/decide/reopen-step.ts'
import { isUnsettled, type Member, type Step, wasBegun } from '../domain/facts.ts'
import { foldKey } from '../domain/member-key.ts'
import { isPassed } from '../domain/transitions.ts'
import { type Order, requireAccepted } from './batch-actions.ts'
import { commit } from './commit.ts'
import { createBatchIn } from './create.ts'
import type { BatchTransaction, Engine } from './engine.ts'
import { ensureSteps } from './expand.ts'
import { loadMembersWithSteps } from './loading.ts'
import { begin } from './locking.ts'
import { type MembersOrder, type MembersOutcome, requireMembers } from './member-actions.ts'

const MEMBERS_PER_CHUNK = 500

/** An existing batch, or the one of a source time: made in the same transaction when there is none. */
export type MoveDestination =
  | { readonly batchId: number }
  | { readonly runbookName: string; readonly time: Date }

export interface MoveOrder extends MembersOrder {
  readonly to: MoveDestination
  /** Whom the members' rows name as the one who took them away; `source` when the data did. */
  readonly by?: string
}

export async function moveMembers(engine: Engine, order: MoveOrder): Promise<MembersOutcome> {
  const outcome: MembersOutcome = { done: [], refused: [] }
  const memberIds = [...new Set(order.memberIds)]
  for (const chunk of chunksOf(memberIds, MEMBERS_PER_CHUNK)) {
    const { done, refused } = await engine.db.transaction((tx) =>
      moveChunk(engine, tx, order, chunk),
    )
    outcome.done.push(...done)
    outcome.refused.push(...refused)
  }
  return outcome
}

/** One member to a batch that is there; throws what stands in the way. */
export async function moveMember(
  engine: Engine,
  order: Order & { memberId: number; toBatchId: number },
): Promise<void> {
  const { memberId, toBatchId } = order
  const { refused } = await moveMembers(engine, {
    ...order,
    memberIds: [memberId],
    to: { batchId: toBatchId },
  })
  requireAccepted(refused[0]?.reason ?? null)
}

async function moveChunk(
  engine: Engine,
  tx: Tx,
  order: MoveOrder,
  memberIds: readonly number[],
): Promise<MembersOutcome> {
  const { from, to } = await enterBoth(engine, tx, order)
  await requireMembers(from, memberIds)
  const wrong = refuseBatches(from, to)
  if (wrong) {
    for (const batchTx of new Set([from, to])) await commit(batchTx)
    return { done: [], refused: memberIds.map((memberId) => ({ memberId, reason: wrong })) }
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
  await commit(from)
  await moveIn(from, to, outcome.done, rows)
  await commit(to)
  return outcome
}

/** Both locks in the order of their ids: two moves that cross cannot wait for each other. A batch made here is the youngest. */
async function enterBoth(
  engine: Engine,
  tx: Tx,
  { batchId, to, actor }: MoveOrder,
): Promise<{ from: BatchTransaction; to: BatchTransaction }> {
  const known =
    'batchId' in to ? to.batchId : (await findBatchByTime(tx, to.runbookName, to.time))?.id
  const visits = new Map<number, BatchTransaction>()
  for (const id of [batchId, ...(known === undefined ? [] : [known])].sort((a, b) => a - b))
    visits.set(id, visits.get(id) ?? (await begin(engine, tx, id, actor)))
  const from = visits.get(batchId)!
  if (known !== undefined) return { from, to: visits.get(known)! }
  const { runbookName, time } = to as Extract<MoveDestination, { time: Date }>
  const made = await createBatchIn(engine, tx, {
    runbookName,
    sourceTime: time,
    members: [],
    createdBy: actor,
  })
  return { from, to: await begin(engine, tx, made.batchId, actor) }
}

function refuseBatches(from: BatchTransaction, to: BatchTransaction): Refusal {
  const { batch } = to.draft
  if (from === to) return `the member is in batch ${batch.id} already`
  if (from.draft.batch.runbookName !== batch.runbookName)
    return `batch ${batch.id} is of another runbook`
  return batch.endedAt === null ? null : `batch ${batch.id} is ${batch.status}`
}

/** Whoever stands as active in a batch that has ended may have gone on elsewhere since; nobody is active in two at once. */
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

/** The rows that the other batch has of the same keys, with their steps among its facts. */
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
  const sent = from.draft
    .siblings(memberId, 'phase')
    .find((step) => wasBegun(step) && from.draft.phase(step.phaseId!).offsetMinutes <= 0)
  if (sent)
    return `step ${sent.definition.stepName} was sent for member ${memberId}: its cut-over has begun`
  // Whether it is active at all is asked when it leaves.
  if (!there || from.draft.member(memberId).status !== 'active') return null
  const { id, status } = there
  if (status !== 'removed')
    return `batch ${to.draft.batch.id} has an ${status} member of the same key`
  if (isCompensationOpen(to.draft, to.draft.member(id)))
    return `the removal of member ${id} has not ended`
  const isOut = (to.draft.stepsOfMember.get(id) ?? []).some(isUnsettled)
  return isOut ? `member ${id} has a job that is not settled` : null
}

const leaveFrom = (
  from: BatchTransaction,
  to: BatchTransaction,
  memberId: number,
  order: MoveOrder,
): Refusal =>
  moveMemberOut(from.draft, from.draft.member(memberId), to.draft.batch.id, order.by ?? order.actor)

async function moveIn(
  from: BatchTransaction,
  to: BatchTransaction,
  memberIds: readonly number[],
  rows: ReadonlyMap<string, RowThere>,
): Promise<void> {
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
  // Most members of a wave have passed the same steps: those are given theirs together.
  const alike = Map.groupBy(members, (member) => [...passedNames(from, member)].sort().join('\n'))
  for (const group of alike.values()) {
    const passed = passedNames(from, group[0]!)
    const here = group.map(({ key }) => ids.get(foldKey(key))!)
    await ensureSteps(to, here, ({ name }, { stepName }) => passed.has(nameOf(name, stepName)))
    for (const member of group)
      settleIn(from, to, member, ids.get(foldKey(member.key))!, isNew(member), passed)
  }
}

function settleIn(
  from: BatchTransaction,
  { draft }: BatchTransaction,
  member: Member,
  id: number,
  isNew: boolean,
  passed: ReadonlySet<string>,
): void {
  const here = draft.member(id)
  const fromBatchId = from.draft.batch.id
  const startsOver = isCleanedUp(draft, here)
  arrive(draft, here, member, fromBatchId, isNew)
  for (const step of effectiveSteps(draft, id)) {
    const isDone = passed.has(nameOf(draft.phaseOf(step)!.name, step.definition.stepName))
    if (startsOver || !isPassed(step.status)) reopenStep(draft, step, 'the member moved in')
    if (isDone && step.status === 'pending') {
      draft.transitionStep(step, 'mark_done', `passed in batch ${fromBatchId}`, {
        completedAt: draft.now,
      })
    }
  }
  queueNextOfMember(draft, here)
}

const nameOf = (phase: string, step: string) => `${phase}/${step}`.toLowerCase()

const passedNames = ({ draft }: BatchTransaction, { id }: Member): Set<string> =>
  new Set(
    effectiveSteps(draft, id)
      .filter((step: Step) => isPassed(step.status))
      .map((step) => nameOf(draft.phaseOf(step)!.name, step.definition.stepName)),
  )

function arrive(
  draft: BatchTransaction['draft'],
  here: Member,
  there: Member,
  fromBatchId: number,
  isNew: boolean,
): void {
  const why = `moved in from batch ${fromBatchId}`
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
