// The undo of effects: the inverse of each change that the ledger has of a member, the last change first. Unlike a rollback it does not
// follow the runbook but what was really changed; what nothing changed stays. The first inverse that fails ends the undo: what came before
// it may rest on it. The person is taken back, which is no failure, and may be retried.

import { countText } from '../../base/text/count-text.ts'
import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import { isReversible, type ReversibleEffect } from '../state/effects.ts'
import { isUnsettled, type Member, type Step, type StepDefinition } from '../state/facts.ts'
import { isOpen, isPassed } from '../state/transitions.ts'
import type { UndoState } from '../state/undo-states.ts'
import { cancelOpenSteps } from './cancel.ts'
import { pendingStep } from './definitions.ts'
import type { Draft } from './draft.ts'
import { isCompensationOpen, type Refusal } from './membership.ts'
import { queueNextOfBatch, queueNextOfMember } from './next.ts'
import { reopenStep } from './reopen-step.ts'
import {
  isSamePlace,
  keyOf,
  type Ledger,
  type LedgerEntry,
  type LedgerLine,
  type LedgerStep,
  linesOf,
  refuseElsewhere,
  rolledBackBefore,
  rowsByEffect,
  stepsOfPerson,
} from './undo-ledger.ts'

export interface UndoItem extends LedgerStep {
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

/** What was changed for a member, or by init, the last change first. Load all steps before. */
export function planUndo(
  draft: Draft,
  memberId: number | null,
  ledger: Ledger,
  { isPastNoReturn = false }: UndoScope = {},
): UndoItem[] {
  const steps = stepsOfPerson(draft, memberId, ledger)
  const lines = linesOf(steps, ledger)
  const isRolledBack = rolledBackBefore(steps, ledger)
  const rows = rowsByEffect(steps)
  let noReturn: string | null = null
  return lines.toReversed().map((line): UndoItem => {
    const { step, phaseName, batchId, entry, place } = line
    const row = rows.get(keyOf(step.id, entry.attempt)) ?? null
    const item = (state: UndoState, note: string | null = null) => ({
      step,
      phaseName,
      batchId,
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
  (effect.creates ?? []).some((name) => sameName(name, target))

function unknownBecause({ outcome, workerId }: LedgerEntry): string {
  if (outcome === 'succeeded' || outcome === 'incomplete')
    return `Worker ${workerId} did not say what the function changed.`
  return `The job ended as ${outcome.replace('_', '-')}; what it changed is unknown. Check the tenant.`
}

function refuseUndo(
  draft: Draft,
  member: Member,
  items: readonly UndoItem[],
  ledger: Ledger,
): Refusal {
  const elsewhere = refuseElsewhere(member.id, ledger)
  if (elsewhere) return elsewhere
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
  ledger: Ledger,
  why: string,
): Refusal {
  const no = refuseUndo(draft, member, items, ledger)
  if (no) return no
  const due = items.filter(({ state }) => state === 'to_undo')
  const because = `undone by ${draft.actor}: ${why}`
  if (member.status !== 'removed') stopMember(draft, member, due, because)
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
function stopMember(draft: Draft, member: Member, due: readonly UndoItem[], because: string): void {
  const passed = new Set(
    due
      .flatMap((item) => stepsHere(draft, member, item))
      .filter(({ kind, status }) => kind === 'phase' && status === 'succeeded'),
  )
  for (const step of passed) draft.transitionStep(step, 'undo', because)
  if (member.status === 'active')
    draft.transitionMember(member, 'fail', because, { failedAt: draft.now })
  cancelOpenSteps(draft, member.id, because)
}

/** The step itself, or the step of this wave that came along with what it did in another one. */
function stepsHere(draft: Draft, member: Member, item: UndoItem): Step[] {
  if (draft.steps.has(item.step.id)) return [item.step]
  return draft
    .siblings(member.id, 'phase')
    .filter((step) =>
      isSamePlace(item, { step, phaseName: draft.phaseOf(step)!.name, batchId: draft.batch.id }),
    )
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
    // An undo that failed in another wave stays there as it ended.
    if (row && draft.steps.has(row.id)) {
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
