// The end of every decision: the counters follow the rows, phases and the batch open and close by the counters, the fuse looks.
// All of it is derived from what was loaded and what is there now, so that no single decision can forget to count.
import type { Member, Phase, Step } from '../facts.ts'
import {
  isFailed,
  isOpen,
  isPassed,
  isPhaseEnded,
  type MemberStatus,
  type StepStatus,
} from '../moves.ts'
import type { Draft } from './draft.ts'
import { isEffective, isEmptied } from './next.ts'

/** The fuse never blows for fewer failures than this, however small the phase. */
const FUSE_MIN_FAILED = 10

/** Brings the counters up to date with the rows. May be called again after more decisions. */
export function count(draft: Draft): void {
  const touched = new Set<Member>(draft.changedMembers)
  for (const step of draft.changedSteps) {
    if (step.kind === 'phase') touched.add(draft.member(step.memberId!))
  }
  for (const member of touched) countOutcomes(draft, member)
  for (const step of draft.changedSteps) countStep(draft, step)
  for (const member of touched) countMember(draft, member)
}

function countStep(draft: Draft, step: Step): void {
  const before = draft.statusCounted.get(step.id) ?? null
  if (before === step.status) return
  draft.statusCounted.set(step.id, step.status)
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
  const before = draft.memberStatusCounted.get(member.id)
  if (!before || before === member.status) return
  draft.memberStatusCounted.set(member.id, member.status)
  const { batch } = draft
  const by = (status: MemberStatus) => Number(member.status === status) - Number(before === status)
  draft.changeBatch({
    membersActive: batch.membersActive + by('active'),
    membersFailed: batch.membersFailed + by('failed'),
    membersRemoved: batch.membersRemoved + by('removed'),
  })
}

type Outcome = 'passed' | 'failed' | 'stopped' | 'removed' | 'open'

/** How a member stands in a phase, from its steps there that are not passed. Passed ones need not be among the facts. */
export function outcomeOf(statuses: readonly StepStatus[], member: MemberStatus): Outcome {
  if (statuses.every(isPassed)) return 'passed'
  if (statuses.some(isFailed)) return 'failed'
  if (statuses.some(isOpen)) return 'open'
  return member === 'removed' ? 'removed' : 'stopped'
}

function countOutcomes(draft: Draft, member: Member): void {
  const byPhase = Map.groupBy(draft.siblings(member.id, 'phase'), (step) => step.phaseId!)
  const memberBefore = draft.memberStatusCounted.get(member.id)!
  for (const [phaseId, steps] of byPhase) {
    const known = steps
      .map((step) => draft.statusCounted.get(step.id) ?? null)
      .filter((status) => status !== null)
    const before = known.length > 0 ? outcomeOf(known, memberBefore) : null
    const now = outcomeOf(
      steps.map((step) => step.status),
      member.status,
    )
    if (before === now) continue
    const phase = draft.phase(phaseId)
    if (before === null) phase.members.total++
    else if (before !== 'open') phase.members[before]--
    if (now !== 'open') phase.members[now]++
    // Whoever failed, was seen and then repaired must not hide the next one who fails.
    phase.fuseAcknowledged = Math.min(phase.fuseAcknowledged, phase.members.failed)
    draft.changedPhases.add(phase)
  }
}

const openSteps = ({ steps }: Phase): number => steps.pending + steps.dispatched + steps.polling

/** Opens phases that gained an open step, closes those that have none left, and the batch with them. Call after `count`. */
export function close(draft: Draft): void {
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
  draft.movePhase(phase, 'reopen', why, {
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
  if (members.passed > 0) draft.movePhase(phase, 'complete', say, { completedAt })
  else if (members.failed > 0) draft.movePhase(phase, 'fail', say, { completedAt })
  else
    draft.movePhase(phase, 'empty', 'nobody is left to do it', {
      completedAt,
      skippedBecause: 'empty',
    })
}

function closeBatch(draft: Draft): void {
  const { batch, phases } = draft
  if (batch.status === 'init_dispatched' && batch.initOpen === 0) {
    draft.moveBatch('activate', 'every init step is passed', { activatedAt: draft.now })
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
    draft.moveBatch('reopen', why, { endedAt: null, runbookVersion: batch.activeVersion })
  }
  if (batch.status === 'active' && isOver) {
    const say = `every phase has ended: ${batch.membersActive} members through, ${batch.membersFailed} failed, ${batch.membersRemoved} removed`
    draft.moveBatch(isFailedBatch ? 'fail' : 'complete', say, { endedAt: draft.now })
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
    holdBatch(draft, 'fuse', reason)
    return
  }
}

/** Nothing new is sent from here on. The jobs that no worker has taken are called back by the engine. */
export function holdBatch(draft: Draft, by: string, reason: string): void {
  draft.changeBatch({ heldAt: draft.now, heldBy: by, heldReason: reason })
  draft.note('held', reason)
  draft.wantsWithdrawal = true
}
