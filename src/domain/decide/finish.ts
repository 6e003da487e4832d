// The end of every decision: the counters follow the rows, phases and the batch open and close by the counters, the fuse looks.
// All of it is derived from what was loaded and what is there now, so that no single decision can forget to count.
import { type Member, openSteps, type Phase, type Step } from '../facts.ts'
import {
  isFailed,
  isOpen,
  isPassed,
  isPhaseEnded,
  type MemberStatus,
  type StepStatus,
} from '../transitions.ts'
import type { Draft } from './draft.ts'
import { isEffective, isEmptied } from './next.ts'

/** The fuse never blows for fewer failures than this, however small the phase. */
const FUSE_MIN_FAILED = 10

/** Brings the counters up to date with the rows. May be called again after more decisions. */
export function updateCounters(draft: Draft): void {
  for (const member of draft.changedMembers) {
    if (draft.memberStatusCounted(member) === member.status) continue
    const phaseIds = draft.siblings(member.id, 'phase').map((step) => step.phaseId!)
    for (const phaseId of new Set(phaseIds)) countInPhase(draft, member, phaseId)
    countMember(draft, member)
  }
  for (const step of draft.changedSteps) {
    if (draft.statusCounted(step) === step.status) continue
    if (step.kind === 'phase') countInPhase(draft, draft.member(step.memberId!), step.phaseId!)
    else countStep(draft, step)
  }
}

function countStep(draft: Draft, step: Step): void {
  const before = draft.statusCounted(step)
  if (before === step.status) return
  draft.noteStepCounted(step)
  const phase = draft.phaseOf(step)
  if (phase) {
    if (before) phase.steps[before]--
    phase.steps[step.status]++
    draft.changedPhases.add(phase)
    return
  }
  const change = Number(isOpen(step.status)) - Number(before !== null && isOpen(before))
  if (change === 0) return
  const { batch } = draft
  if (step.kind === 'init') draft.changeBatch({ initOpen: batch.initOpen + change })
  if (step.kind === 'rollback') draft.changeBatch({ rollbackOpen: batch.rollbackOpen + change })
  if (step.kind === 'removal') draft.changeBatch({ removalOpen: batch.removalOpen + change })
}

function countMember(draft: Draft, member: Member): void {
  const before = draft.memberStatusCounted(member)
  draft.noteMemberCounted(member)
  const { batch } = draft
  const by = (status: MemberStatus) => Number(member.status === status) - Number(before === status)
  draft.changeBatch({
    membersActive: batch.membersActive + by('active'),
    membersFailed: batch.membersFailed + by('failed'),
    membersRemoved: batch.membersRemoved + by('removed'),
  })
}

type Outcome = 'passed' | 'failed' | 'stopped' | 'removed' | 'open'

/**
 * How a member stands in a phase, from its steps there that are not passed. Passed ones need not be among the facts. Those without
 * a status are left out; without any there is no outcome.
 */
export function outcomeOf<T>(
  steps: readonly T[],
  statusOf: (step: T) => StepStatus | null,
  member: MemberStatus,
): Outcome | null {
  let outcome: Outcome | null = null
  for (const step of steps) {
    const status = statusOf(step)
    if (status === null) continue
    if (isFailed(status)) return 'failed'
    if (isOpen(status)) outcome = 'open'
    else if (isPassed(status)) outcome ??= 'passed'
    else if (outcome !== 'open') outcome = member === 'removed' ? 'removed' : 'stopped'
  }
  return outcome
}

/** How the member stands in one phase, and each of its steps there. */
function countInPhase(draft: Draft, member: Member, phaseId: number): void {
  const steps = draft.stepsOfMember.get(member.id)!
  const before = outcomeOf(
    steps,
    (step) => (step.phaseId === phaseId ? draft.statusCounted(step) : null),
    draft.memberStatusCounted(member),
  )
  const now = outcomeOf(
    steps,
    (step) => (step.phaseId === phaseId ? step.status : null),
    member.status,
  )
  for (const step of steps) if (step.phaseId === phaseId) countStep(draft, step)
  if (before === now || now === null) return
  const phase = draft.phase(phaseId)
  if (before === null) phase.members.total++
  else if (before !== 'open') phase.members[before]--
  if (now !== 'open') phase.members[now]++
  // Whoever failed, was seen and then repaired must not hide the next one who fails.
  phase.fuseAcknowledged = Math.min(phase.fuseAcknowledged, phase.members.failed)
  draft.changedPhases.add(phase)
}

/** Opens phases that gained an open step, closes those that have none left, and the batch with them. Call after `count`. */
export function closeFinished(draft: Draft): void {
  for (const phase of draft.phases) {
    if (openSteps(phase) > 0)
      reopenPhase(draft, phase, `it has ${openSteps(phase)} open steps again`)
    else if ((phase.status === 'failed' || isEmptied(phase)) && phase.members.passed > 0) {
      // Nothing opened, but the phase did not fail any more (an operator passed a member's last step by hand), or it was not empty
      // after all (a member came from another batch with all its steps passed).
      reopenPhase(draft, phase, 'a member passed it after all')
    }
    if (openSteps(phase) === 0 && phase.status === 'dispatched' && phase.expandedAt !== null)
      closePhase(draft, phase)
  }
  closeBatch(draft)
}

function reopenPhase(draft: Draft, phase: Phase, why: string): void {
  if (phase.status !== 'completed' && phase.status !== 'failed' && !isEmptied(phase)) return
  draft.transitionPhase(phase, 'reopen', why, {
    completedAt: null,
    skippedBecause: null,
    dispatchedAt: phase.dispatchedAt ?? draft.now,
    expandedAt: phase.expandedAt ?? draft.now,
  })
}

function closePhase(draft: Draft, phase: Phase): void {
  const { members } = phase
  const say = `${members.passed} of ${members.total} members passed, ${members.failed} failed here`
  const completedAt = draft.now
  if (members.passed > 0) draft.transitionPhase(phase, 'complete', say, { completedAt })
  else if (members.failed > 0) draft.transitionPhase(phase, 'fail', say, { completedAt })
  else
    draft.transitionPhase(phase, 'empty', 'nobody is left to do it', {
      completedAt,
      skippedBecause: 'empty',
    })
}

function closeBatch(draft: Draft): void {
  const { batch, phases } = draft
  if (batch.status === 'init_dispatched' && batch.initOpen === 0) {
    draft.transitionBatch('activate', 'every init step is passed', { activatedAt: draft.now })
  }
  const isOver =
    phases.every(({ status }) => isPhaseEnded(status)) &&
    batch.initOpen + batch.rollbackOpen + batch.removalOpen === 0
  const has = (status: Phase['status']) =>
    phases.some((phase) => phase.status === status && isEffective(draft, phase))
  const isFailedBatch = has('failed') && !has('completed')
  const isWrong = !isOver || (batch.status === 'failed' && !isFailedBatch)
  const mayReopen =
    batch.status === 'completed' || (batch.status === 'failed' && !batch.failedInInit)
  if (mayReopen && isWrong) {
    const why = isOver ? 'a phase did not fail after all' : 'it has open work again'
    // What a version means for batches under way was decided while this one was over: it takes the version and none of that.
    draft.transitionBatch('reopen', why, { endedAt: null, runbookVersion: batch.activeVersion })
  }
  if (batch.status === 'active' && isOver) {
    const say = `every phase has ended: ${batch.membersActive} members through, ${batch.membersFailed} failed, ${batch.membersRemoved} removed`
    draft.transitionBatch(isFailedBatch ? 'fail' : 'complete', say, { endedAt: draft.now })
  }
}

/** Too many failures in one phase: the batch is held before they become everybody's. */
export function checkFuse(draft: Draft): void {
  if (draft.batch.heldAt !== null || draft.batch.status !== 'active') return
  const limit = draft.runbooks.get(draft.batch.runbookVersion)?.safeguards.maxFailedPercent ?? 100
  // All phases, not the changed ones alone: steps whose words do not resolve fail while sending, after the fuse has looked.
  for (const phase of draft.phases) {
    const failed = phase.members.failed - phase.fuseAcknowledged
    if (failed <= FUSE_MIN_FAILED || failed * 100 <= limit * phase.members.total) continue
    const reason = `${phase.members.failed} of ${phase.members.total} members failed in phase ${phase.name}: more than ${limit} %`
    setHold(draft, 'fuse', reason)
    return
  }
}

/** Nothing new is sent from here on. The jobs that no worker has taken are called back by the engine. */
export function setHold(draft: Draft, by: string, reason: string): void {
  draft.changeBatch({ heldAt: draft.now, heldBy: by, heldReason: reason })
  draft.note('held', reason)
  draft.wantsWithdrawal = true
}
