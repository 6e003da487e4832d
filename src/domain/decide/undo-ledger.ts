// The undo ledger of one person, or of init: what the settled jobs changed, in the order of their ends. It follows the person: what was
// done in another wave of the runbook belongs to it, too, and is undone where the person is now.
import type { LedgerEffect } from '../state/effects.ts'
import { isUnsettled, type Step } from '../state/facts.ts'
import { isOpen, isPassed } from '../state/transitions.ts'
import type { AttemptRecord, Draft } from './draft.ts'

/** A settled job as the ledger has it. */
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

/** A step, and the wave in which it ran. */
export interface LedgerStep {
  readonly step: Step
  readonly phaseName: string | null
  readonly batchId: number
}

export interface Ledger {
  /** In the order in which the jobs ended. */
  readonly entries: readonly LedgerEntry[]
  /** The steps of the same person in other waves. */
  readonly elsewhere: readonly LedgerStep[]
  /** The wave where the person is now; null when it is this one. */
  readonly nowInBatchId: number | null
}

export const NO_LEDGER: Ledger = { entries: [], elsewhere: [], nowInBatchId: null }

const MAY_HAVE_ACTED: ReadonlySet<LedgerEntry['outcome']> = new Set([
  'succeeded',
  'incomplete',
  'failed',
  'lost',
  'dead_lettered',
])

export interface LedgerLine extends LedgerStep {
  readonly entry: LedgerEntry
  readonly place: number
}

type StepsOfPerson = ReadonlyMap<number, LedgerStep>

export const keyOf = (stepId: number | null, attempt: number | null): string =>
  `${stepId} ${attempt}`

/** All steps of the person, those of other waves first. */
export function stepsOfPerson(
  draft: Draft,
  memberId: number | null,
  { elsewhere }: Ledger,
): StepsOfPerson {
  const own = (draft.stepsOfMember.get(memberId) ?? []).map(
    (step): LedgerStep => ({
      step,
      phaseName: draft.phaseOf(step)?.name ?? null,
      batchId: draft.batch.id,
    }),
  )
  return new Map([...elsewhere, ...own].map((one) => [one.step.id, one]))
}

const ofKind = (steps: StepsOfPerson, kind: Step['kind']): Step[] =>
  [...steps.values()].flatMap(({ step }) => (step.kind === kind ? [step] : []))

/** The undo step of each effect. One of this wave replaces one of another, which ended there. */
export const rowsByEffect = (steps: StepsOfPerson): ReadonlyMap<string, Step> => {
  const rows = new Map<string, Step>()
  for (const row of ofKind(steps, 'undo')) {
    const key = keyOf(row.originStepId, row.originAttempt)
    const known = rows.get(key)
    if (!known || !isPassed(known.status)) rows.set(key, row)
  }
  return rows
}

/** One line for each attempt that changed something or may have: polls of one attempt share its first change. */
export function linesOf(steps: StepsOfPerson, { entries }: Ledger): LedgerLine[] {
  const lines = new Map<string, LedgerLine>()
  for (const [place, entry] of entries.entries()) {
    const found = steps.get(entry.stepId)
    if (!found || found.step.kind === 'undo' || !MAY_HAVE_ACTED.has(entry.outcome)) continue
    if (entry.effect?.changed === false) {
      explain(lines, found, entry.effect)
      continue
    }
    const key = keyOf(entry.stepId, entry.attempt)
    const known = lines.get(key)
    if (!known || (known.entry.effect === null && entry.effect !== null))
      lines.set(key, { ...found, entry, place })
  }
  return [...lines.values()].sort((a, b) => a.place - b.place)
}

/** What this attempt found is what an earlier one of the step created before it failed, maybe in another wave. */
function explain(lines: Map<string, LedgerLine>, found: LedgerStep, effect: LedgerEffect): void {
  if (effect.changed || !effect.ifEarlier) return
  for (const [key, line] of lines) {
    if (!isSamePlace(line, found) || line.entry.effect !== null) continue
    lines.set(key, { ...line, entry: { ...line.entry, effect: effect.ifEarlier } })
    return
  }
}

/** The same step of the runbook, in whichever wave. */
export const isSamePlace = (one: LedgerStep, other: LedgerStep): boolean =>
  one.step.id === other.step.id ||
  (one.step.kind === 'phase' && placeName(one) === placeName(other))

const placeName = ({ phaseName, step }: LedgerStep): string =>
  `${phaseName}/${step.definition.stepName}`.toLowerCase()

/** By step: the place in the ledger before which a finished rollback took everything back, and the rollback's own steps. */
export function rolledBackBefore(
  steps: StepsOfPerson,
  { entries }: Ledger,
): (line: LedgerLine) => boolean {
  const placeOfStep = new Map<number, number>()
  for (const [place, { stepId }] of entries.entries())
    if (!placeOfStep.has(stepId)) placeOfStep.set(stepId, place)
  const groups = Map.groupBy(ofKind(steps, 'rollback'), (row) =>
    keyOf(row.originStepId, row.originAttempt),
  )
  const before = new Map<string, number>()
  const own = new Set<number>()
  for (const rows of groups.values()) {
    const name = steps.get(rows[0]!.originStepId!)?.step.definition.onFailure?.toLowerCase()
    const places = rows.flatMap(({ id }) => placeOfStep.get(id) ?? [])
    if (!name || places.length === 0 || !rows.every(({ status }) => isPassed(status))) continue
    before.set(name, Math.max(before.get(name) ?? 0, Math.min(...places)))
    for (const { id } of rows) own.add(id)
  }
  return ({ step, place }) =>
    own.has(step.id) || place < (before.get(step.definition.onFailure?.toLowerCase() ?? '') ?? 0)
}

/** Why nothing of the person may be undone in this wave: the way back starts where the person is. */
export function refuseElsewhere(
  memberId: number,
  { nowInBatchId, elsewhere }: Ledger,
): string | null {
  if (nowInBatchId !== null)
    return `member ${memberId} is in batch ${nowInBatchId} now, and so is what was changed: undo it there`
  const busy = elsewhere.find(
    ({ step }) => isUnsettled(step) || (step.kind !== 'phase' && isOpen(step.status)),
  )
  return busy
    ? `member ${memberId} still has an unfinished step in batch ${busy.batchId}: undo it when that has ended`
    : null
}
