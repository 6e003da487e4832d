// What operators and the scheduler decide about members: leaving, coming back, moving, and repairing what failed.
// Many members are done in chunks, a transaction each; who cannot be helped now is named with the reason, the others go on.
import { findMembersElsewhere, findMissingMember, lockMembership } from '../db/batches.ts'
import { loadOwners } from '../db/facts.ts'
import { type Refusal, removeMember, takeBack } from '../domain/decide/membership.ts'
import { effectiveSteps } from '../domain/decide/next.ts'
import {
  acceptLateResult,
  markDone,
  redoMember,
  retryMember,
  setVariable,
  skipStep,
} from '../domain/decide/repair.ts'
import type { Member, Step } from '../domain/facts.ts'
import type { Json } from '../domain/json.ts'
import { MatoolkitError } from '../errors.ts'
import { bringMembers, callBackJobs, changeBatch, type Door, type Visit } from './door.ts'
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

/** All of them, or MEMBER_NOT_FOUND. */
export async function requireMembers(
  { tx, draft }: Visit,
  memberIds: readonly number[],
): Promise<void> {
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
    // Whoever failed here may be active elsewhere by now, and what is settled by hand brings members back.
    const [unfit] = await withAllSteps(visit, [memberId!])
    insist(unfit?.reason ?? null)
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
