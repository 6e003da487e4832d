// The undo of effects: the inverse of each change that the ledger has of a member, the last change first. Unlike a rollback it does not
// follow the runbook but what was really changed; what nothing changed stays. The first inverse that fails ends the undo: what came before
// it may rest on it. The member ends as failed, with a retry open.
import { countText } from '../../base/text/count-text.ts'
import type { Json } from '../../base/text/json.ts'
import { isReversible, type LedgerEffect, type ReversibleEffect } from '../state/effects.ts'
import { isUnsettled, type Member, type Step, type StepDefinition } from '../state/facts.ts'
import { isOpen, isPassed, STATUSES_TO_UNDO } from '../state/transitions.ts'
import type { UndoState } from '../state/undo-states.ts'
import { cancelOpenSteps } from './cancel.ts'
import { pendingStep } from './definitions.ts'
import type { AttemptRecord, Draft } from './draft.ts'
import { isCompensationOpen, type Refusal } from './membership.ts'
import { queueNextOfBatch, queueNextOfMember } from './next.ts'
import { reopenStep } from './reopen-step.ts'
import { acknowledge } from './rollback-by-hand.ts'

/** A settled job as the ledger has it, in the order of their ends. */
export interface LedgerEntry {
  readonly stepId: number
  /** What the step ran last. */
  readonly functionName: string | null
  readonly attempt: number
  readonly workerId: string
  readonly outcome: AttemptRecord['outcome']
  /** Null when the worker did not tell. */
  readonly effect: LedgerEffect | null
  readonly settledAt: Date
}

export interface UndoItem {
  readonly step: Step
  readonly entry: LedgerEntry
  readonly state: UndoState
  /** The undo step, if there is one. */
  readonly row: Step | null
  /** Why it is not undone, or what an undo leaves. */
  readonly note: string | null
}

export interface UndoScope {
  /** Also what was done before the point of no return. */
  readonly isPastNoReturn?: boolean
}

const MAY_HAVE_ACTED: ReadonlySet<LedgerEntry['outcome']> = new Set([
  'succeeded',
  'incomplete',
  'failed',
  'lost',
  'dead_lettered',
])

interface LedgerLine {
  readonly step: Step
  readonly entry: LedgerEntry
  readonly place: number
}

const keyOf = (stepId: number | null, attempt: number | null): string => `${stepId} ${attempt}`

/** One line for each attempt that changed something or may have: polls of one attempt share its first change. */
function linesOf(draft: Draft, ledger: readonly LedgerEntry[]): LedgerLine[] {
  const lines = new Map<string, LedgerLine>()
  for (const [place, entry] of ledger.entries()) {
    const step = draft.steps.get(entry.stepId)
    if (!step || step.kind === 'undo' || !MAY_HAVE_ACTED.has(entry.outcome)) continue
    if (entry.effect?.changed === false) {
      explain(lines, entry)
      continue
    }
    const key = keyOf(entry.stepId, entry.attempt)
    const known = lines.get(key)
    if (!known || (known.entry.effect === null && entry.effect !== null))
      lines.set(key, { step, entry, place })
  }
  return [...lines.values()].sort((a, b) => a.place - b.place)
}

/** What this attempt found is what an earlier one of the step created before it failed. */
function explain(lines: Map<string, LedgerLine>, { stepId, effect }: LedgerEntry): void {
  if (effect === null || effect.changed || !effect.ifEarlier) return
  for (const [key, line] of lines) {
    if (line.step.id !== stepId || line.entry.effect !== null) continue
    lines.set(key, { ...line, entry: { ...line.entry, effect: effect.ifEarlier } })
    return
  }
}

/** By step: the place in the ledger before which a finished rollback took everything back, and the rollback's own steps. */
function rolledBackBefore(
  draft: Draft,
  memberId: number | null,
  ledger: readonly LedgerEntry[],
): (line: LedgerLine) => boolean {
  const placeOfStep = new Map<number, number>()
  for (const [place, { stepId }] of ledger.entries())
    if (!placeOfStep.has(stepId)) placeOfStep.set(stepId, place)
  const groups = Map.groupBy(draft.siblings(memberId, 'rollback'), (row) =>
    keyOf(row.originStepId, row.originAttempt),
  )
  const before = new Map<string, number>()
  const own = new Set<number>()
  for (const rows of groups.values()) {
    const name = draft.steps.get(rows[0]!.originStepId!)?.definition.onFailure?.toLowerCase()
    const places = rows.flatMap(({ id }) => placeOfStep.get(id) ?? [])
    if (!name || places.length === 0 || !rows.every(({ status }) => isPassed(status))) continue
    before.set(name, Math.max(before.get(name) ?? 0, Math.min(...places)))
    for (const { id } of rows) own.add(id)
  }
  return ({ step, place }) =>
    own.has(step.id) || place < (before.get(step.definition.onFailure?.toLowerCase() ?? '') ?? 0)
}

/** What was changed for a member, or by init, the last change first. Load all steps before. */
export function planUndo(
  draft: Draft,
  memberId: number | null,
  ledger: readonly LedgerEntry[],
  { isPastNoReturn = false }: UndoScope = {},
): UndoItem[] {
  const lines = linesOf(draft, ledger)
  const isRolledBack = rolledBackBefore(draft, memberId, ledger)
  const rows = new Map(
    draft
      .siblings(memberId, 'undo')
      .map((row) => [keyOf(row.originStepId, row.originAttempt), row]),
  )
  let noReturn: string | null = null
  return lines.toReversed().map((line): UndoItem => {
    const { step, entry, place } = line
    const row = rows.get(keyOf(step.id, entry.attempt)) ?? null
    const item = (state: UndoState, note: string | null = null) => ({
      step,
      entry,
      state,
      row,
      note,
    })
    if (isRolledBack(line)) return item('rolled_back')
    if (row && isOpen(row.status)) return item('undoing')
    if (row && isPassed(row.status)) return item(row.status === 'skipped' ? 'skipped' : 'undone')
    const { effect } = entry
    if (effect === null || !effect.changed) return item('unknown', unknownBecause(entry))
    if (noReturn !== null) return item('beyond', noReturn)
    if (isReversible(effect)) return item('to_undo', row?.error ?? effect.keeps ?? null)
    const creator = lines.find((other) => other.place < place && creates(other, effect.target))
    // A cut-over does not go with the account: its mailbox is in use.
    if (creator && !effect.isPointOfNoReturn)
      return item(
        'goes_with',
        `It goes with what step ${creator.step.definition.stepName} created.`,
      )
    if (effect.isPointOfNoReturn && !isPastNoReturn)
      noReturn = `It was done before the point of no return, step ${step.definition.stepName}.`
    return item('irreversible', effect.irreversible)
  })
}

const creates = ({ entry: { effect } }: LedgerLine, target: string): boolean =>
  effect !== null &&
  isReversible(effect) &&
  (effect.creates ?? []).some((name) => name.toLowerCase() === target.toLowerCase())

function unknownBecause({ outcome, workerId }: LedgerEntry): string {
  if (outcome === 'succeeded' || outcome === 'incomplete')
    return `Worker ${workerId} did not say what the function changed.`
  return `The job ended as ${outcome.replace('_', '-')}; nobody knows what it changed. Check the tenant.`
}

function refuseUndo(draft: Draft, member: Member, items: readonly UndoItem[]): Refusal {
  if (isCompensationOpen(draft, member))
    return `member ${member.id} has an unfinished rollback, cleanup or undo`
  if ((draft.stepsOfMember.get(member.id) ?? []).some(isUnsettled))
    return `member ${member.id} has an unsettled job; undo it when the job has settled`
  return refuseEmpty(items, `member ${member.id}`)
}

function refuseEmpty(items: readonly UndoItem[], who: string): Refusal {
  if (items.some(({ state }) => state === 'to_undo')) return null
  const left = items.filter(({ state }) => state === 'irreversible' || state === 'unknown')
  const names = left.map(({ step, state }) => `${step.definition.stepName} (${state})`).join(', ')
  return `${who} has nothing left to undo${names ? `: ${names}` : ''}`
}

/** Begins the undo: tracked steps, one after the other. */
export function undoMember(
  draft: Draft,
  member: Member,
  items: readonly UndoItem[],
  why: string,
): Refusal {
  const no = refuseUndo(draft, member, items)
  if (no) return no
  const due = items.filter(({ state }) => state === 'to_undo')
  const because = `undone by ${draft.actor}: ${why}`
  if (member.status !== 'removed') stopMember(draft, member, due, because, why)
  sendInverses(draft, member.id, due, because)
  draft.note('undo_begun', `${because}; ${countText(due.length, 'change')} to take back`, {
    memberId: member.id,
  })
  queueNextOfMember(draft, member)
  return null
}

/** The effects of init, once nothing of the members is left to undo. */
export function undoInit(draft: Draft, items: readonly UndoItem[], why: string): Refusal {
  if ((draft.stepsOfMember.get(null) ?? []).some(isUnsettled))
    return `batch ${draft.batch.id} has an unsettled job of its own`
  const no = refuseEmpty(items, `init of batch ${draft.batch.id}`)
  if (no) return no
  const due = items.filter(({ state }) => state === 'to_undo')
  const because = `undone by ${draft.actor}: ${why}`
  sendInverses(draft, null, due, because)
  draft.note('undo_begun', `${because}; ${countText(due.length, 'change')} of init to take back`)
  queueNextOfBatch(draft)
  return null
}

/** The member stops: what its steps rest on is taken away. */
function stopMember(
  draft: Draft,
  member: Member,
  due: readonly UndoItem[],
  because: string,
  why: string,
): void {
  const undoable = new Set(
    due
      .map(({ step }) => step)
      .filter(({ kind, status }) => kind === 'phase' && STATUSES_TO_UNDO.includes(status)),
  )
  acknowledge(draft, member, [...undoable])
  for (const step of undoable) {
    draft.setWait(step, null)
    // The event names the person; the error is shown to customers.
    draft.transitionStep(step, 'undo', because, {
      completedAt: draft.now,
      retryAfter: null,
      error: `undone by hand: ${why}`,
    })
  }
  if (member.status === 'active')
    draft.transitionMember(member, 'fail', because, { failedAt: draft.now })
  cancelOpenSteps(draft, member.id, because)
}

function sendInverses(
  draft: Draft,
  memberId: number | null,
  due: readonly UndoItem[],
  because: string,
): void {
  for (const [place, { step, entry, row }] of due.entries()) {
    const { undo } = entry.effect as ReversibleEffect
    const definition = undoDefinition(step, entry, place)
    if (row) {
      row.definition = definition
      draft.changedDefinitions.add(row)
      reopenStep(draft, row, because)
      continue
    }
    const made = pendingStep(definition, {
      kind: 'undo',
      memberId,
      originStepId: step.id,
      originAttempt: entry.attempt,
    })
    draft.newStep({ ...made, functionName: undo.functionName, params: undo.parameters as Json })
  }
}

/** Stopping a mailbox move takes minutes: an inverse that is not complete is polled. */
const POLL = { pollIntervalSec: 60, pollTimeoutSec: 2 * 3_600 }
const RETRY = { maxRetries: 3, retryIntervalSec: 60, retryMaxIntervalSec: null }

const undoDefinition = (
  { definition }: Step,
  { workerId }: LedgerEntry,
  stepIndex: number,
): StepDefinition => ({
  stepName: definition.stepName,
  stepIndex,
  runbookVersion: definition.runbookVersion,
  workerId,
  onFailure: null,
  ...POLL,
  ...RETRY,
  retryBackoff: 'exponential',
  timeoutSec: definition.timeoutSec,
})
