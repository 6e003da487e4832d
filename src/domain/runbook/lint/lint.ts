// Judges a valid runbook by the migration rules. Every rule is a function from the steps in the order in which a member meets them to
// warnings at line and column. What the catalogue does not know is not judged.
import { durationText } from '../../../base/text/duration.ts'
import type { Json } from '../../../base/text/json.ts'
import type { Runbook, RunbookStep } from '../model.ts'
import { mapAt, type Outline, scalarAt } from '../outline.ts'
import type { Findings } from '../problems.ts'
import { DEFAULTS } from '../shape.ts'
import type { MapNode } from '../tree.ts'
import { ignoreCommentsIn } from './ignore-comments.ts'
import { isCatalogueRule } from './lint-rules.ts'
import { inOrder, type Linted, type LintedStep, lintedOf, warnAtFunction } from './linted.ts'
import { noWindowBeforeNextPhase, phaseOutsideWindow, stepPastWindow } from './window-rules.ts'

/** Enough to look at what failed and to hold. */
const HOLD_GAP_MINUTES = 60

/** Adds the warnings that no comment ignores. */
export function lintRunbook(
  source: string,
  { root, outline, runbook }: { root: MapNode; outline: Outline; runbook: Runbook },
  findings: Findings,
): void {
  const linted = lintedOf(root, outline, runbook)
  for (const rule of RULES) rule(linted, findings)
  for (const comment of ignoreCommentsIn(source, root, findings)) {
    const { id, reason, firstLine, lastLine } = comment
    const isIgnored = findings.ignore(
      ({ code, line }) => code === id && line >= firstLine && line <= lastLine,
      reason,
    )
    if (!isIgnored && !isCatalogueRule(id)) findings.add('IGNORE_UNUSED', comment, '', { id })
  }
}

/** The licence of the move has no mailbox. */
const MOVE_LICENCE = /^CROSS_TENANT_/i
const GUID_SETTERS = ['set-exchangemovetarget', 'set-exchangemailuserguids']

function licenceBeforeGuid(linted: Linted, findings: Findings): void {
  const steps = inOrder(linted)
  for (const [at, one] of steps.entries()) {
    if (one.facts?.name !== 'Add-EntraUserLicense') continue
    if (MOVE_LICENCE.test(textOf(paramOf(one.step, 'SkuId')))) continue
    const setter = steps
      .slice(at + 1)
      .find(
        ({ step }) =>
          GUID_SETTERS.includes(step.function.toLowerCase()) && step.workerId === one.step.workerId,
      )
    if (setter) warnAtFunction(findings, 'LICENCE_BEFORE_GUID', one, { step: setter.step.name })
  }
}

function changeWithoutCheck(linted: Linted, findings: Findings): void {
  const steps = inOrder(linted)
  for (const [at, one] of steps.entries()) {
    const { facts, step } = one
    if (!facts?.isChange || hasRollback(linted, step)) continue
    const isChecked = steps.slice(at + 1).some((later) => mayCheck(later, one))
    if (!isChecked) warnAtFunction(findings, 'CHANGE_WITHOUT_CHECK', one)
  }
}

/** A custom function may check anything. */
const mayCheck = (later: LintedStep, { step, facts }: LintedStep): boolean =>
  later.step.workerId === step.workerId &&
  (later.facts === null || (later.facts.isCheck && later.facts.service === facts!.service))

/** One that only sends mail is a notice. */
const hasRollback = ({ rollbacks }: Linted, { onFailure }: RunbookStep): boolean =>
  onFailure !== null && rollbacks.get(onFailure)!.some(({ facts }) => !facts?.isNotice)

function rollbackDoesNotUndo(linted: Linted, findings: Findings): void {
  for (const one of inOrder(linted)) {
    const { step, facts, outline } = one
    // What a failed creation made has no id that its rollback could use; running it again finds it.
    if (!facts?.isChange || facts.name.startsWith('New-')) continue
    if (facts.undoneBy.size === 0 || !hasRollback(linted, step)) continue
    const rollback = linted.rollbacks.get(step.onFailure!)!
    const mayUndoAll = rollback.some(
      (undo) =>
        undo.facts === null || (undo.facts.isDeletion && undo.step.workerId === step.workerId),
    )
    const lacks = mayUndoAll ? null : lackOf(one, rollback)
    if (lacks === null) continue
    const at = scalarAt(outline.node, 'on_failure')!
    findings.add('ROLLBACK_DOES_NOT_UNDO', at, `${outline.path}.on_failure`, {
      rollback: step.onFailure!,
      function: facts.name,
      undo: `${facts.undoNames.join(' or ')}${lacks}`,
    })
  }
}

/** How a step that undoes this one differs from those of the rollback; null if one of them undoes it. */
function lackOf({ step, facts }: LintedStep, rollback: readonly LintedStep[]): string | null {
  const undoing = rollback.filter((undo) => facts!.undoneBy.has(undo.step.function.toLowerCase()))
  if (undoing.length === 0) return ''
  const here = undoing.filter((undo) => undo.step.workerId === step.workerId)
  if (here.length === 0) return ` on worker "${step.workerId}"`
  const others = here.map((undo) => otherObject(step, undo.step))
  return others.includes(null) ? null : ` for the same ${others[0]!}`
}

/** The parameter by which the opposite function concerns another object. Values from data are not compared. */
function otherObject(step: RunbookStep, undo: RunbookStep): string | null {
  // The same function undoes by setting another value.
  if (step.function.toLowerCase() === undo.function.toLowerCase()) return null
  const names = Object.keys(step.params).filter((name) => {
    const [done, undone] = [fixedText(step.params[name]!), fixedText(paramOf(undo, name))]
    return done !== null && undone !== null && done !== undone
  })
  return names[0] ?? null
}

const fixedText = (value: Json): string | null =>
  typeof value === 'string' && !value.includes('{{') ? value.toLowerCase() : null

function pollPastNextPhase({ phases }: Linted, findings: Findings): void {
  for (const [at, phase] of phases.entries()) {
    const next = phases.slice(at + 1).find((one) => one.offsetMinutes < phase.offsetMinutes)
    if (!next) continue
    const gapSec = (phase.offsetMinutes - next.offsetMinutes) * 60
    for (const { step, outline } of phase.steps) {
      if (!step.poll || step.poll.timeoutSec <= gapSec) continue
      const timeout = scalarAt(mapAt(outline.node, 'poll'), 'timeout')!
      findings.add('POLL_PAST_NEXT_PHASE', timeout, `${outline.path}.poll.timeout`, {
        timeout: durationText(step.poll.timeoutSec * 1_000),
        phase: next.name,
        gap: durationText(gapSec * 1_000),
      })
    }
  }
}

function retryNotIdempotent(linted: Linted, findings: Findings): void {
  const all = [
    ...linted.init,
    ...inOrder(linted),
    ...linted.removal,
    ...[...linted.rollbacks.values()].flat(),
  ]
  for (const one of all) {
    if (!one.facts || one.facts.isIdempotent || !one.step.retry?.maxRetries) continue
    warnAtFunction(findings, 'RETRY_NOT_IDEMPOTENT', one)
  }
}

/** Only notices to the members count: their address comes from a variable. */
function noticeAfterCutover({ phases }: Linted, findings: Findings): void {
  let hasBegun = false
  for (const { offsetMinutes, steps } of phases) {
    if (offsetMinutes < 0) hasBegun = true
    for (const one of steps) {
      if (offsetMinutes === 0 && one.facts?.isChange) hasBegun = true
      const to = one.step.notify?.to ?? textOf(paramOf(one.step, 'To'))
      if (!one.facts?.isNotice || !to.includes('{{')) continue
      if (hasBegun) warnAtFunction(findings, 'NOTICE_AFTER_CUTOVER', one)
      return
    }
  }
}

function removalDeletes({ removal }: Linted, findings: Findings): void {
  for (const one of removal) {
    if (one.facts?.isDeletion) warnAtFunction(findings, 'REMOVAL_DELETES', one)
  }
}

const SAFEGUARDS: readonly [key: string, off: Json, better: string][] = [
  ['max_removal_percent', 100, `${DEFAULTS.maxRemovalPercent}, the default`],
  ['max_failed_percent', 100, `${DEFAULTS.maxFailedPercent}, the default`],
  ['removals_after_start', 'run', `"${DEFAULTS.removalsAfterStart}", the default`],
]

function safeguardOff({ root }: Linted, findings: Findings): void {
  const safeguards = mapAt(root, 'safeguards')
  for (const [key, off, better] of SAFEGUARDS) {
    const given = scalarAt(safeguards, key)
    if (given === null || String(given.value).toLowerCase() !== String(off)) continue
    const details = { key, value: given.source, better }
    findings.add('SAFEGUARD_OFF', given, `safeguards.${key}`, details)
  }
}

function irreversibleWithoutHold({ init, phases }: Linted, findings: Findings): void {
  const gap = durationText(HOLD_GAP_MINUTES * 60_000)
  // Init steps run as soon as the batch is found.
  for (const one of init)
    if (one.facts?.isIrreversible)
      warnAtFunction(findings, 'IRREVERSIBLE_WITHOUT_HOLD', one, { gap })
  for (const [at, { offsetMinutes, gate, steps }] of phases.entries()) {
    const before = phases[at - 1]
    const hasGap =
      (before !== undefined && before.offsetMinutes - offsetMinutes >= HOLD_GAP_MINUTES) ||
      (gate !== null && gate.approvals > 0)
    const firstChange = steps.findIndex(({ facts }) => facts === null || facts.isChange)
    for (const [position, one] of steps.entries()) {
      if (!one.facts?.isIrreversible || (hasGap && position <= firstChange)) continue
      warnAtFunction(findings, 'IRREVERSIBLE_WITHOUT_HOLD', one, { gap })
    }
  }
}

function gateAsksNobody({ phases }: Linted, findings: Findings): void {
  for (const { gate, outline } of phases) {
    if (gate?.approvals !== 0) continue
    const at = scalarAt(mapAt(outline.node, 'gate'), 'approvals')!
    findings.add('GATE_ASKS_NOBODY', at, `${outline.path}.gate.approvals`)
  }
}

const RULES = [
  licenceBeforeGuid,
  changeWithoutCheck,
  rollbackDoesNotUndo,
  pollPastNextPhase,
  retryNotIdempotent,
  noticeAfterCutover,
  removalDeletes,
  safeguardOff,
  irreversibleWithoutHold,
  gateAsksNobody,
  stepPastWindow,
  phaseOutsideWindow,
  noWindowBeforeNextPhase,
]

/** Names of parameters ignore case. */
const paramOf = ({ params }: RunbookStep, name: string): Json =>
  Object.entries(params).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1] ?? null

const textOf = (value: Json): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? '')
