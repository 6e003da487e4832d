// What comes next for a member, or for the batch itself. One rule for all: nothing while a job is out; undoing before doing;
// then the first step that is not passed, in the order of the phases, if its phase has started.
import {
  type Batch,
  isUnsettled,
  type Member,
  type Phase,
  type Step,
  type StepKind,
} from '../facts.ts'
import { isOpen, isPassed, isPhaseStarted } from '../transitions.ts'
import type { Draft } from './draft.ts'

/** Phases in the order of their time: the largest offset before the start first, then their place in the file. */
export function phaseOrder(phases: readonly Phase[]): Phase[] {
  return [...phases].sort(
    (a, b) => b.offsetMinutes - a.offsetMinutes || a.index - b.index || a.id - b.id,
  )
}

const ranks = new WeakMap<readonly Phase[], ReadonlyMap<number, number>>()

/**
 * Place of each phase in the order. Of one name only the newest row is there: the older ones were replaced. One that was
 * superseded before it began replaced nothing. Kept by the list, which is another one whenever that changes (draft.ts).
 */
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

/** Skipped because nobody was there to do it. Unlike one skipped as overdue it opens again for whoever joins or is taken up. */
export const isEmptied = (phase: Pick<Phase, 'status' | 'skippedBecause'>): boolean =>
  phase.status === 'skipped' && phase.skippedBecause === 'empty'

/** Not superseded, cancelled or skipped as overdue, and of its name the newest that was not superseded. */
export function isEffective(draft: Draft, phase: Phase): boolean {
  const isLeftOut = LEFT_OUT.has(phase.status) && !isEmptied(phase)
  return !isLeftOut && rankOf(draft.phases).has(phase.id)
}

/** Its time has come: whoever is in the batch has steps in it, whoever joins catches up on it. */
export const hasBegun = (phase: Pick<Phase, 'status' | 'skippedBecause'>): boolean =>
  isPhaseStarted(phase.status) || isEmptied(phase)

/** The member's steps in phases that count; those of a phase that was done again since are history. */
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

/** The first step of the oldest undo sequence that has not ended. */
function firstOpenUndo(steps: readonly Step[], kind: StepKind): Step | null {
  const sequence = (step: Step) => step.originStepId ?? step.removalNumber ?? 0
  let first: Step | null = null
  for (const step of steps) {
    if (step.kind !== kind || !isOpen(step.status)) continue
    const order = first
      ? sequence(step) - sequence(first) ||
        (step.originAttempt ?? 0) - (first.originAttempt ?? 0) ||
        step.definition.stepIndex - first.definition.stepIndex
      : -1
    if (order < 0) first = step
  }
  return first
}

/** Phases may be done. An ended batch counts too: whoever has a step to do in it makes it open again (finish.ts). */
const isUnderWay = ({ status, failedInInit }: Batch): boolean =>
  status === 'active' || status === 'completed' || (status === 'failed' && !failedInInit)

/** A phase that will give this member steps and has not done so yet: it has not started, or its rows are still being written. */
const isAwaited = (phase: Phase, member: Member): boolean =>
  phase.status === 'pending' ||
  (phase.status === 'dispatched' && phase.expandedAt === null && member.id > phase.expandedThrough)

/**
 * True while an earlier phase still has steps to give. Phases that fall due together are started and written in any order, by
 * several processes: without this the later one could be sent first.
 */
function isOvertaking(draft: Draft, member: Member, step: Step): boolean {
  const rank = rankOf(draft.phases)
  const place = rank.get(step.phaseId!)!
  return draft.phases.some(
    (phase) => isEffective(draft, phase) && rank.get(phase.id)! < place && isAwaited(phase, member),
  )
}

/** The step that may be sent for this member now, window and hold aside; null when there is none or it must wait. */
export function nextOfMember(draft: Draft, member: Member): Step | null {
  const steps = draft.stepsOfMember.get(member.id) ?? []
  if (steps.some(isUnsettled)) return null
  const undo =
    firstOpenUndo(steps, 'rollback') ??
    (member.status === 'removed' ? firstOpenUndo(steps, 'removal') : null)
  if (undo) return undo
  if (member.status !== 'active' || !isUnderWay(draft.batch)) return null
  // What is being asked about goes on to its end, also when a new version has put a phase before it meanwhile.
  const asked = steps.find((step) => step.status === 'polling')
  if (asked) return asked
  const step = firstNotPassed(draft, member.id)
  if (!step || !hasBegun(draft.phase(step.phaseId!))) return null
  return isOvertaking(draft, member, step) ? null : step
}

/** Likewise for the steps that belong to no member: init, and the rollback of init. */
export function nextOfBatch(draft: Draft): Step | null {
  const steps = draft.stepsOfMember.get(null) ?? []
  if (steps.some(isUnsettled)) return null
  const undo = firstOpenUndo(steps, 'rollback')
  if (undo) return undo
  if (draft.batch.status !== 'init_dispatched' && draft.batch.status !== 'active') return null
  // An init that is run again by a newer version goes after the one that runs. One that failed then lies between them, ended.
  const open = steps.filter((step) => step.kind === 'init' && isOpen(step.status))
  open.sort(
    (a, b) =>
      a.definition.runbookVersion - b.definition.runbookVersion || (comesBefore(a, b) ? -1 : 1),
  )
  return open[0] ?? null
}

/** Puts what comes next in the queue for a slot, unless it waits for something already. */
export function queueNextOfMember(draft: Draft, member: Member): void {
  const next = nextOfMember(draft, member)
  if (next) leaveQueue(draft, next)
  enterQueue(draft, next)
}

/** A new version may put a phase before the step that is in the queue. Left there, both would be sent. */
function leaveQueue(draft: Draft, next: Step): void {
  for (const step of draft.stepsOfMember.get(next.memberId) ?? []) {
    const isQueued = step.status === 'pending' && step.wait?.what === 'slot'
    if (isQueued && step !== next) draft.setWait(step, null)
  }
}

export function queueNextOfBatch(draft: Draft): void {
  enterQueue(draft, nextOfBatch(draft))
}

/** The owner of the step: its member, or the batch. */
export function queueNextAfter(draft: Draft, step: Step): void {
  if (step.memberId === null) queueNextOfBatch(draft)
  else queueNextOfMember(draft, draft.member(step.memberId))
}

function enterQueue(draft: Draft, step: Step | null): void {
  if (step?.status !== 'pending' || step.wait !== null) return
  draft.setWait(step, { what: 'slot', since: draft.now, wakeAt: null })
}
