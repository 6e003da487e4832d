// Actions of operators and the scheduler on members: remove, readmit, retry, redo, set a variable, pass a step, retry a step.
// Large selections run in chunks, a transaction each. Refused members are returned with the reason; the others are done.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import type { Tx } from '../../db/connection/db.ts'
import { keepInBatch } from '../../db/sources/reviews.ts'
import { isPhaseStep, loadOwners } from '../../db/state/facts.ts'
import { findMembersElsewhere, findMissingMember, lockMembership } from '../../db/state/members.ts'
import { runbookStepOf } from '../../domain/decide/definitions.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import { type Refusal, readmitMember, removeMember } from '../../domain/decide/membership.ts'
import { effectiveSteps, firstNotPassed } from '../../domain/decide/next.ts'
import {
  acceptLateResult,
  markDone,
  redoMember,
  retryMember,
  setVariable,
  skipStep,
  stepsInOrder,
} from '../../domain/decide/repair.ts'
import { retryCompensation } from '../../domain/decide/repair-compensation.ts'
import {
  planRollback,
  type RollbackPlan,
  rollBackMember,
} from '../../domain/decide/rollback-by-hand.ts'
import { whyReserved } from '../../domain/runbook/variables.ts'
import type { Member, Step } from '../../domain/state/facts.ts'
import { isFailed } from '../../domain/state/transitions.ts'
import type { BatchTransaction, Engine } from '../transactions/engine.ts'
import { ensureSteps } from '../transactions/expand.ts'
import { loadMembersWithSteps } from '../transactions/loading.ts'
import { changeBatch } from '../transactions/locking.ts'
import { memberChunks } from '../transactions/member-chunks.ts'
import { withdrawJobs } from '../transactions/withdraw.ts'
import { type BatchOrder, requireAccepted } from './batch-actions.ts'

export interface MembersOutcome {
  readonly done: number[]
  readonly refused: { readonly memberId: number; readonly reason: string }[]
}

export interface MembersOrder extends BatchOrder {
  readonly memberIds: readonly number[]
}

type Decide = (batchTx: BatchTransaction, member: Member) => Refusal
type Refused = MembersOutcome['refused'][number]

/** Loads what the chunk needs. Returns the members that every decision would refuse. */
type Prepare = (
  batchTx: BatchTransaction,
  memberIds: readonly number[],
) => Promise<readonly Refused[]>

/** Rolls the transaction back, so that nothing prepared for refused members is kept. */
class SomeRefused extends Error {
  readonly refused: readonly Refused[]

  constructor(refused: readonly Refused[]) {
    super('some members were refused')
    this.refused = refused
  }
}

/** Runs a decision for each member, in chunks. */
export async function eachMember(
  engine: Engine,
  order: MembersOrder,
  prepare: Prepare,
  decide: Decide,
): Promise<MembersOutcome> {
  const outcome: MembersOutcome = { done: [], refused: [] }
  const memberIds = [...new Set(order.memberIds)]
  for await (const members of memberChunks(engine.db, memberIds)) {
    let chunk = members
    // Members do not depend on each other, so the second round has no refusals and is the last.
    while (chunk.length > 0) {
      const refused = await changeAll(engine, order, chunk, prepare, decide)
      if (refused.length === 0) outcome.done.push(...chunk)
      outcome.refused.push(...refused)
      const left = new Set(refused.map(({ memberId }) => memberId))
      chunk = refused.length === 0 ? [] : chunk.filter((id) => !left.has(id))
    }
  }
  return outcome
}

/** Changes all of them in one transaction, or none: then returns the refused. */
async function changeAll(
  engine: Engine,
  { batchId, actor }: MembersOrder,
  memberIds: readonly number[],
  prepare: Prepare,
  decide: Decide,
): Promise<readonly Refused[]> {
  try {
    await changeBatch(engine, batchId, actor, async (batchTx) => {
      await requireMembers(batchTx, memberIds)
      const refusedAnyway = await prepare(batchTx, memberIds)
      if (refusedAnyway.length > 0) throw new SomeRefused(refusedAnyway)
      const refused = memberIds.flatMap((memberId) => {
        const reason = decide(batchTx, batchTx.draft.member(memberId))
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
  { tx, draft }: BatchTransaction,
  memberIds: readonly number[],
): Promise<void> {
  const memberId = await findMissingMember(tx, draft.batch.id, memberIds)
  if (memberId !== null)
    throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId: draft.batch.id, memberId })
}

/** Removes members. `by` is `source` when the data source dropped them. */
export function removeMembers(
  engine: Engine,
  order: MembersOrder & { by?: string },
): Promise<MembersOutcome> {
  const by = order.by ?? order.actor
  return eachMember(
    engine,
    order,
    async (batchTx, ids) => {
      await loadMembersWithSteps(batchTx, ids)
      await withdrawJobs(batchTx, 'the member left', { memberIds: ids })
      return []
    },
    ({ draft }, member) => removeMember(draft, member, by, order.reason),
  )
}

/** Writes and loads all steps that the members should have. Refuses members of another batch: nobody is active in two at once. */
const withAllSteps: Prepare = async (batchTx, ids) => {
  const elsewhere = await activeElsewhere(batchTx.tx, batchTx.draft, ids)
  if (elsewhere.length === 0) await ensureSteps(batchTx, ids)
  return elsewhere
}

async function activeElsewhere(
  tx: Tx,
  { batch }: Draft,
  memberIds: readonly number[],
): Promise<readonly Refused[]> {
  await lockMembership(tx, batch.runbookName)
  const elsewhere = await findMembersElsewhere(tx, batch.id, memberIds)
  return elsewhere.map(({ memberId, batchId }) => ({
    memberId,
    reason: `member ${memberId} is active in batch ${batchId}`,
  }))
}

/** Brings removed members back: `rejoin` by the data source, `readd` by a person. */
export function readmitMembers(
  engine: Engine,
  order: MembersOrder & { event: 'rejoin' | 'readd' },
): Promise<MembersOutcome> {
  const prepare: Prepare = async (batchTx, ids) => {
    const { tx, draft } = batchTx
    if (order.event === 'readd') await keepInBatch(tx, draft.batch.id, ids, order.actor, draft.now)
    return withAllSteps(batchTx, ids)
  }
  return eachMember(engine, order, prepare, ({ draft }, member) =>
    readmitMember(draft, member, order.event, order.reason),
  )
}

export function retryMembers(
  engine: Engine,
  order: MembersOrder & { fromStepName?: string },
): Promise<MembersOutcome> {
  return eachMember(engine, order, withAllSteps, ({ draft }, member) => {
    if (order.fromStepName === undefined) return retryMember(draft, member, order.reason)
    const from = stepNamed(draft, member, order.fromStepName)
    return typeof from === 'string' ? from : retryMember(draft, member, order.reason, from.id)
  })
}

export function redoMembers(
  engine: Engine,
  order: MembersOrder & { fromStepName: string },
): Promise<MembersOutcome> {
  return eachMember(engine, order, withAllSteps, ({ draft }, member) => {
    const from = stepNamed(draft, member, order.fromStepName)
    return typeof from === 'string' ? from : redoMember(draft, member, from.id, order.reason)
  })
}

export interface RollbackOrder extends MembersOrder {
  readonly fromStepName?: string
  readonly fromPhaseName?: string
  /** Told what is rolled back for each member, before it begins. */
  readonly onPlan?: (memberId: number, plan: RollbackSummary) => void
}

/** A plan in words. */
export interface RollbackSummary {
  readonly rollbacks: readonly {
    readonly rollback: string
    /** `phase/step`, last first. */
    readonly rollsBack: readonly string[]
    readonly runs: readonly string[]
  }[]
  readonly kept: readonly string[]
}

/** Rolls back what members have passed, from a step or phase on. */
export function rollBackMembers(engine: Engine, order: RollbackOrder): Promise<MembersOutcome> {
  return eachMember(engine, order, withAllSteps, ({ draft }, member) => {
    const from = rollbackStart(draft, member, order)
    if (typeof from === 'string') return from
    order.onPlan?.(member.id, summaryOf(draft, planRollback(draft, member, from)))
    return rollBackMember(draft, member, order.reason, from)
  })
}

function rollbackStart(
  draft: Draft,
  member: Member,
  { fromStepName, fromPhaseName }: RollbackOrder,
): Step | undefined | string {
  if (fromStepName !== undefined) return stepNamed(draft, member, fromStepName)
  if (fromPhaseName === undefined) return undefined
  const first = stepsInOrder(draft, member).find((step) =>
    sameName(draft.phaseOf(step)!.name, fromPhaseName),
  )
  return first ?? `member ${member.id} has no step in a phase named ${fromPhaseName}`
}

function summaryOf(draft: Draft, { rollbacks, kept }: RollbackPlan): RollbackSummary {
  const place = (step: Step) => `${draft.phaseOf(step)!.name}/${step.definition.stepName}`
  return {
    rollbacks: rollbacks.map(({ origin: { definition }, steps }) => ({
      rollback: definition.onFailure!,
      rollsBack: steps.map(place).reverse(),
      runs: draft.runbooks
        .get(definition.runbookVersion)!
        .rollbacks.get(definition.onFailure!.toLowerCase())!
        .map(({ name }) => name),
    })),
    kept: kept.map(place),
  }
}

export interface PassOrder extends MembersOrder {
  readonly as: 'skipped' | 'done'
  /** The step that failed, when there is no name. */
  readonly stepName?: string
  readonly outputs?: Readonly<Record<string, Json>>
}

/** Skips a step of each member, or marks it done. */
export function passMembers(engine: Engine, order: PassOrder): Promise<MembersOutcome> {
  return eachMember(engine, order, withAllSteps, ({ draft }, member) => {
    const step = stepToPass(draft, member, order.stepName)
    if (typeof step === 'string') return step
    requireSettable(draft, order.outputs, step)
    return order.as === 'skipped'
      ? skipStep(draft, step, order.reason)
      : markDone(draft, step, order.reason, order.outputs)
  })
}

/** Without a name only what failed: nobody loses a step that is still to come by mistake. */
function stepToPass(draft: Draft, member: Member, name: string | undefined): Step | string {
  if (name !== undefined) return stepNamed(draft, member, name)
  if (member.status !== 'failed')
    return `member ${member.id} is ${member.status}, not failed: name the step`
  return firstNotPassed(draft, member.id) ?? `member ${member.id} has no step left to pass`
}

/** The member's step of that name, `phase/step` where several phases have one. */
function stepNamed(draft: Draft, member: Member, name: string): Step | string {
  const wanted = name.toLowerCase()
  const found = effectiveSteps(draft, member.id).filter((step) => {
    const plain = step.definition.stepName.toLowerCase()
    return plain === wanted || `${draft.phaseOf(step)!.name.toLowerCase()}/${plain}` === wanted
  })
  if (found.length === 1) return found[0]!
  if (found.length === 0) return `member ${member.id} has no step named ${name}`
  const places = found.map((step) => `${draft.phaseOf(step)!.name}/${step.definition.stepName}`)
  return `member ${member.id} has several steps named ${name}: name one of ${places.join(', ')}`
}

export function setMemberVariable(
  engine: Engine,
  order: MembersOrder & { name: string; value: Json },
): Promise<MembersOutcome> {
  return eachMember(
    engine,
    order,
    async (batchTx, ids) => {
      requireSettable(batchTx.draft, { [order.name]: order.value })
      await loadMembersWithSteps(batchTx, ids)
      return []
    },
    ({ draft }, member) => {
      setVariable(draft, member, order.name, order.value, order.reason)
      return null
    },
  )
}

/** Throws VARIABLE_RESERVED. A step's own outputs may replace the key's column: validation has warned about it. */
function requireSettable(
  draft: Draft,
  variables: Readonly<Record<string, Json>> = {},
  step?: Step,
): void {
  const { primaryKey } = draft.runbooks.get(draft.batch.runbookVersion)!.dataSource
  const own = (step && runbookStepOf(draft, step)?.outputParams) ?? {}
  for (const name of Object.keys(variables)) {
    const reason = whyReserved(name, primaryKey)
    const isOwnOutput = Object.hasOwn(own, name)
    if (reason !== null && !isOwnOutput) {
      throw new MatoolkitError('VARIABLE_RESERVED', { name, reason })
    }
  }
}

export interface StepOrder {
  readonly stepId: number
  readonly actor: string
  readonly reason: string
}

async function onStep(
  engine: Engine,
  order: StepOrder,
  decide: (batchTx: BatchTransaction, step: Step) => Refusal | Promise<Refusal>,
): Promise<void> {
  const [owner] = await loadOwners(engine.db, [order.stepId])
  if (!owner) throw new MatoolkitError('STEP_NOT_FOUND', { stepId: order.stepId })
  const { batchId, memberId } = owner
  if (memberId === null)
    requireAccepted(`step ${order.stepId} belongs to the batch, not to a member`)
  await changeBatch(engine, batchId, order.actor, async (batchTx) => {
    // A rollback or cleanup step brings nobody back: a removed member must get no steps (seed 166).
    if (!(await isPhaseStep(batchTx.tx, order.stepId))) {
      await loadMembersWithSteps(batchTx, [memberId!], { all: true })
    } else {
      // Passing a step by hand reactivates a failed member, who may be active elsewhere by now.
      const [refused] = await withAllSteps(batchTx, [memberId!])
      requireAccepted(refused?.reason ?? null)
    }
    requireAccepted(await decide(batchTx, batchTx.draft.steps.get(order.stepId)!))
  })
}

/** Retries one step: a failed rollback or cleanup step alone, a failed phase step with its member. */
export const retryStep = (engine: Engine, order: StepOrder): Promise<void> =>
  onStep(engine, order, async ({ tx, draft }, step) => {
    if (step.kind !== 'phase') {
      // It would take away what the person's steps in the other batch rest on.
      const [refused] = await activeElsewhere(tx, draft, [step.memberId!])
      return refused?.reason ?? retryCompensation(draft, step, order.reason)
    }
    if (!isFailed(step.status))
      return `step ${step.definition.stepName} of member ${step.memberId} is ${step.status}, not failed`
    return retryMember(draft, draft.member(step.memberId!), order.reason, step.id)
  })

export const skip = (engine: Engine, order: StepOrder): Promise<void> =>
  onStep(engine, order, ({ draft }, step) => skipStep(draft, step, order.reason))

export const markStepDone = (
  engine: Engine,
  order: StepOrder & { outputs?: Readonly<Record<string, Json>> },
): Promise<void> =>
  onStep(engine, order, ({ draft }, step) => {
    requireSettable(draft, order.outputs, step)
    return markDone(draft, step, order.reason, order.outputs)
  })

export const acceptLate = (engine: Engine, order: StepOrder): Promise<void> =>
  onStep(engine, order, ({ draft }, step) => acceptLateResult(draft, step, order.reason))
