// The migration rules about change windows: what no batch, whenever it starts inside a window, can avoid. The start of a batch is not
// known here, so freezes and clock changes are left to plans.
import { durationText } from '../../../base/text/duration.ts'
import {
  inWeek,
  WEEK_MIN,
  type WeekSpan,
  waitAt,
  weekSpans,
  weekTimeText,
} from '../../windows/week.ts'
import { mayChangeTenant } from '../function-facts.ts'
import { scalarAt } from '../outline.ts'
import type { Findings } from '../problems.ts'
import {
  type Linted,
  type LintedPhase,
  type LintedStep,
  phaseSteps,
  warnAtFunction,
} from './linted.ts'

/** Shorter waits are no surprise on a night. */
const WAIT_MIN = 60
const MINUTE_MS = 60_000

/** Null without hours, or when they fill the week. */
function spansOf({ runbook: { windows } }: Linted): WeekSpan[] | null {
  if (windows === null) return null
  const spans = weekSpans(windows.hours)
  return spans.some(({ from, to }) => to - from >= WEEK_MIN) ? null : spans
}

/** A job that has begun runs to its end: one that needs its whole timeout always ends outside. */
export function stepPastWindow(linted: Linted, findings: Findings): void {
  const spans = spansOf(linted)
  if (spans === null) return
  const longestMin = Math.max(...spans.map(({ from, to }) => to - from))
  const isPast = ({ step, facts }: LintedStep) =>
    mayChangeTenant(facts) && step.timeoutSec > longestMin * 60
  const past = [...linted.init, ...phaseSteps(linted)].filter(isPast)
  const timeoutOf = ({ outline }: LintedStep) => scalarAt(outline.node, 'timeout')
  // All others have the same default.
  const byDefault = past.find((one) => timeoutOf(one) === null)
  for (const one of past) {
    const details = {
      timeout: durationText(one.step.timeoutSec * 1_000),
      window: durationText(longestMin * MINUTE_MS),
    }
    const given = timeoutOf(one)
    if (given) findings.add('STEP_PAST_WINDOW', given, `${one.outline.path}.timeout`, details)
    else if (one === byDefault) warnAtFunction(findings, 'STEP_PAST_WINDOW', one, details)
  }
}

/** A batch that starts as a window opens, and what becomes of a phase. */
interface Case {
  readonly start: number
  readonly due: number
  readonly waitMin: number
}

const casesOf = (spans: readonly WeekSpan[], { offsetMinutes }: LintedPhase): Case[] =>
  spans.map(({ from: start }) => {
    const due = inWeek(start - offsetMinutes)
    return { start, due, waitMin: waitAt(spans, due) }
  })

const worstOf = (cases: readonly Case[]): Case =>
  cases.reduce((worst, one) => (one.waitMin > worst.waitMin ? one : worst))

const hasChanges = ({ steps }: LintedPhase): boolean =>
  steps.some(({ facts }) => mayChangeTenant(facts))

function warnAtOffset(
  findings: Findings,
  code: 'PHASE_OUTSIDE_WINDOW' | 'NO_WINDOW_BEFORE_NEXT_PHASE',
  { outline }: LintedPhase,
  { start, due, waitMin }: Case,
  details: Record<string, string> = {},
): void {
  findings.add(code, scalarAt(outline.node, 'offset')!, `${outline.path}.offset`, {
    start: weekTimeText(start),
    due: weekTimeText(due),
    opens: weekTimeText(due + waitMin),
    wait: durationText(waitMin * MINUTE_MS),
    ...details,
  })
}

/** Batches that start inside a window, at whichever minute, all have this phase outside. */
function isAlwaysOutside(spans: readonly WeekSpan[], { offsetMinutes }: LintedPhase): boolean {
  // If a start leads from a window into a window, one of the first such minutes begins one of the two.
  const edges = spans.flatMap(({ from }) => [from, from + offsetMinutes])
  const starts = edges.filter((minute) => waitAt(spans, minute) === 0)
  return starts.every((start) => waitAt(spans, start - offsetMinutes) > 0)
}

export function phaseOutsideWindow(linted: Linted, findings: Findings): void {
  const spans = spansOf(linted)
  if (spans === null) return
  for (const [at, phase] of linted.phases.entries()) {
    if (!hasChanges(phase) || !isAlwaysOutside(spans, phase)) continue
    const worst = worstOf(casesOf(spans, phase))
    if (worst.waitMin < WAIT_MIN || meets(spans, linted.phases, at)) continue
    warnAtOffset(findings, 'PHASE_OUTSIDE_WINDOW', phase, worst)
  }
}

export function noWindowBeforeNextPhase(linted: Linted, findings: Findings): void {
  const spans = spansOf(linted)
  if (spans === null) return
  for (const [at, phase] of linted.phases.entries()) {
    const found = meets(spans, linted.phases, at)
    if (found)
      warnAtOffset(findings, 'NO_WINDOW_BEFORE_NEXT_PHASE', phase, found, { next: found.next })
  }
}

/** A start at which the changes of a phase wait until the next phase with changes is due as well; null when there is none. */
function meets(
  spans: readonly WeekSpan[],
  phases: readonly LintedPhase[],
  at: number,
): (Case & { readonly next: string }) | null {
  const phase = phases[at]!
  const next = phases
    .slice(at + 1)
    .find((one) => one.offsetMinutes < phase.offsetMinutes && hasChanges(one))
  if (!next || !hasChanges(phase)) return null
  const gapMin = phase.offsetMinutes - next.offsetMinutes
  const late = casesOf(spans, phase).filter(({ waitMin }) => waitMin >= Math.max(gapMin, WAIT_MIN))
  return late.length === 0 ? null : { ...worstOf(late), next: next.name }
}
