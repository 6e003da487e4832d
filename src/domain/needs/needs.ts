// What needs a person now, as a value: its sentence, its severity and the command that handles it. The order, the first line and the
// choice for one batch are decided here, for every place that shows them.
import { countText } from '../../base/text/count-text.ts'
import { kindRow, NEED_KINDS, type NeedKind, SEVERITIES, type Severity } from './kinds.ts'

export interface Need {
  readonly kind: NeedKind
  readonly severity: Severity
  /** The same for as long as it lasts, so that looking again finds nothing new. */
  readonly key: string
  /** The runbooks concerned; null: all. */
  readonly runbookNames: readonly string[] | null
  /** The batches concerned; null: all of these runbooks. */
  readonly batchIds: readonly number[] | null
  /** The worker concerned, if there is one. */
  readonly workerId: string | null
  /** Of a gate: when its phase is due. */
  readonly dueAt: Date | null
  /** A few words. */
  readonly title: string
  /** A sentence without its full stop; times are instants. It names no member: walls and channels show it. */
  readonly text: string
  readonly count: number
  /** One of what is counted. */
  readonly noun: string
  readonly since: Date
  /** Handles it, or shows it in full. */
  readonly command: string
  /** Commands that decide it as a whole. */
  readonly decide: readonly string[]
  /** Changes when there is more to it than before: then it is no longer accepted. */
  readonly mark: string
  /** What people said about it. */
  readonly decision: NeedDecision | null
}

export interface NeedDecision {
  /** Who takes care of it. */
  readonly owner: string | null
  /** The need's mark when it was accepted. */
  readonly acceptedMark: string | null
  readonly by: string
  readonly at: Date
  readonly reason: string
}

const mayBeAccepted = ({ kind }: Pick<Need, 'kind'>): boolean =>
  kindRow(kind).mayBeAccepted === true

/** Somebody accepted it as it is now. */
export const isAccepted = ({ decision, mark }: Pick<Need, 'decision' | 'mark'>): boolean =>
  decision !== null && decision.acceptedMark === mark

/** Nobody is needed for what is accepted: it is as somebody decided. */
export function withDecision(need: Need, decision: NeedDecision | null): Need {
  const decided = { ...need, decision }
  return isAccepted(decided)
    ? { ...decided, severity: 'planned', text: `${need.text}, accepted by ${decision!.by}` }
    : decided
}

export interface NeedOrder {
  readonly owner: string | null | undefined
  readonly isAccepted: boolean | undefined
  readonly actor: string
  readonly reason: string
  readonly now: Date
}

/** The decision as it is from now on; what the order leaves out stays. */
export function decideNeed(
  need: Need,
  { owner, isAccepted: accepts, actor, reason, now }: NeedOrder,
): { readonly decision: NeedDecision } | { readonly refusal: string } {
  if (accepts && !mayBeAccepted(need))
    return { refusal: `this need ends when its cause does, and cannot be accepted: ${need.text}` }
  const { decision } = need
  const mark = accepts === undefined ? (decision?.acceptedMark ?? null) : accepts ? need.mark : null
  return {
    decision: {
      owner: owner === undefined ? (decision?.owner ?? null) : owner,
      acceptedMark: mark,
      by: actor,
      at: now,
      reason,
    },
  }
}

type Given = Pick<
  Need,
  'kind' | 'runbookNames' | 'batchIds' | 'title' | 'text' | 'since' | 'command'
> &
  Partial<Pick<Need, 'severity' | 'count' | 'noun' | 'decide' | 'workerId' | 'dueAt' | 'mark'>>

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** `identity`: what tells it from others of its kind. */
export function makeNeed(given: Given, ...identity: readonly (string | number)[]): Need {
  const { kind } = given
  const row = kindRow(kind)
  return {
    severity: row.severity,
    count: 1,
    noun: row.noun,
    decide: [],
    workerId: null,
    dueAt: null,
    mark: String(given.count ?? 1),
    decision: null,
    ...given,
    title: capital(given.title),
    text: capital(given.text),
    key: [kind, ...identity].join(':'),
  }
}

const isNeeded = ({ severity }: Pick<Need, 'severity'>): boolean => severity !== 'planned'

/** The batch, where it concerns one alone. */
export const batchIdOf = ({ batchIds }: Pick<Need, 'batchIds'>): number | null =>
  batchIds?.length === 1 ? batchIds[0]! : null

/** The page of the dashboard that handles it. */
export function needPage(need: Pick<Need, 'kind' | 'batchIds' | 'workerId'>): {
  path: string
  link: string
} {
  const { page, link } = kindRow(need.kind)
  if (need.workerId !== null)
    return { path: page.replace(':workerId', encodeURIComponent(need.workerId)), link }
  const batchId = batchIdOf(need)
  const isOfNone = batchId === null && page.includes(':batchId')
  return { path: isOfNone ? '/batches' : page.replace(':batchId', String(batchId)), link }
}

/** Whether it concerns this batch. */
export const concerns = (
  { batchIds, runbookNames }: Need,
  batch: { readonly id: number; readonly runbookName: string },
): boolean =>
  batchIds === null
    ? runbookNames === null || runbookNames.includes(batch.runbookName)
    : batchIds.includes(batch.id)

/** The greatest harm first; of the same kind the oldest. */
export function byHarm(needs: readonly Need[]): Need[] {
  const rank = ({ severity, kind }: Need): number =>
    SEVERITIES.indexOf(severity) * NEED_KINDS.length + NEED_KINDS.indexOf(kind)
  return [...needs].sort((a, b) => rank(a) - rank(b) || +a.since - +b.since)
}

/** A hold, or the gate of a phase, explains why phases behind it are late: one cause is one need. */
export const withoutExplained = (
  work: readonly Need[],
  holds: readonly Need[],
  gates: readonly Need[],
): Need[] =>
  work.filter(({ kind, batchIds, runbookNames, since }) => {
    if (kind !== 'phase_late') return true
    const batch = { id: batchIds![0]!, runbookName: runbookNames![0]! }
    const isAtGate = gates.some((gate) => concerns(gate, batch) && +gate.dueAt! <= +since)
    return !isAtGate && !holds.some((hold) => isNeeded(hold) && concerns(hold, batch))
  })

/** An unapproved gate explains why the batch is held by its gate, and lasts from the day before. */
export const withoutGates = (holds: readonly Need[], gates: readonly Need[]): Need[] => {
  const unapproved = new Set(gates.map(batchIdOf))
  return holds.filter((hold) => hold.kind !== 'gate_waiting' || !unapproved.has(batchIdOf(hold)))
}

/** What is not there before: worth an event and a line in the log, once. */
export function newNeeds(before: readonly Need[], after: readonly Need[]): Need[] {
  const known = new Set(before.map(({ key, text }) => `${key} ${text}`))
  return after.filter(({ key, text }) => !known.has(`${key} ${text}`))
}

/** Who is needed, in one answer. */
export interface NeedVerdict {
  readonly isActionNeeded: boolean
  /** Of the first need; null when no action is needed. */
  readonly severity: Severity | null
  readonly headline: string
  readonly needs: readonly Need[]
  /** Holds that a person set, and what people accepted. */
  readonly planned: readonly Need[]
}

/** `running`: phases that run. `next`: the next phase with its time. */
export function verdictOf(
  found: readonly Need[],
  { running, next }: { readonly running: number; readonly next: string | null },
): NeedVerdict {
  const ordered = byHarm(found)
  const needs = ordered.filter(isNeeded)
  const planned = ordered.filter((need) => !isNeeded(need))
  const doing =
    running > 0
      ? `${countText(running, 'phase')} ${running === 1 ? 'is' : 'are'} running`
      : next === null
        ? 'nothing is scheduled'
        : `nothing is running; next is ${next}`
  const [first] = needs
  const [hold] = planned
  const more = needs.length < 2 ? '' : ` And ${countText(needs.length - 1, 'more thing')}.`
  const headline = first
    ? `Action needed: ${first.text}${first.decision?.owner ? `; ${first.decision.owner} takes care of it` : ''}.${more}`
    : `No action needed: ${doing}.${hold ? ` ${hold.text}.` : ''}`
  const severity = first?.severity ?? null
  return { isActionNeeded: needs.length > 0, severity, headline, needs, planned }
}
