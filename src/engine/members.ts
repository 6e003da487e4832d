// What operators and the scheduler decide about members: leaving, coming back, moving, and repairing what failed.
// Many members are done in chunks, a transaction each; who cannot be helped now is named with the reason, the others go on.
import {
  copyMember,
  copyMemberData,
  findMembersByKey,
  findMembersElsewhere,
  findMissingMember,
  lockMembership,
} from '../db/batches.ts'
import { loadOwners } from '../db/facts.ts'
import {
  isCleanedUp,
  isUndoOpen,
  moveMemberOut,
  type Refusal,
  removeMember,
  takeBack,
} from '../domain/decide/membership.ts'
import { advanceMember, effectiveSteps } from '../domain/decide/next.ts'
import {
  acceptLateResult,
  markDone,
  redoMember,
  retryMember,
  setVariable,
  skipStep,
} from '../domain/decide/repair.ts'
import { takeUp } from '../domain/decide/take-up.ts'
import { isUnsettled, type Member, type Step, wasBegun } from '../domain/facts.ts'
import type { Json } from '../domain/json.ts'
import { isPassed } from '../domain/moves.ts'
import { MatoolkitError } from '../errors.ts'
import {
  bringMembers,
  callBackJobs,
  changeBatch,
  type Door,
  enter,
  leave,
  type Visit,
} from './door.ts'
import { ensureSteps } from './expand.ts'
import { insist, type Order } from './operate.ts'

const MEMBERS_PER_CHUNK = 500

export interface Outcome {
  readonly done: number[]
  readonly refused: { readonly memberId: number; readonly reason: string }[]
}

export interface MembersOrder extends Order {
  readonly memberIds: readonly number[]
}

type Decide = (visit: Visit, member: Member) => Refusal
type Refused = Outcome['refused'][number]

/** Brings what all of a chunk need, and says who cannot be helped whatever the decision. */
type Prepare = (visit: Visit, memberIds: readonly number[]) => Promise<readonly Refused[]>

/** Ends the transaction, so that nothing of what was prepared for those who are refused is kept. */
class SomeRefused extends Error {
  readonly refused: readonly Refused[]

  constructor(refused: readonly Refused[]) {
    super('some members were refused')
    this.refused = refused
  }
}

/** Runs a decision for each member, in chunks. */
async function eachMember(
  door: Door,
  order: MembersOrder,
  prepare: Prepare,
  decide: Decide,
): Promise<Outcome> {
  const outcome: Outcome = { done: [], refused: [] }
  const memberIds = [...new Set(order.memberIds)]
  for (let start = 0; start < memberIds.length; start += MEMBERS_PER_CHUNK) {
    let chunk = memberIds.slice(start, start + MEMBERS_PER_CHUNK)
    // Members do not depend on each other, so the second round is the last: it has only those whom nothing refuses.
    while (chunk.length > 0) {
      const refused = await helpAll(door, order, chunk, prepare, decide)
      if (refused.length === 0) outcome.done.push(...chunk)
      outcome.refused.push(...refused)
      const left = new Set(refused.map(({ memberId }) => memberId))
      chunk = refused.length === 0 ? [] : chunk.filter((id) => !left.has(id))
    }
  }
  return outcome
}

/** All of them in one transaction, or none: then those who stood in the way are returned. */
async function helpAll(
  door: Door,
  { batchId, actor }: MembersOrder,
  memberIds: readonly number[],
  prepare: Prepare,
  decide: Decide,
): Promise<readonly Refused[]> {
  try {
    await changeBatch(door, batchId, actor, async (visit) => {
      await requireMembers(visit, memberIds)
      const unfit = await prepare(visit, memberIds)
      if (unfit.length > 0) throw new SomeRefused(unfit)
      const refused = memberIds.flatMap((memberId) => {
        const reason = decide(visit, visit.draft.member(memberId))
        return reason === null ? [] : [{ memberId, reason }]
      })
      if (refused.length > 0) throw new SomeRefused(refused)
    })
    return []
  } catch (error) {
    if (error instanceof SomeRefused) return error.refused
    throw error
  }
}

async function requireMembers({ tx, draft }: Visit, memberIds: readonly number[]): Promise<void> {
  const memberId = await findMissingMember(tx, draft.batch.id, memberIds)
  if (memberId !== null)
    throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId: draft.batch.id, memberId })
}

/** They leave the batch. `by` is `source` when the data source dropped them. */
export function removeMembers(door: Door, order: MembersOrder & { by?: string }): Promise<Outcome> {
  const by = order.by ?? order.actor
  return eachMember(
    door,
    order,
    async (visit, ids) => {
      await bringMembers(visit, ids)
      await callBackJobs(visit, 'the member left', ids)
      return []
    },
    ({ draft }, member) => removeMember(draft, member, by, order.reason),
  )
}

/** All steps that the members should have by now, unless they are in another batch: nobody is active in two at once. */
const withAllSteps: Prepare = async (visit, ids) => {
  const { tx, draft } = visit
  await lockMembership(tx, draft.batch.runbookName)
  const elsewhere = await findMembersElsewhere(tx, draft.batch.id, ids)
  if (elsewhere.length === 0) await ensureSteps(visit, ids)
  return elsewhere.map(({ memberId, batchId }) => ({
    memberId,
    reason: `member ${memberId} is active in batch ${batchId}`,
  }))
}

/** Back again: by the data source, or by a person. */
export function takeBackMembers(
  door: Door,
  order: MembersOrder & { event: 'rejoin' | 'readd' },
): Promise<Outcome> {
  return eachMember(door, order, withAllSteps, ({ draft }, member) =>
    takeBack(draft, member, order.event, order.reason),
  )
}

export function retryMembers(
  door: Door,
  order: MembersOrder & { fromStepName?: string },
): Promise<Outcome> {
  return eachMember(door, order, withAllSteps, ({ draft }, member) => {
    if (order.fromStepName === undefined) return retryMember(draft, member, order.reason)
    const from = stepNamed(effectiveSteps(draft, member.id), order.fromStepName)
    if (!from) return `member ${member.id} has no step named ${order.fromStepName}`
    return retryMember(draft, member, order.reason, from.id)
  })
}

export function redoMembers(
  door: Door,
  order: MembersOrder & { fromStepName: string },
): Promise<Outcome> {
  return eachMember(door, order, withAllSteps, ({ draft }, member) => {
    const from = stepNamed(effectiveSteps(draft, member.id), order.fromStepName)
    if (!from) return `member ${member.id} has no step named ${order.fromStepName}`
    return redoMember(draft, member, from.id, order.reason)
  })
}

const stepNamed = (steps: readonly Step[], name: string): Step | undefined =>
  steps.find((step) => step.plan.stepName.toLowerCase() === name.toLowerCase())

export function setMemberVariable(
  door: Door,
  order: MembersOrder & { name: string; value: Json },
): Promise<Outcome> {
  return eachMember(
    door,
    order,
    async (visit, ids) => {
      await bringMembers(visit, ids)
      return []
    },
    ({ draft }, member) => {
      setVariable(draft, member, order.name, order.value, order.reason)
      return null
    },
  )
}

export interface StepOrder {
  readonly stepId: number
  readonly actor: string
  readonly reason: string
}

async function onStep(
  door: Door,
  order: StepOrder,
  decide: (visit: Visit, step: Step) => Refusal,
): Promise<void> {
  const [owner] = await loadOwners(door.db, [order.stepId])
  if (!owner) throw new MatoolkitError('STEP_NOT_FOUND', { stepId: order.stepId })
  const { batchId, memberId } = owner
  if (memberId === null) insist(`step ${order.stepId} belongs to the batch, not to a member`)
  await changeBatch(door, batchId, order.actor, async (visit) => {
    await ensureSteps(visit, [memberId!])
    insist(decide(visit, visit.draft.steps.get(order.stepId)!))
  })
}

export const skip = (door: Door, order: StepOrder): Promise<void> =>
  onStep(door, order, ({ draft }, step) => skipStep(draft, step, order.reason))

export const markStepDone = (
  door: Door,
  order: StepOrder & { outputs?: Readonly<Record<string, Json>> },
): Promise<void> =>
  onStep(door, order, ({ draft }, step) => markDone(draft, step, order.reason, order.outputs))

export const acceptLate = (door: Door, order: StepOrder): Promise<void> =>
  onStep(door, order, ({ draft }, step) => acceptLateResult(draft, step, order.reason))

/**
 * The member goes on in another batch of the same runbook, with its data, its outputs and what it has passed (by phase and step
 * name). Refused once a step of T-0 or later was sent: from there on moving back in time is a person's work.
 */
export async function moveMember(
  door: Door,
  order: Order & { memberId: number; toBatchId: number },
): Promise<void> {
  const { batchId, toBatchId, memberId, actor } = order
  await door.db.transaction(async (tx) => {
    // Both locks in the order of their ids: two moves that cross cannot wait for each other.
    const visits = new Map<number, Visit>()
    for (const id of [batchId, toBatchId].sort((a, b) => a - b))
      visits.set(id, await enter(door, tx, id, actor))
    const from = visits.get(batchId)!
    const to = visits.get(toBatchId)!
    await requireMembers(from, [memberId])
    await bringMembers(from, [memberId], { all: true })
    const member = from.draft.member(memberId)
    insist(refuseMove(from, to, memberId))
    insist(moveMemberOut(from.draft, member, toBatchId, actor))
    await leave(from)
    await moveIn(to, from, member)
    await leave(to)
  })
}

function refuseMove(from: Visit, to: Visit, memberId: number): Refusal {
  if (from === to) return `member ${memberId} is in batch ${to.draft.batch.id} already`
  if (from.draft.batch.runbookName !== to.draft.batch.runbookName) {
    return `batch ${to.draft.batch.id} is of another runbook`
  }
  if (to.draft.batch.endedAt !== null)
    return `batch ${to.draft.batch.id} is ${to.draft.batch.status}`
  const sent = from.draft
    .siblings(memberId, 'phase')
    .find((step) => wasBegun(step) && from.draft.phase(step.phaseId!).offsetMinutes <= 0)
  return sent
    ? `step ${sent.plan.stepName} was sent for member ${memberId}: its cut-over has begun`
    : null
}

async function moveIn(to: Visit, from: Visit, member: Member): Promise<void> {
  const { tx, draft } = to
  const [known] = await findMembersByKey(tx, draft.batch.id, [member.key])
  if (known && known.status !== 'removed') {
    insist(`batch ${draft.batch.id} has an ${known.status} member of the same key`)
  }
  if (known) await copyMemberData(tx, member.id, known.id)
  const id = known?.id ?? (await copyMember(tx, member.id, draft.batch.id, draft.now))
  const passed = new Set(
    effectiveSteps(from.draft, member.id).flatMap((step) => passedName(from, step)),
  )
  await ensureSteps(to, [id], ({ name }, { stepName }) => passed.has(nameOf(name, stepName)))
  const here = draft.member(id)
  if (isUndoOpen(draft, here)) insist(`the removal of member ${id} has not ended`)
  if ((draft.stepsOfMember.get(id) ?? []).some(isUnsettled))
    insist(`member ${id} has a job that is not settled`)
  const startsOver = isCleanedUp(draft, here)
  arrive(to, here, member, from.draft.batch.id, !known)
  for (const step of effectiveSteps(draft, id)) {
    const isDone = passed.has(nameOf(draft.phaseOf(step)!.name, step.plan.stepName))
    if (startsOver || !isPassed(step.status)) takeUp(draft, step, 'the member moved in')
    if (isDone && step.status === 'pending') {
      draft.moveStep(step, 'mark_done', `passed in batch ${from.draft.batch.id}`, {
        completedAt: draft.now,
      })
    }
  }
  advanceMember(draft, here)
}

const nameOf = (phase: string, step: string) => `${phase}/${step}`.toLowerCase()

const passedName = ({ draft }: Visit, step: Step): string[] =>
  isPassed(step.status) ? [nameOf(draft.phaseOf(step)!.name, step.plan.stepName)] : []

function arrive(
  { draft }: Visit,
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
  draft.moveMember(here, 'move_in', why, {
    outputs: there.outputs,
    removedAt: null,
    removedBy: null,
    failedAt: null,
    movedToBatchId: null,
  })
}
