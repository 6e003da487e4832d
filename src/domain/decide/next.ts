// The next step of a member, or of the batch itself: none while a job is unsettled; compensation first; then the first step that is
// not passed, in phase order, if its phase has started.
import { sameName } from '../../base/text/same-name.ts'
import {
  type Batch,
  isUnsettled,
  type Member,
  type Phase,
  type Step,
  type StepKind,
} from '../state/facts.ts'
import { isOpen, isPassed, isPhaseStarted } from '../state/transitions.ts'
import type { Draft } from './draft.ts'

/** Phases by time: the largest offset before the start first, then by place in the file. */
export function phaseOrder(phases: readonly Phase[]): Phase[] {
  return [...phases].sort(
    (a, b) => b.offsetMinutes - a.offsetMinutes || a.index - b.index || a.id - b.id,
  )
}

const ranks = new WeakMap<readonly Phase[], ReadonlyMap<number, number>>()

/** Each phase's place in the order. Only a name's newest non-superseded row counts. Cached by list: draft.ts replaces it on changes. */
function rankOf(phases: readonly Phase[]): ReadonlyMap<number, number> {
  const known = ranks.get(phases)
  if (known) return known
  const newest = new Map<string, Phase>()
  for (const phase of phases) {
    if (phase.status === 'superseded') continue
    const other = newest.get(phase.name.toLowerCase())
    if (!other || other.runbookVersion < phase.runbookVersion) {
      newest.set(phase.name.toLowerCase(), phase)
    }
  }
  const rank = new Map(phaseOrder([...newest.values()]).map((phase, place) => [phase.id, place]))
  ranks.set(phases, rank)
  return rank
}

const LEFT_OUT = new Set(['superseded', 'skipped', 'cancelled'])

/** Skipped because it had no members. Unlike an overdue phase it reopens when a member joins or is retried. */
export const isEmptied = (phase: Pick<Phase, 'status' | 'skippedBecause'>): boolean =>
  phase.status === 'skipped' && phase.skippedBecause === 'empty'

/** The newest of its name, and not superseded, cancelled or skipped as overdue. */
export function isEffective(draft: Draft, phase: Phase): boolean {
  const isLeftOut = LEFT_OUT.has(phase.status) && !isEmptied(phase)
  return !isLeftOut && rankOf(draft.phases).has(phase.id)
}

/** Skipped as empty before its gate was asked or its ramp began. It goes back to pending once there are members: see finish.ts. */
export const isEmptiedUnstarted = (
  phase: Pick<Phase, 'status' | 'skippedBecause' | 'dispatchedAt' | 'gate' | 'rampPercents'>,
): boolean =>
  isEmptied(phase) &&
  phase.dispatchedAt === null &&
  (phase.gate !== null || phase.rampPercents !== null)

/** Its time has come: members have steps in it, and joiners catch up on it. */
export const hasBegun = (phase: Parameters<typeof isEmptiedUnstarted>[0]): boolean =>
  isPhaseStarted(phase.status) || (isEmptied(phase) && !isEmptiedUnstarted(phase))

/** An older version's run of the phase has begun, so this one runs it again. */
export const isRerun = (draft: Draft, phase: Phase): boolean =>
  draft.phases.some(
    (other) =>
      other.runbookVersion < phase.runbookVersion &&
      hasBegun(other) &&
      sameName(other.name, phase.name),
  )

/** The member's steps in effective phases; steps of a phase that was rerun since are history. */
export const effectiveSteps = (draft: Draft, memberId: number): Step[] =>
  draft.siblings(memberId, 'phase').filter((step) => isEffective(draft, draft.phase(step.phaseId!)))

/** The member's first phase step that is not passed, in effective phase order. */
export function firstNotPassed(draft: Draft, memberId: number): Step | null {
  const rank = rankOf(draft.phases)
  let first: Step | null = null
  let firstRank = 0
  for (const step of draft.stepsOfMember.get(memberId) ?? []) {
    if (step.kind !== 'phase' || isPassed(step.status)) continue
    if (!isEffective(draft, draft.phase(step.phaseId!))) continue
    const place = rank.get(step.phaseId!)!
    if (first === null || place < firstRank || (place === firstRank && comesBefore(step, first))) {
      first = step
      firstRank = place
    }
  }
  return first
}

const comesBefore = (a: Step, b: Step) =>
  a.definition.stepIndex - b.definition.stepIndex < 0 ||
  (a.definition.stepIndex === b.definition.stepIndex && a.id < b.id)

/** The first open step. Of several rollbacks the one created first: a rollback by hand creates the last step's first. */
function firstOpenCompensation(steps: readonly Step[], kind: StepKind): Step | null {
  let first: Step | null = null
  for (const step of steps) {
    if (step.kind !== kind || !isOpen(step.status)) continue
    if (first === null || comesFirst(step, first)) first = step
  }
  return first
}

function comesFirst(a: Step, b: Step): boolean {
  // An undo gives its steps their order when it begins.
  if (a.kind === 'undo') return a.definition.stepIndex < b.definition.stepIndex
  const order =
    a.originStepId === b.originStepId
      ? (a.removalNumber ?? 0) - (b.removalNumber ?? 0) ||
        (a.originAttempt ?? 0) - (b.originAttempt ?? 0) ||
        a.definition.stepIndex - b.definition.stepIndex
      : ageOf(a) - ageOf(b)
  return order < 0
}

/** Rows that this transaction inserts have falling negative ids, and come after all others. */
const ageOf = ({ id }: Step): number => (id < 0 ? Number.MAX_SAFE_INTEGER / 2 - id : id)

/** Phase steps may run. An ended batch counts too: an open step reopens it (finish.ts). */
const mayRunPhases = ({ status, failedInInit }: Batch): boolean =>
  status === 'active' || status === 'completed' || (status === 'failed' && !failedInInit)

/** The phase will give this member steps: it has not started, or is still being expanded. */
const isAwaited = (phase: Phase, member: Member): boolean =>
  phase.status === 'pending' ||
  isEmptiedUnstarted(phase) ||
  (phase.status === 'dispatched' && phase.expandedAt === null && member.id > phase.expandedThrough)

/**
 * True while an earlier phase still has steps to give. Several processes start and expand phases that fall due together, in any
 * order: without this check the later one could be sent first.
 */
function isOvertaking(draft: Draft, member: Member, step: Step): boolean {
  const rank = rankOf(draft.phases)
  const place = rank.get(step.phaseId!)!
  return draft.phases.some(
    (phase) => isEffective(draft, phase) && rank.get(phase.id)! < place && isAwaited(phase, member),
  )
}

/** The step that may be sent for this member now, apart from slots and holds; null when there is none. */
export function nextOfMember(draft: Draft, member: Member): Step | null {
  const steps = draft.stepsOfMember.get(member.id) ?? []
  if (steps.some(isUnsettled)) return null
  const compensation =
    firstOpenCompensation(steps, 'rollback') ??
    firstOpenCompensation(steps, 'undo') ??
    (member.status === 'removed' ? firstOpenCompensation(steps, 'removal') : null)
  if (compensation) return compensation
  if (member.status !== 'active' || !mayRunPhases(draft.batch)) return null
  // A correction goes at once, between two polls and before its phase begins in a new batch: people must know.
  const correction = steps.find((step) => step.status === 'pending' && step.correctsTime !== null)
  if (correction) return correction
  // Polling continues to its end, even when a version upgrade has put a phase before it.
  const polling = steps.find((step) => step.status === 'polling')
  if (polling) return polling
  const step = firstNotPassed(draft, member.id)
  if (!step || !hasBegun(draft.phase(step.phaseId!))) return null
  return isOvertaking(draft, member, step) ? null : step
}

/** The same for steps without a member: init, its rollback and its undo. */
export function nextOfBatch(draft: Draft): Step | null {
  const steps = draft.stepsOfMember.get(null) ?? []
  if (steps.some(isUnsettled)) return null
  const compensation =
    firstOpenCompensation(steps, 'rollback') ?? firstOpenCompensation(steps, 'undo')
  if (compensation) return compensation
  if (draft.batch.status !== 'init_dispatched' && draft.batch.status !== 'active') return null
  // A newer version's init runs after the one that still runs.
  const open = steps.filter((step) => step.kind === 'init' && isOpen(step.status))
  open.sort(
    (a, b) =>
      a.definition.runbookVersion - b.definition.runbookVersion || (comesBefore(a, b) ? -1 : 1),
  )
  return open[0] ?? null
}

/** Queues the next step for a slot, unless it already waits for something. */
export function queueNextOfMember(draft: Draft, member: Member): void {
  const next = nextOfMember(draft, member)
  if (next) leaveQueue(draft, next)
  enterQueue(draft, next)
}

/** A version upgrade may put a phase before the queued step. Left in the queue, both would be sent. */
function leaveQueue(draft: Draft, next: Step): void {
  for (const step of draft.stepsOfMember.get(next.memberId) ?? []) {
    const isQueued = step.status === 'pending' && step.wait?.kind === 'slot'
    if (isQueued && step !== next) draft.setWait(step, null)
  }
}

export function queueNextOfBatch(draft: Draft): void {
  enterQueue(draft, nextOfBatch(draft))
}

/** For the step's member, or the batch. */
export function queueNextAfter(draft: Draft, step: Step): void {
  if (step.memberId === null) queueNextOfBatch(draft)
  else queueNextOfMember(draft, draft.member(step.memberId))
}

function enterQueue(draft: Draft, step: Step | null): void {
  if (step?.status !== 'pending' || step.wait !== null) return
  draft.setWait(step, { kind: 'slot', since: draft.now, wakeAt: null })
}
