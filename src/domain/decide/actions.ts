// The ways out of a dead end: for a member in its state, what an operator may do, each with the exact command. An action is possible
// exactly when the decision behind it does not refuse, so a shown command works at that moment.
import type { Member, Step } from '../facts.ts'
import { type Hold, nameOfHeld } from '../holds.ts'
import { isFailed, isPassed } from '../transitions.ts'
import type { Draft } from './draft.ts'
import { holdsOnAll } from './held.ts'
import { type Refusal, refuseMoveOut, refuseReadmission } from './membership.ts'
import { effectiveSteps, firstNotPassed } from './next.ts'
import {
  firstRolledBack,
  refuseLateResult,
  refusePass,
  refuseRetry,
  rolledBackNames,
} from './repair.ts'
import { refuseCompensation } from './repair-compensation.ts'
import { planRollback, refuseRollback } from './rollback-by-hand.ts'

export const ACTION_NAMES = [
  'resume',
  'retry',
  'retry_step',
  'skip',
  'mark_done',
  'accept_late',
  'readd',
  'move',
  'roll_back',
  'remove',
] as const
export type ActionName = (typeof ACTION_NAMES)[number]

/** What an operator may do about a member. */
export interface Action {
  readonly action: ActionName
  /** What it does, as a verb phrase. */
  readonly about: string
  /** The command, without the program's name. */
  readonly command: string
}

/** An action, and why it would be refused now; null when it is possible. */
export interface Candidate extends Action {
  readonly refusal: Refusal
}

/** What the member's own batch does not tell. */
export interface ActionFacts {
  /** An unfinished batch of the runbook in which the same key is active. */
  readonly activeInBatchId: number | null
  /** The batch a member would move to: the next unfinished one of the runbook. */
  readonly nextBatchId: number | null
}

/** Everything that could help a member in this state, the refused included; most useful first. */
export function candidatesFor(draft: Draft, member: Member, facts: ActionFacts): Candidate[] {
  const elsewhere =
    facts.activeInBatchId === null
      ? null
      : `member ${member.id} is active in batch ${facts.activeInBatchId}`
  const repairs = [
    ...compensationCandidates(draft, member),
    ...retryCandidates(draft, member),
    ...lateCandidates(draft, member),
    ...readdCandidates(draft, member),
    ...rollbackCandidates(draft, member),
  ]
  return [
    ...resumeCandidates(draft, member),
    ...repairs.map((one) => ({ ...one, refusal: one.refusal ?? elsewhere })),
    ...leaveCandidates(draft, member, facts),
  ]
}

/** The holds that stop the member's steps, the widest first. */
function resumeCandidates({ batch, holds, stepsOfMember }: Draft, member: Member): Candidate[] {
  const unfinished = (stepsOfMember.get(member.id) ?? []).filter(({ status }) => !isPassed(status))
  const workerIds = new Set(unfinished.map(({ definition }) => definition.workerId))
  const own = holds.members.get(member.id)
  const inForce = [
    ...holdsOnAll(batch, holds),
    ...[...workerIds].flatMap((id) => holds.workers.get(id) ?? []),
    ...(own ? [own] : []),
  ]
  return inForce.map((hold) => ({
    action: 'resume',
    about: `resume ${nameOfHeld(hold)}: while it is held, nothing else takes effect`,
    command: resumeOf(hold, member),
    refusal: null,
  }))
}

function resumeOf(hold: Hold, member: Member): string {
  if (hold.scope === 'batch') return `batch resume ${hold.target}`
  if (hold.scope === 'member') return `resume --member ${hold.batchId} ${referenceOf(member)}`
  return hold.scope === 'system' ? 'resume --all' : `resume --${hold.scope} ${hold.target}`
}

function compensationCandidates(draft: Draft, member: Member): Candidate[] {
  const steps = draft.stepsOfMember.get(member.id) ?? []
  const failed = steps.filter(
    ({ kind, status }) => (kind === 'rollback' || kind === 'removal') && isFailed(status),
  )
  return failed.flatMap((step) => {
    const refusal = refuseCompensation(draft, step)
    // A step of an earlier rollback or removal is history: nothing could help it.
    const isHistory = refusal !== null && !isCurrent(draft, member, step)
    return isHistory ? [] : compensationStep(step, refusal)
  })
}

const isCurrent = (draft: Draft, member: Member, step: Step): boolean =>
  step.kind === 'removal'
    ? step.removalNumber === member.removalNumber && member.status === 'removed'
    : draft.steps.get(step.originStepId!)?.attempt === step.originAttempt &&
      member.status === 'failed'

function compensationStep({ id, kind, definition }: Step, refusal: Refusal): Candidate[] {
  const name = `${kind} step ${definition.stepName}`
  return [
    {
      action: 'retry_step',
      about: `run the failed ${name} again`,
      command: `batch retry-step ${id}`,
      refusal,
    },
    { action: 'skip', about: `skip the ${name}`, command: `batch skip ${id}`, refusal },
    {
      action: 'mark_done',
      about: `mark the ${name} as done by hand`,
      command: `batch mark-done ${id}`,
      refusal,
    },
  ]
}

function retryCandidates(draft: Draft, member: Member): Candidate[] {
  if (member.status !== 'failed') return []
  const step = firstNotPassed(draft, member.id)
  const isRolledBack = rolledBackNames(draft, member).size > 0
  const from = isRolledBack ? firstRolledBack(draft, member) : null
  const start = from === null ? '' : ` --from-step ${placeOf(draft, member, from)}`
  const retry: Candidate = {
    action: 'retry',
    about: from
      ? `retry from step ${from.definition.stepName}: the rollback has undone it`
      : `retry${step ? ` from step ${step.definition.stepName}` : ''}`,
    command: `batch retry ${draft.batch.id} --member ${referenceOf(member)}${start}`,
    refusal: refuseRetry(draft, member, from?.id),
  }
  return step ? [retry, ...passCandidates(draft, step, isRolledBack)] : [retry]
}

function passCandidates(draft: Draft, step: Step, isRolledBack: boolean): Candidate[] {
  const { stepName } = step.definition
  const undone = isRolledBack ? '; what the rollback undid stays undone' : ''
  const refusal = refusePass(draft, step)
  return [
    {
      action: 'skip',
      about: `continue without step ${stepName}${undone}`,
      command: `batch skip ${step.id}`,
      refusal,
    },
    {
      action: 'mark_done',
      about: `mark step ${stepName} as done by hand${undone}`,
      command: `batch mark-done ${step.id}`,
      refusal,
    },
  ]
}

const lateCandidates = (draft: Draft, member: Member): Candidate[] =>
  effectiveSteps(draft, member.id)
    .filter(({ lateResult }) => lateResult !== undefined)
    .map((step) => ({
      action: 'accept_late',
      about: `accept the late success of step ${step.definition.stepName}`,
      command: `batch accept-late ${step.id}`,
      refusal: refuseLateResult(draft, step),
    }))

function readdCandidates(draft: Draft, member: Member): Candidate[] {
  if (member.status !== 'removed') return []
  return [
    {
      action: 'readd',
      about: 'add the member again',
      command: `batch readd-member ${draft.batch.id} ${referenceOf(member)}`,
      refusal: refuseReadmission(draft, member, 'readd'),
    },
  ]
}

function rollbackCandidates(draft: Draft, member: Member): Candidate[] {
  if (member.status === 'removed' || planRollback(draft, member).rollbacks.length === 0) return []
  return [
    {
      action: 'roll_back',
      about: 'roll back what the member has passed',
      command: `batch rollback ${draft.batch.id} ${referenceOf(member)}`,
      refusal: refuseRollback(draft, member),
    },
  ]
}

function leaveCandidates(draft: Draft, member: Member, facts: ActionFacts): Candidate[] {
  if (member.status === 'removed') return []
  const { id } = draft.batch
  const who = referenceOf(member)
  const remove: Candidate = {
    action: 'remove',
    about: 'remove the member and run its removal steps',
    command: `batch remove-member ${id} ${who}`,
    refusal: null,
  }
  if (member.status !== 'active' || facts.nextBatchId === null) return [remove]
  const move: Candidate = {
    action: 'move',
    about: `move the member to batch ${facts.nextBatchId}`,
    command: `batch move-member ${id} ${who} --to ${facts.nextBatchId}`,
    refusal: refuseMoveOut(draft, member),
  }
  return [move, remove]
}

/** The key where a shell and a comma-separated list leave it as it is, else the id. */
const referenceOf = ({ id, key }: Pick<Member, 'id' | 'key'>): string =>
  /^[a-z][\w.+@-]*$/i.test(key) ? key : `id:${id}`

/** Names are unique in a phase only: with its phase where the member has another step of that name. */
function placeOf(draft: Draft, member: Member, step: Step): string {
  const name = step.definition.stepName
  const same = effectiveSteps(draft, member.id).filter(
    ({ definition }) => definition.stepName.toLowerCase() === name.toLowerCase(),
  )
  return same.length > 1 ? `${draft.phaseOf(step)!.name}/${name}` : name
}
