// The end of every decision: the counters follow the rows, phases and the batch open and close by the counters, the fuse is checked.
// All of it derives from what was loaded and what is there now, so that no decision can forget to count.
import { countText } from '../../base/text/count-text.ts'
import { isShareWritten, type Member, openSteps, type Phase, type Step } from '../state/facts.ts'
import { HELD_BY_RAMP } from '../state/holds.ts'
import {
  isFailed,
  isOncePassed,
  isOpen,
  isPhaseEnded,
  type MemberStatus,
  type StepStatus,
} from '../state/transitions.ts'
import type { Draft } from './draft.ts'
import { isEffective, isEmptied, isEmptiedUnstarted } from './next.ts'
import { endShare, rampFailure, reopenShare } from './ramp.ts'

/** The fuse never blows for fewer failures than this, however small the phase. */
const FUSE_MIN_FAILED = 10

/** Updates the counters from the rows. May be called again after more decisions. */
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
  if (step.kind === 'undo') draft.changeBatch({ undoOpen: batch.undoOpen + change })
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
 * A member's outcome in a phase. Passed steps need not be loaded. Steps without a status are ignored; null when there are no others.
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
    else if (isOncePassed(status)) outcome ??= 'passed'
    else if (outcome !== 'open') outcome = member === 'removed' ? 'removed' : 'stopped'
  }
  return outcome
}

/** Counts the member's outcome in one phase, and each of its steps there. */
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
  // A failure that was acknowledged and then repaired must not hide the next one.
  if (before === 'failed')
    phase.fuseAcknowledged = Math.min(phase.fuseAcknowledged, phase.members.failed)
  draft.changedPhases.add(phase)
}

/** Reopens phases that gained an open step, closes those that have none left, then the batch. Call after `updateCounters`. */
export function closeFinished(draft: Draft): void {
  for (const phase of draft.phases) {
    if (isEmptiedUnstarted(phase)) {
      awaitMembers(draft, phase)
      continue
    }
    if (openSteps(phase) > 0)
      reopenPhase(draft, phase, `it has ${openSteps(phase)} open steps again`)
    else if ((phase.status === 'failed' || isEmptied(phase)) && phase.members.passed > 0) {
      // No step opened, but a member passed: an operator passed its last step by hand, or it moved in with all steps passed.
      reopenPhase(draft, phase, 'a member passed it after all')
    } else if (
      phase.status === 'completed' &&
      phase.members.passed === 0 &&
      phase.members.failed > 0
    )
      reopenPhase(draft, phase, 'no one has passed it any more')
    if (openSteps(phase) === 0 && phase.status === 'dispatched' && phase.expandedAt !== null)
      closePhase(draft, phase)
    if (isShareWritten(phase)) {
      if (openSteps(phase) === 0 && phase.soakEndsAt === null) endShare(draft, phase)
      else if (openSteps(phase) > 0 && phase.soakEndsAt !== null) reopenShare(draft, phase)
    }
  }
  closeBatch(draft)
}

/** Nobody passes a gate or a ramp because the phase was empty at its time: with members again, it starts in the usual way. */
function awaitMembers(draft: Draft, phase: Phase): void {
  const { status, failedInInit, membersActive } = draft.batch
  if (membersActive === 0 || status === 'cancelled' || failedInInit) return
  if (!isEffective(draft, phase)) return
  draft.transitionPhase(phase, 'await', 'it has members again', {
    completedAt: null,
    skippedBecause: null,
  })
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
  const because = `${members.passed} of ${countText(members.total, 'member')} passed, ${members.failed} failed`
  const completedAt = draft.now
  if (members.passed > 0) draft.transitionPhase(phase, 'complete', because, { completedAt })
  else if (members.failed > 0) draft.transitionPhase(phase, 'fail', because, { completedAt })
  else
    draft.transitionPhase(phase, 'empty', 'no active members are left', {
      completedAt,
      skippedBecause: 'empty',
    })
}

function closeBatch(draft: Draft): void {
  const { batch, phases } = draft
  if (batch.status === 'init_dispatched' && batch.initOpen === 0) {
    draft.transitionBatch('activate', 'every init step passed', { activatedAt: draft.now })
  }
  const isOver =
    phases.every(({ status }) => isPhaseEnded(status)) &&
    batch.initOpen + batch.rollbackOpen + batch.removalOpen + batch.undoOpen === 0
  const has = (status: Phase['status']) =>
    phases.some((phase) => phase.status === status && isEffective(draft, phase))
  const isFailedBatch = has('failed') && !has('completed')
  const isWrong = !isOver || (batch.status === 'failed' && !isFailedBatch)
  const mayReopen =
    batch.status === 'completed' || (batch.status === 'failed' && !batch.failedInInit)
  if (mayReopen && isWrong) {
    const why = isOver ? 'a phase did not fail after all' : 'it has open work again'
    // The publishers decided about batches that were unfinished then. This one takes the version without those decisions.
    draft.transitionBatch('reopen', why, { endedAt: null, runbookVersion: batch.activeVersion })
  }
  if (batch.status === 'active' && isOver) {
    const because = `every phase ended: ${countText(batch.membersActive, 'member')} completed, ${batch.membersFailed} failed, ${batch.membersRemoved} removed`
    draft.transitionBatch(isFailedBatch ? 'fail' : 'complete', because, { endedAt: draft.now })
  }
}

/** Holds the batch when too many members failed in one phase. */
export function checkFuse(draft: Draft): void {
  if (draft.batch.heldAt !== null || draft.batch.status !== 'active') return
  const limit = draft.runbooks.get(draft.batch.runbookVersion)?.safeguards.maxFailedPercent ?? 100
  // All phases, not only changed ones: steps whose templates do not resolve fail while sending, after the last check.
  for (const phase of draft.phases) {
    const ramp = isShareWritten(phase) ? rampFailure(draft, phase) : null
    if (ramp) return setHold(draft, HELD_BY_RAMP, ramp)
    const failed = phase.members.failed - phase.fuseAcknowledged
    if (failed <= FUSE_MIN_FAILED || failed * 100 <= limit * phase.members.total) continue
    const reason = `${phase.members.failed} of ${phase.members.total} members failed in phase ${phase.name}: more than ${limit} %`
    return setHold(draft, 'fuse', reason)
  }
}

/** Stops sending. The engine withdraws the jobs that no worker has taken. */
export function setHold(draft: Draft, by: string, reason: string): void {
  draft.changeBatch({ heldAt: draft.now, heldBy: by, heldReason: reason })
  draft.note('held', reason)
  draft.wantsWithdrawal = true
}
