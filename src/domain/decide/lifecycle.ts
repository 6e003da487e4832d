// A batch's lifecycle: init, phases that fall due, manual advance, hold and resume, restart, reschedule.
import { sameName } from '../../base/text/same-name.ts'
import { openSteps, type Phase, type Step } from '../state/facts.ts'
import { HELD_BY_GATE, HELD_BY_RAMP, tellHold } from '../state/holds.ts'
import { isPassed, isPhaseEnded } from '../state/transitions.ts'
import { definitionOf, pendingStep } from './definitions.ts'
import type { Draft, StartFacts } from './draft.ts'
import { setHold } from './finish.ts'
import { gatePassedText, missingAtGate } from './gate.ts'
import { holdOnAll } from './held.ts'
import type { Refusal } from './membership.ts'
import { isRerun, phaseOrder, queueNextOfBatch } from './next.ts'
import { rampFailure, reopenShare, startShare } from './ramp.ts'
import { reopenStep } from './reopen-step.ts'

/** Starts a new batch with its init steps, or activates it when it has none. A repeat does nothing. */
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
  createInit(draft, batch.runbookVersion)
  draft.transitionBatch('dispatch_init', `${init.length} init steps`, {
    initDispatchedAt: draft.now,
    startTime,
  })
  queueNextOfBatch(draft)
}

/** Creates the version's init steps, except those named in `existing`. */
function createInit(
  draft: Draft,
  version: number,
  existing: ReadonlySet<string> = new Set(),
): void {
  const init = draft.runbooks.get(version)?.init ?? []
  for (const [index, definition] of init.entries()) {
    if (existing.has(definition.name.toLowerCase())) continue
    draft.newStep(
      pendingStep(definitionOf(definition, index, version), { kind: 'init', memberId: null }),
    )
  }
}

/** Runs a newer version's init, after one that still runs. */
export function rerunInit(draft: Draft, version: number): void {
  createInit(draft, version)
  queueNextOfBatch(draft)
}

/** Starts a phase. Its members' steps are written next, in chunks, until `expandedAt` is set. */
export function startPhase(draft: Draft, phase: Phase, why: string): Refusal {
  if (phase.status !== 'pending') return `phase ${phase.name} is ${phase.status}`
  if (draft.batch.status !== 'active') return `batch ${draft.batch.id} is ${draft.batch.status}`
  const held = holdOnAll(draft.batch, draft.holds)
  if (held) return tellHold(held)
  if (draft.batch.membersActive === 0) {
    draft.transitionPhase(phase, 'empty', 'no active members', {
      completedAt: draft.now,
      skippedBecause: 'empty',
      gateLookAt: null,
    })
  } else {
    const closed = closedGate(draft, phase)
    if (closed) return closed
    passGate(draft, phase)
    const again = isRerun(draft, phase) ? `, run again by version ${phase.runbookVersion}` : ''
    draft.transitionPhase(phase, 'start', `${why}${again}`, { dispatchedAt: draft.now })
    const { share } = startFactsOf(draft, phase)
    if (share) startShare(draft, phase, share)
  }
  return null
}

/** Nothing starts without them: a caller that did not load them must not open a gate. */
function startFactsOf(draft: Draft, phase: Phase): StartFacts {
  if (phase.gate === null && phase.rampPercents === null) return { gate: null, share: null }
  const facts = draft.starts.get(phase.id)
  if (!facts) throw new Error(`what phase ${phase.id} needs to start is not loaded`)
  return facts
}

/** Why the gate does not let the phase start; null when there is none, or it does. */
function closedGate(draft: Draft, phase: Phase): Refusal {
  const facts = startFactsOf(draft, phase).gate
  if (!phase.gate || !facts) return null
  const missing = missingAtGate(phase.gate, facts, draft.now)
  if (missing.length === 0) return null
  return `phase ${phase.name} waits at its gate: ${missing.join('; ')}`
}

function passGate(draft: Draft, phase: Phase): void {
  const facts = startFactsOf(draft, phase).gate
  if (!phase.gate || !facts) return
  draft.changePhase(phase, { gatePassedAt: draft.now, gateLookAt: null })
  draft.note('gate_passed', gatePassedText(phase.gate, facts), { phaseId: phase.id })
}

/** A gate that keeps a phase waiting is looked at again so often. */
const GATE_LOOK_SEC = 30

/** Starts a phase that is due. Never before its time. One that its gate stops holds the batch, once. */
export function onPhaseDue(draft: Draft, phase: Phase): Refusal {
  if (phase.dueAt === null) return `phase ${phase.name} has no due time: it is advanced by hand`
  if (phase.dueAt > draft.now) {
    return `phase ${phase.name} is not due before ${phase.dueAt.toISOString()}`
  }
  const isWaiting = phase.gateLookAt !== null
  const refusal = startPhase(draft, phase, `due at ${phase.dueAt.toISOString()}`)
  if (refusal && phase.status === 'pending' && draft.starts.has(phase.id)) {
    if (holdOnAll(draft.batch, draft.holds) !== null || closedGate(draft, phase) === null)
      return refusal
    draft.changePhase(phase, { gateLookAt: draft.later(GATE_LOOK_SEC) })
    // A resume lets the batch work on what is missing; the phase still waits.
    if (!isWaiting) setHold(draft, HELD_BY_GATE, refusal)
  }
  return refusal
}

/** The next share of a ramp, once the soak of the former is over. */
export function onSoakEnded(draft: Draft, phase: Phase): Refusal {
  if (phase.soakEndsAt === null || phase.soakEndsAt > draft.now || phase.status !== 'dispatched')
    return `no share of phase ${phase.name} has soaked`
  const held = holdOnAll(draft.batch, draft.holds)
  if (held) return tellHold(held)
  if (openSteps(phase) > 0) {
    reopenShare(draft, phase)
    return `a share of phase ${phase.name} has open steps`
  }
  const failure = rampFailure(draft, phase)
  if (failure) {
    setHold(draft, HELD_BY_RAMP, failure)
    return failure
  }
  startShare(draft, phase, startFactsOf(draft, phase).share!)
  return null
}

export interface Advance {
  /** The next phase as the operator saw it, so that two operators do not advance twice. `init` for the init steps. */
  readonly expectedPhase: string
  readonly allowStragglers: boolean
}

/** Advances a manual batch: init first, then its phases in order. */
export function advanceManual(draft: Draft, { expectedPhase, allowStragglers }: Advance): Refusal {
  const { batch } = draft
  if (!batch.isManual) return `batch ${batch.id} is not manual: its phases start at their times`
  const held = holdOnAll(batch, draft.holds)
  if (held) return tellHold(held)
  const hasInit = (draft.runbooks.get(batch.runbookVersion)?.init.length ?? 0) > 0
  if (batch.status === 'detected' && hasInit) {
    if (!sameName(expectedPhase, 'init'))
      return `the next step of batch ${batch.id} is init, not ${expectedPhase}`
    beginBatch(draft)
    return null
  }
  if (batch.status !== 'detected' && batch.status !== 'active')
    return `batch ${batch.id} is ${batch.status}`
  const ordered = phaseOrder(draft.phases)
  const next = ordered.find((phase) => phase.status === 'pending')
  if (!next) return `batch ${batch.id} has no phase left to advance to`
  if (!sameName(next.name, expectedPhase)) {
    return `the next phase of batch ${batch.id} is ${next.name}, not ${expectedPhase}`
  }
  const open = ordered.slice(0, ordered.indexOf(next)).find(({ status }) => !isPhaseEnded(status))
  if (open && !allowStragglers)
    return `phase ${open.name} is still open; allow stragglers to continue without them`
  if (batch.status === 'detected') beginBatch(draft)
  draft.changeBatch({ currentPhase: next.name, startTime: batch.startTime ?? draft.now })
  return startPhase(draft, next, `advanced by ${draft.actor}`)
}

export function hold(draft: Draft, reason: string): Refusal {
  const { batch } = draft
  if (batch.heldAt !== null) return `batch ${batch.id} is already held: ${batch.heldReason}`
  if (batch.endedAt !== null) return `batch ${batch.id} is ${batch.status}`
  setHold(draft, draft.actor, reason)
  return null
}

/** The engine postpones waiting retries and polls by the time on hold. */
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
 * Runs init again for a batch that failed there, with the active version's steps. Its cancelled phases become pending; passed init
 * steps stay passed.
 */
export function restart(draft: Draft, reason: string): Refusal {
  const no = refuseRestart(draft)
  if (no) return no
  draft.transitionBatch('restart', reason, {
    endedAt: null,
    failedInInit: false,
    initDispatchedAt: draft.now,
  })
  reopenInit(draft, reason)
  for (const phase of draft.phases) {
    if (phase.status === 'cancelled')
      draft.transitionPhase(phase, 'restart', reason, { completedAt: null })
  }
  queueNextOfBatch(draft)
  return null
}

export function refuseRestart({ batch }: Draft): Refusal {
  if (batch.status !== 'failed' || !batch.failedInInit)
    return `batch ${batch.id} is ${batch.status}; only a batch that failed in init can be restarted`
  return batch.rollbackOpen > 0 ? `the rollback of init in batch ${batch.id} has not ended` : null
}

function reopenInit(draft: Draft, reason: string): void {
  const { activeVersion } = draft.batch
  const newest = new Map<string, Step>()
  for (const step of draft.siblings(null, 'init')) {
    const other = newest.get(step.definition.stepName.toLowerCase())
    if (!other || other.definition.runbookVersion < step.definition.runbookVersion)
      newest.set(step.definition.stepName.toLowerCase(), step)
  }
  const current = new Set(
    draft.runbooks.get(activeVersion)?.init.map(({ name }) => name.toLowerCase()),
  )
  for (const step of draft.siblings(null, 'init')) {
    if (isPassed(step.status)) continue
    const name = step.definition.stepName.toLowerCase()
    if (current.has(name) && newest.get(name) === step) reopenStep(draft, step, reason)
    else {
      const why = current.has(name)
        ? `version ${activeVersion} has a newer step of this name`
        : `version ${activeVersion} no longer has it`
      draft.transitionStep(step, 'skip', why, { completedAt: draft.now })
    }
  }
  createInit(draft, activeVersion, new Set(newest.keys()))
}

/** Sets a new start time and moves the phases that have not begun. Phases that become overdue start at once. */
export function reschedule(draft: Draft, startTime: Date, reason: string): Refusal {
  const { batch } = draft
  if (batch.isManual) return `batch ${batch.id} is manual: it has no schedule`
  if (batch.endedAt !== null) return `batch ${batch.id} is ${batch.status}`
  const before = batch.startTime
  draft.changeBatch({ startTime })
  for (const phase of draft.phases) {
    if (phase.status === 'pending')
      draft.changePhase(phase, { dueAt: dueAt(startTime, phase.offsetMinutes), gateLookAt: null })
  }
  draft.note(
    'rescheduled',
    `from ${before?.toISOString()} to ${startTime.toISOString()}: ${reason}`,
  )
  return null
}

export interface OverduePhase {
  readonly phaseName: string
  readonly dueAt: Date
}

/** Phases that have not begun and would be overdue with this start: they would start at once. */
export const overdueAt = (
  phases: readonly Pick<Phase, 'name' | 'status' | 'offsetMinutes'>[],
  startTime: Date,
  now: Date,
): OverduePhase[] =>
  phases
    .filter(({ status }) => status === 'pending')
    .map(({ name, offsetMinutes }) => ({
      phaseName: name,
      dueAt: dueAt(startTime, offsetMinutes),
    }))
    .filter((phase) => phase.dueAt <= now)
    .sort((a, b) => +a.dueAt - +b.dueAt)

export const dueAt = (startTime: Date, offsetMinutes: number): Date =>
  new Date(+startTime - offsetMinutes * 60_000)
