// Judges a valid runbook by the migration rules. Every rule is a function from the steps in the order in which a member meets them to
// warnings at line and column. What the catalogue does not know is not judged.

import { durationText } from '../../../base/text/duration.ts'
import type { Json } from '../../../base/text/json.ts'
import { sameName, valueNamed } from '../../../base/text/same-name.ts'
import { whenText } from '../conditions.ts'
import { foreignPeople } from '../foreign-people.ts'
import type { FactsOf, FunctionFacts } from '../function-facts.ts'
import type { RunbookStep } from '../model.ts'
import { mapAt, scalarAt } from '../outline.ts'
import type { Findings } from '../problems.ts'
import { DEFAULTS } from '../shape.ts'
import { variablesOf } from '../template.ts'
import { ignoreCommentsIn } from './ignore-comments.ts'
import { isCatalogueRule } from './lint-rules.ts'
import {
  allSteps,
  type Linted,
  type LintedStep,
  lintedOf,
  phaseSteps,
  type ReadableRunbook,
  warnAtFunction,
} from './linted.ts'
import { noWindowBeforeNextPhase, phaseOutsideWindow, stepPastWindow } from './window-rules.ts'

/** Enough to look at what failed and to hold. */
const HOLD_GAP_MINUTES = 60

/** Adds the warnings that no comment ignores. */
export function lintRunbook(
  source: string,
  readable: ReadableRunbook,
  factsOf: FactsOf,
  findings: Findings,
): void {
  const { root } = readable
  const linted = lintedOf(readable, factsOf)
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

/** A change that can be checked, and undone or lost. */
const isChange = (facts: FunctionFacts | null): boolean =>
  facts?.effect === 'changes' && !facts.isMomentary

const isDeletion = ({ removes, isIrreversible }: FunctionFacts): boolean =>
  removes === true || isIrreversible === true

function runsTooEarly(linted: Linted, findings: Findings): void {
  const steps = phaseSteps(linted)
  for (const [at, one] of steps.entries()) {
    const order = one.facts?.comesAfter
    if (!order) continue
    const { functions, because, unless } = order
    const given = unless ? textOf(paramOf(one.step, unless.parameter)) : ''
    if (unless && given.toLowerCase().startsWith(unless.startsWith.toLowerCase())) continue
    const first = steps
      .slice(at + 1)
      .find(
        ({ step }) =>
          step.workerId === one.step.workerId &&
          functions.some((name) => sameName(name, step.function)),
      )
    if (first) warnAtFunction(findings, 'RUNS_TOO_EARLY', one, { step: first.step.name, because })
  }
}

function changeWithoutCheck(linted: Linted, findings: Findings): void {
  const steps = phaseSteps(linted)
  for (const [at, one] of steps.entries()) {
    const { facts, step } = one
    if (!isChange(facts) || hasRollback(linted, step)) continue
    const isChecked = steps.slice(at + 1).some((later) => mayCheck(later, one))
    if (!isChecked) warnAtFunction(findings, 'CHANGE_WITHOUT_CHECK', one)
  }
}

/** A custom function may check anything. */
const mayCheck = (later: LintedStep, { step, facts }: LintedStep): boolean =>
  later.step.workerId === step.workerId &&
  (later.facts === null ||
    (later.facts.effect === 'reads' && later.facts.subject === facts!.subject))

/** One that only sends mail is a notice. */
const hasRollback = ({ rollbacks }: Linted, { onFailure }: RunbookStep): boolean =>
  onFailure !== null && rollbacks.get(onFailure)!.some(({ facts }) => facts?.effect !== 'tells')

function rollbackDoesNotUndo(linted: Linted, findings: Findings): void {
  for (const one of phaseSteps(linted)) {
    const { step, facts, outline } = one
    // What a failed creation made has no id that its rollback could use; running it again finds it.
    if (!facts || !isChange(facts) || facts.creates) continue
    if (facts.undoneBy.length === 0 || !hasRollback(linted, step)) continue
    const rollback = linted.rollbacks.get(step.onFailure!)!
    const mayUndoAll = rollback.some(
      (undo) =>
        undo.facts === null || (isDeletion(undo.facts) && undo.step.workerId === step.workerId),
    )
    const lacks = mayUndoAll ? null : lackOf(one, rollback)
    if (lacks === null) continue
    const at = scalarAt(outline.node, 'on_failure')!
    findings.add('ROLLBACK_DOES_NOT_UNDO', at, `${outline.path}.on_failure`, {
      rollback: step.onFailure!,
      function: step.function,
      undo: `${facts.undoneBy.join(' or ')}${lacks}`,
    })
  }
}

/** The step that begins the copy may take back what came before it: when it fails, there is no copy. */
function rollbackDeletesCopy(linted: Linted, findings: Findings): void {
  const steps = [...linted.init, ...phaseSteps(linted)]
  const begun = steps.findIndex(({ facts }) => facts?.copy === 'begins')
  if (begun < 0) return
  for (const { step, outline } of steps.slice(begun + 1)) {
    if (step.onFailure === null) continue
    const lost = linted.rollbacks
      .get(step.onFailure)!
      .find(({ facts }) => facts !== null && (facts.copy === 'discards' || isDeletion(facts)))
    if (!lost) continue
    const at = scalarAt(outline.node, 'on_failure')!
    findings.add('ROLLBACK_DELETES_COPY', at, `${outline.path}.on_failure`, {
      step: steps[begun]!.step.name,
      rollback: step.onFailure,
      undo: lost.step.function,
    })
  }
}

/** Creating refuses a name that is taken, and its outputs are then unset; the name alone may be a colleague. */
function removalMayHitOthers(linted: Linted, findings: Findings): void {
  const steps = phaseSteps(linted)
  const isOutput = (name: string) =>
    steps.some(({ step }) => valueNamed(step.outputParams, name) !== undefined)
  for (const one of linted.removal.filter(({ facts }) => isChange(facts))) {
    const values = Object.values(one.step.params)
    const isMade = one.step.when.some(
      ({ test, variable }) => test === 'present' && isOutput(variable),
    )
    for (const { step } of isMade ? [] : steps.filter(({ facts }) => facts?.creates)) {
      if (step.workerId !== one.step.workerId) continue
      const value = Object.values(step.params).find((text) => values.includes(text))
      const names = typeof value === 'string' ? variablesOf({ value }) : []
      const details = { value: String(value), step: step.name }
      if (names.length > 0 && !names.some(isOutput))
        warnAtFunction(findings, 'REMOVAL_MAY_HIT_OTHERS', one, details)
    }
  }
}

function variableMayBeLeftOut(linted: Linted, findings: Findings): void {
  const steps = phaseSteps(linted)
  const { columns } = linted.runbook.dataSource
  for (const [at, one] of steps.entries()) {
    for (const variable of variablesOf(one.step.params)) {
      if (columns?.some((column) => sameName(column, variable))) continue
      const providers = steps
        .slice(0, at)
        .filter(({ step }) => valueNamed(step.outputParams, variable) !== undefined)
      const [first] = providers
      if (!first || providers.some(({ step }) => coversAll(step, one.step, variable))) continue
      const details = { variable, step: first.step.name }
      warnAtFunction(findings, 'VARIABLE_MAY_BE_LEFT_OUT', one, details)
    }
  }
}

/** Whenever `user` runs, `provider` has run. */
const coversAll = (provider: RunbookStep, user: RunbookStep, variable: string): boolean =>
  user.when.some((one) => one.test === 'present' && sameName(one.variable, variable)) ||
  provider.when.every((one) => user.when.some((other) => whenText([one]) === whenText([other])))

function peopleOfOtherTenant(linted: Linted, findings: Findings): void {
  for (const one of allSteps(linted))
    for (const foreign of foreignPeople(linted.runbook, one.step, one.facts))
      warnAtFunction(findings, 'PEOPLE_OF_OTHER_TENANT', one, { ...foreign })
}

/** How a step that undoes this one differs from those of the rollback; null if one of them undoes it. */
function lackOf({ step, facts }: LintedStep, rollback: readonly LintedStep[]): string | null {
  const undoing = rollback.filter((undo) =>
    facts!.undoneBy.some((name) => sameName(name, undo.step.function)),
  )
  if (undoing.length === 0) return ''
  const here = undoing.filter((undo) => undo.step.workerId === step.workerId)
  if (here.length === 0) return ` on worker "${step.workerId}"`
  const others = here.map((undo) => otherObject(step, undo.step))
  return others.includes(null) ? null : ` for the same ${others[0]!}`
}

/** The parameter by which the opposite function concerns another object. Values from data are not compared. */
function otherObject(step: RunbookStep, undo: RunbookStep): string | null {
  // The same function undoes by setting another value.
  if (sameName(step.function, undo.function)) return null
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
  for (const one of allSteps(linted)) {
    if (!one.facts || one.facts.isIdempotent || !one.step.retry?.maxRetries) continue
    warnAtFunction(findings, 'RETRY_NOT_IDEMPOTENT', one)
  }
}

function ownFunctionRuns(linted: Linted, findings: Findings): void {
  for (const one of allSteps(linted)) {
    if (!one.facts?.overrides) continue
    warnAtFunction(findings, 'OWN_FUNCTION_RUNS', one, { worker: one.step.workerId })
  }
}

/** Only notices to the members count: their address comes from a variable. */
function noticeAfterCutover({ phases }: Linted, findings: Findings): void {
  let hasBegun = false
  for (const { offsetMinutes, steps } of phases) {
    if (offsetMinutes < 0) hasBegun = true
    for (const one of steps) {
      if (offsetMinutes === 0 && isChange(one.facts)) hasBegun = true
      const to = one.step.notify?.to ?? textOf(paramOf(one.step, 'To'))
      if (one.facts?.effect !== 'tells' || !to.includes('{{')) continue
      if (hasBegun) warnAtFunction(findings, 'NOTICE_AFTER_CUTOVER', one)
      return
    }
  }
}

function removalDeletes({ removal }: Linted, findings: Findings): void {
  for (const one of removal) {
    if (one.facts && isDeletion(one.facts)) warnAtFunction(findings, 'REMOVAL_DELETES', one)
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
    if (given === null || !sameName(String(given.value), String(off))) continue
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
    const firstChange = steps.findIndex(({ facts }) => facts === null || isChange(facts))
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
  runsTooEarly,
  changeWithoutCheck,
  rollbackDoesNotUndo,
  rollbackDeletesCopy,
  peopleOfOtherTenant,
  removalMayHitOthers,
  variableMayBeLeftOut,
  pollPastNextPhase,
  retryNotIdempotent,
  ownFunctionRuns,
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
const paramOf = ({ params }: RunbookStep, name: string): Json => valueNamed(params, name) ?? null

const textOf = (value: Json): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? '')
