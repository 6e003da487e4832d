// A person rolls back what a member has passed: each step's own rollback, the last step's first. Only steps that may have had an effect,
// and a rollback that several steps share runs once, where the first of them is due. The member ends as failed, with a retry open.
import { type Member, mayHaveRun, type Step } from '../state/facts.ts'
import { isFailed, STATUSES_TO_ROLL_BACK } from '../state/transitions.ts'
import { cancelOpenSteps } from './cancel.ts'
import { beginRollback } from './compensation.ts'
import type { Draft } from './draft.ts'
import type { Refusal } from './membership.ts'
import { queueNextOfMember } from './next.ts'
import { refuseRepair, rolledBackNames, stepsInOrder } from './repair.ts'

export interface RollbackPlan {
  /** In the order in which the rollbacks run. */
  readonly rollbacks: readonly {
    /** The first step that it rolls back; its rows belong to it. */
    readonly origin: Step
    /** The origin and those that share its rollback. */
    readonly steps: readonly Step[]
  }[]
  /** Their effect stays: they have no rollback. */
  readonly kept: readonly Step[]
}

/** From this step on; all steps without one. */
export function planRollback(draft: Draft, member: Member, from?: Step): RollbackPlan {
  const ordered = stepsInOrder(draft, member)
  const isRolledBack = rolledBackNames(draft, member)
  const groups = new Map<string, Step[]>()
  const kept: Step[] = []
  for (const step of ordered.slice(from ? ordered.indexOf(from) : 0)) {
    // A pending step waits for its retry, or to be done again: what an earlier attempt did is still there.
    const isDone = STATUSES_TO_ROLL_BACK.includes(step.status)
    if (!isDone || !mayHaveRun(step)) continue
    const name = step.definition.onFailure?.toLowerCase() ?? null
    if (name === null || !hasSequence(draft, step, name)) kept.push(step)
    else if (!isRolledBack.has(name)) groups.set(name, [...(groups.get(name) ?? []), step])
  }
  const rollbacks = [...groups.values()].map((steps) => ({ origin: steps[0]!, steps }))
  return { rollbacks: rollbacks.reverse(), kept }
}

const hasSequence = (draft: Draft, { definition }: Step, name: string): boolean =>
  (draft.runbooks.get(definition.runbookVersion)?.rollbacks.get(name)?.length ?? 0) > 0

export function refuseRollback(draft: Draft, member: Member, from?: Step): Refusal {
  if (draft.batch.status === 'cancelled')
    return `batch ${draft.batch.id} is cancelled; remove member ${member.id} instead, so that its removal steps run`
  const no = refuseRepair(draft, member)
  if (no) return no
  const { rollbacks, kept } = planRollback(draft, member, from)
  if (rollbacks.length > 0) return null
  const names = kept.map(({ definition }) => definition.stepName).join(', ')
  return `member ${member.id} has nothing to roll back${names ? `: ${names} without a rollback` : ''}`
}

export function rollBackMember(draft: Draft, member: Member, why: string, from?: Step): Refusal {
  const no = refuseRollback(draft, member, from)
  if (no) return no
  const { rollbacks } = planRollback(draft, member, from)
  const because = `rolled back by ${draft.actor}: ${why}`
  // The event names the person; the error is shown to customers.
  const error = `rolled back by hand: ${why}`
  acknowledge(
    draft,
    member,
    rollbacks.flatMap(({ steps }) => steps),
  )
  for (const { steps } of rollbacks)
    for (const step of steps) failForRollback(draft, step, because, error)
  if (member.status === 'active')
    draft.transitionMember(member, 'fail', because, { failedAt: draft.now })
  cancelOpenSteps(draft, member.id, because)
  for (const { origin } of rollbacks) beginRollback(draft, origin)
  queueNextOfMember(draft, member)
  return null
}

/** Failed until its rollback has ended well. */
function failForRollback(draft: Draft, step: Step, because: string, error: string): void {
  const wasRolledBack = draft
    .siblings(step.memberId, 'rollback')
    .some((row) => row.originStepId === step.id && row.originAttempt === step.attempt)
  draft.setWait(step, null)
  draft.transitionStep(step, 'begin_rollback', because, {
    completedAt: draft.now,
    retryAfter: null,
    error,
    // Marked done after a rollback of the same attempt: rows are unique by attempt.
    ...(wasRolledBack && { attempt: step.attempt + 1 }),
  })
}

/** A person's rollback is no failure that the fuse should hold the batch for. */
function acknowledge(draft: Draft, member: Member, steps: readonly Step[]): void {
  for (const phaseId of new Set(steps.map((step) => step.phaseId!))) {
    const hasFailed = draft
      .siblings(member.id, 'phase')
      .some((step) => step.phaseId === phaseId && isFailed(step.status))
    const phase = draft.phase(phaseId)
    if (!hasFailed) draft.changePhase(phase, { fuseAcknowledged: phase.fuseAcknowledged + 1 })
  }
}
