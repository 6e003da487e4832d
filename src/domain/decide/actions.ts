// The ways out of a dead end: for a member in its state, what an operator may do, each with the exact command. An action is possible
// exactly when the decision behind it does not refuse, so a shown command works at that moment.
import { sameName } from '../../base/text/same-name.ts'
import { isCompensation, type Member, type Step } from '../state/facts.ts'
import { type Hold, nameOfHeld } from '../state/holds.ts'
import { isFailed, isPassed } from '../state/transitions.ts'
import type { Draft } from './draft.ts'
import { holdsOnAll } from './held.ts'
import { refuseRestart } from './lifecycle.ts'
import { type Refusal, refuseMoveOut, refuseReadmission } from './membership.ts'
import { effectiveSteps, firstNotPassed } from './next.ts'
import { refuseLateResult, refusePass, refuseRetry, retryStart, rolledBackNames } from './repair.ts'
import { refuseCompensation } from './repair-compensation.ts'
import { planRollback, refuseRollback } from './rollback-by-hand.ts'

export const ACTION_NAMES = [
  'resume',
  'advance',
  'inspect',
  'restart',
  'retry',
  'retry_step',
  'skip',
  'mark_done',
  'accept_late',
  'readd',
  'move',
  'roll_back',
  'undo',
  'remove',
] as const
export type ActionName = (typeof ACTION_NAMES)[number]

/** What an operator may do about a member or a batch. */
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
  /** The same as one command for several people, selected by flags; null when each needs an own one. */
  readonly forPeople: ((flags: string) => string) | null
}

/** The action without how it was found. */
export const shownAction = ({ action, about, command }: Candidate): Action => ({
  action,
  about,
  command,
})

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
  return inForce.map(resumeCandidate)
}

export const resumeAction = (hold: Hold): Action => ({
  action: 'resume',
  about: `resume ${nameOfHeld(hold)}: while it is held, nothing else takes effect`,
  command: resumeOf(hold),
})

function resumeCandidate(hold: Hold): Candidate {
  const action = resumeAction(hold)
  const forPeople = hold.scope === 'member' ? null : () => action.command
  return { ...action, refusal: null, forPeople }
}

function resumeOf({ scope, target, batchId, memberId, memberKey }: Hold): string {
  if (scope === 'member')
    return `resume --member ${batchId} ${referenceOf({ id: memberId!, key: memberKey! })}`
  return scope === 'system' ? 'resume --all' : `resume --${scope} ${target}`
}

/** What could help a batch whose init failed. */
export const candidatesForInit = (draft: Draft): Candidate[] => [
  ...holdsOnAll(draft.batch, draft.holds).map(resumeCandidate),
  {
    action: 'restart',
    about: 'run init again from the step that failed',
    command: `batch retry ${draft.batch.id} --init`,
    refusal: refuseRestart(draft),
    forPeople: null,
  },
]

function compensationCandidates(draft: Draft, member: Member): Candidate[] {
  const steps = draft.stepsOfMember.get(member.id) ?? []
  const failed = steps.filter((step) => isCompensation(step) && isFailed(step.status))
  return failed.flatMap((step) => {
    const refusal = refuseCompensation(draft, step)
    // A step of an earlier rollback or removal is history: nothing could help it.
    const isHistory = refusal !== null && !isCurrent(draft, member, step)
    return isHistory ? [] : compensationStep(draft, member, step, refusal)
  })
}

const isCurrent = (draft: Draft, member: Member, step: Step): boolean =>
  step.kind === 'removal'
    ? step.removalNumber === member.removalNumber && member.status === 'removed'
    : draft.steps.get(step.originStepId!)?.attempt === step.originAttempt &&
      member.status === 'failed'

function compensationStep(
  { batch }: Draft,
  member: Member,
  { id, kind, definition }: Step,
  refusal: Refusal,
): Candidate[] {
  const name = `${kind} step ${definition.stepName}`
  const common = { refusal, forPeople: null }
  const again: Candidate =
    kind === 'undo'
      ? {
          action: 'undo',
          about: `undo the member again, from step ${definition.stepName} on`,
          ...commandsOf(`batch undo ${batch.id}`, member),
          refusal,
        }
      : {
          action: 'retry_step',
          about: `run the failed ${name} again`,
          command: `batch retry ${batch.id} --step-id ${id}`,
          ...common,
        }
  return [
    again,
    { action: 'skip', about: `skip the ${name}`, command: `batch skip ${id}`, ...common },
    {
      action: 'mark_done',
      about: `mark the ${name} as done by hand`,
      command: `batch skip ${id} --done`,
      ...common,
    },
  ]
}

function retryCandidates(draft: Draft, member: Member): Candidate[] {
  if (member.status !== 'failed') return []
  const step = firstNotPassed(draft, member.id)
  const isRolledBack = rolledBackNames(draft, member).size > 0
  const from = isRolledBack ? retryStart(draft, member) : null
  const start = from === null ? '' : ` --from-step ${placeOf(draft, member, from)}`
  const forPeople = (flags: string) => `batch retry ${draft.batch.id} ${flags}${start}`
  const retry: Candidate = {
    action: 'retry',
    about: from
      ? `retry from step ${from.definition.stepName}: the rollback took back what it did`
      : `retry${step ? ` from step ${step.definition.stepName}` : ''}`,
    command: forPeople(`--member ${referenceOf(member)}`),
    refusal: refuseRetry(draft, member, from?.id),
    forPeople,
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
      forPeople: (flags) => `batch skip ${draft.batch.id} ${flags}`,
    },
    {
      action: 'mark_done',
      about: `mark step ${stepName} as done by hand${undone}`,
      command: `batch skip ${step.id} --done`,
      refusal,
      forPeople: (flags) => `batch skip ${draft.batch.id} ${flags} --done`,
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
      forPeople: null,
    }))

function readdCandidates(draft: Draft, member: Member): Candidate[] {
  if (member.status !== 'removed') return []
  return [
    {
      action: 'readd',
      about: 'add again',
      ...commandsOf(`batch readd-member ${draft.batch.id}`, member),
      refusal: refuseReadmission(draft, member, 'readd'),
    },
  ]
}

function rollbackCandidates(draft: Draft, member: Member): Candidate[] {
  if (member.status === 'removed' || planRollback(draft, member).rollbacks.length === 0) return []
  return [
    {
      action: 'roll_back',
      about: 'roll back the passed steps',
      ...commandsOf(`batch rollback ${draft.batch.id}`, member),
      refusal: refuseRollback(draft, member),
    },
  ]
}

function leaveCandidates(draft: Draft, member: Member, facts: ActionFacts): Candidate[] {
  if (member.status === 'removed') return []
  const { id } = draft.batch
  const remove: Candidate = {
    action: 'remove',
    about: 'remove from the batch; removal steps run',
    ...commandsOf(`batch remove-member ${id}`, member),
    refusal: null,
  }
  if (member.status !== 'active' || facts.nextBatchId === null) return [remove]
  const move: Candidate = {
    action: 'move',
    about: `move to batch ${facts.nextBatchId}`,
    ...commandsOf(`batch move-member ${id}`, member, ` --to ${facts.nextBatchId}`),
    refusal: refuseMoveOut(draft, member),
  }
  return [move, remove]
}

const commandsOf = (verb: string, member: Member, more = '') => ({
  command: `${verb} ${referenceOf(member)}${more}`,
  forPeople: (flags: string) => `${verb} ${flags}${more}`,
})

/** The key where a shell and a comma-separated list leave it as it is, else the id. */
export const referenceOf = ({ id, key }: Pick<Member, 'id' | 'key'>): string =>
  /^[a-z][\w.+@-]*$/i.test(key) ? key : `id:${id}`

/** Names are unique in a phase only: with its phase where the member has another step of that name. */
function placeOf(draft: Draft, member: Member, step: Step): string {
  const name = step.definition.stepName
  const same = effectiveSteps(draft, member.id).filter(({ definition }) =>
    sameName(definition.stepName, name),
  )
  return same.length > 1 ? `${draft.phaseOf(step)!.name}/${name}` : name
}
