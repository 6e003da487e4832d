// The course of a batch: init, phases falling due, a manual batch advanced by hand, hold and resume, restart, reschedule.
import type { Phase, Step } from '../facts.ts'
import { isPassed, isPhaseEnded } from '../transitions.ts'
import { definitionOf, pendingStep } from './definitions.ts'
import type { Draft } from './draft.ts'
import { setHold } from './finish.ts'
import type { Refusal } from './membership.ts'
import { phaseOrder, queueNextOfBatch } from './next.ts'
import { reopenStep } from './reopen-step.ts'

/** A new batch goes on to its init steps, or straight to active when it has none. A repeat finds nothing to do. */
export function beginBatch(draft: Draft): void {
  const { batch } = draft
  if (batch.status !== 'detected') return
  const init = draft.runbooks.get(batch.runbookVersion)?.init ?? []
  const startTime = batch.startTime ?? draft.now
  if (init.length === 0) {
    return draft.transitionBatch('activate', 'the runbook has no init steps', {
      activatedAt: draft.now,
      startTime,
    })
  }
  makeInit(draft, batch.runbookVersion)
  draft.transitionBatch('dispatch_init', `${init.length} init steps`, {
    initDispatchedAt: draft.now,
    startTime,
  })
  queueNextOfBatch(draft)
}

/** Rows for the init steps of a version, but for those of the names that are there already. */
function makeInit(draft: Draft, version: number, there: ReadonlySet<string> = new Set()): void {
  const init = draft.runbooks.get(version)?.init ?? []
  for (const [index, definition] of init.entries()) {
    if (there.has(definition.name.toLowerCase())) continue
    draft.newStep(
      pendingStep(definitionOf(definition, index, version), { kind: 'init', memberId: null }),
    )
  }
}

/** The init of a newer version, after the one that runs if one does. */
export function rerunInit(draft: Draft, version: number): void {
  makeInit(draft, version)
  queueNextOfBatch(draft)
}

/** A phase is due: its members' steps are written next, in chunks (`expandedAt` says when all are). */
export function startPhase(draft: Draft, phase: Phase, why: string): Refusal {
  if (phase.status !== 'pending') return `phase ${phase.name} is ${phase.status}`
  if (draft.batch.status !== 'active') return `batch ${draft.batch.id} is ${draft.batch.status}`
  if (draft.batch.heldAt !== null)
    return `batch ${draft.batch.id} is held: ${draft.batch.heldReason}`
  if (draft.batch.membersActive === 0) {
    draft.transitionPhase(phase, 'empty', 'no active members', {
      completedAt: draft.now,
      skippedBecause: 'empty',
    })
  } else {
    draft.transitionPhase(phase, 'start', why, { dispatchedAt: draft.now })
  }
  return null
}

/** A phase that falls due by its time, to the second. Never before its time, whoever asks. */
export function onPhaseDue(draft: Draft, phase: Phase): Refusal {
  if (phase.dueAt === null) return `phase ${phase.name} has no due time: it is advanced by hand`
  if (phase.dueAt > draft.now) {
    return `phase ${phase.name} is not due before ${phase.dueAt.toISOString()}`
  }
  return startPhase(draft, phase, `due at ${phase.dueAt.toISOString()}`)
}

export interface Advance {
  /** The phase the operator saw as the next one: two operators cannot advance twice. `init` for the init steps. */
  readonly expectedPhase: string
  readonly allowStragglers: boolean
}

/** A manual batch takes its next step: init first, then the phases by time. */
export function advanceManual(draft: Draft, { expectedPhase, allowStragglers }: Advance): Refusal {
  const { batch } = draft
  if (!batch.isManual) return `batch ${batch.id} is not manual: its phases fall due by themselves`
  if (batch.heldAt !== null) return `batch ${batch.id} is held: ${batch.heldReason}`
  const hasInit = (draft.runbooks.get(batch.runbookVersion)?.init.length ?? 0) > 0
  if (batch.status === 'detected' && hasInit) {
    if (expectedPhase.toLowerCase() !== 'init')
      return `the next step of batch ${batch.id} is init, not ${expectedPhase}`
    beginBatch(draft)
    return null
  }
  if (batch.status !== 'detected' && batch.status !== 'active')
    return `batch ${batch.id} is ${batch.status}`
  const ordered = phaseOrder(draft.phases)
  const next = ordered.find((phase) => phase.status === 'pending')
  if (!next) return `batch ${batch.id} has no phase left to advance to`
  if (next.name.toLowerCase() !== expectedPhase.toLowerCase()) {
    return `the next phase of batch ${batch.id} is ${next.name}, not ${expectedPhase}`
  }
  const open = ordered.slice(0, ordered.indexOf(next)).find(({ status }) => !isPhaseEnded(status))
  if (open && !allowStragglers)
    return `phase ${open.name} is still open; allow stragglers to go on without them`
  if (batch.status === 'detected') beginBatch(draft)
  draft.changeBatch({ currentPhase: next.name, startTime: batch.startTime ?? draft.now })
  return startPhase(draft, next, `advanced by ${draft.actor}`)
}

export function hold(draft: Draft, reason: string): Refusal {
  const { batch } = draft
  if (batch.heldAt !== null) return `batch ${batch.id} is held already: ${batch.heldReason}`
  if (batch.endedAt !== null) return `batch ${batch.id} is ${batch.status}`
  setHold(draft, draft.actor, reason)
  return null
}

/** The engine moves the times of waiting retries and polls on by the time that was held. */
export function resume(draft: Draft, reason: string): Refusal {
  const { batch } = draft
  if (batch.heldAt === null) return `batch ${batch.id} is not held`
  draft.changeBatch({ heldAt: null, heldBy: null, heldReason: null })
  for (const phase of draft.phases) {
    if (phase.members.failed !== phase.fuseAcknowledged) {
      draft.changePhase(phase, { fuseAcknowledged: phase.members.failed })
    }
  }
  draft.note('resumed', reason)
  return null
}

/**
 * A batch that failed in init goes back to init, in the words of the version that is active now; its phases, cancelled by that
 * failure, are pending again. What init has passed stays passed.
 */
export function restart(draft: Draft, reason: string): Refusal {
  const { batch } = draft
  if (batch.status !== 'failed' || !batch.failedInInit) {
    return `batch ${batch.id} is ${batch.status}; only a batch that failed in init can be restarted`
  }
  if (batch.rollbackOpen > 0) return `batch ${batch.id} has a rollback of init that has not ended`
  draft.transitionBatch('restart', reason, {
    endedAt: null,
    failedInInit: false,
    initDispatchedAt: draft.now,
  })
  takeUpInit(draft, reason)
  for (const phase of draft.phases) {
    if (phase.status === 'cancelled')
      draft.transitionPhase(phase, 'restart', reason, { completedAt: null })
  }
  queueNextOfBatch(draft)
  return null
}

function takeUpInit(draft: Draft, reason: string): void {
  const { activeVersion } = draft.batch
  const newest = new Map<string, Step>()
  for (const step of draft.siblings(null, 'init')) {
    const other = newest.get(step.definition.stepName.toLowerCase())
    if (!other || other.definition.runbookVersion < step.definition.runbookVersion)
      newest.set(step.definition.stepName.toLowerCase(), step)
  }
  const wanted = new Set(
    draft.runbooks.get(activeVersion)?.init.map(({ name }) => name.toLowerCase()),
  )
  for (const step of draft.siblings(null, 'init')) {
    if (isPassed(step.status)) continue
    const name = step.definition.stepName.toLowerCase()
    if (wanted.has(name) && newest.get(name) === step) reopenStep(draft, step, reason)
    else {
      const why = `version ${activeVersion} has ${wanted.has(name) ? 'a step of its own for it' : 'it no more'}`
      draft.transitionStep(step, 'skip', why, { completedAt: draft.now })
    }
  }
  makeInit(draft, activeVersion, new Set(newest.keys()))
}

/** A new start time moves the phases that have not begun. Returns nothing to refuse; what becomes overdue starts at once. */
export function reschedule(draft: Draft, startTime: Date, reason: string): Refusal {
  const { batch } = draft
  if (batch.isManual) return `batch ${batch.id} is manual: it has no times to move`
  if (batch.endedAt !== null) return `batch ${batch.id} is ${batch.status}`
  const before = batch.startTime
  draft.changeBatch({ startTime })
  for (const phase of draft.phases) {
    if (phase.status === 'pending')
      draft.changePhase(phase, { dueAt: dueAt(startTime, phase.offsetMinutes) })
  }
  draft.note(
    'rescheduled',
    `from ${before?.toISOString()} to ${startTime.toISOString()}: ${reason}`,
  )
  return null
}

export const dueAt = (startTime: Date, offsetMinutes: number): Date =>
  new Date(+startTime - offsetMinutes * 60_000)
