// A runbook as the migration rules see it: steps in the order in which a member meets them, with their facts and their places in the text.

import type { FactsOf, FunctionFacts } from '../function-facts.ts'
import type { Gate, Runbook, RunbookStep } from '../model.ts'
import type { Outline, PhaseOutline, StepOutline } from '../outline.ts'
import type { Findings } from '../problems.ts'
import { inOrder } from '../steps.ts'
import type { MapNode } from '../tree.ts'

export interface LintedStep {
  readonly step: RunbookStep
  readonly outline: StepOutline
  /** Null for a function that nobody declared and for a template. */
  readonly facts: FunctionFacts | null
}

export interface LintedPhase {
  readonly name: string
  readonly offsetMinutes: number
  readonly gate: Gate | null
  readonly outline: PhaseOutline
  readonly steps: readonly LintedStep[]
}

/** What the rules read. */
export interface ReadableRunbook {
  readonly root: MapNode
  readonly outline: Outline
  readonly runbook: Runbook
}

/** A runbook with its document; steps stand at the same places in both. */
export interface Linted {
  readonly root: MapNode
  readonly runbook: Runbook
  readonly init: readonly LintedStep[]
  /** In the order in which they are due. */
  readonly phases: readonly LintedPhase[]
  readonly removal: readonly LintedStep[]
  readonly rollbacks: ReadonlyMap<string, readonly LintedStep[]>
}

export function lintedOf({ root, outline, runbook }: ReadableRunbook, factsOf: FactsOf): Linted {
  const pair = (steps: readonly RunbookStep[], outlines: readonly StepOutline[]): LintedStep[] =>
    steps.map((step, at) => ({
      step,
      outline: outlines[at]!,
      facts: factsOf(step.workerId, step.function),
    }))
  const phases = runbook.phases.map(({ name, offsetMinutes, gate, steps }, at) => ({
    name,
    offsetMinutes,
    gate,
    outline: outline.phases[at]!,
    steps: pair(steps, outline.phases[at]!.steps),
  }))
  const rollbacks = outline.rollbacks.map(({ entry, steps }) => {
    const name = entry.key.toLowerCase()
    return [name, pair(runbook.rollbacks.get(name)!, steps)] as const
  })
  return {
    root,
    runbook,
    init: pair(runbook.init, outline.init),
    phases: inOrder(phases),
    removal: pair(runbook.onMemberRemoved, outline.removal),
    rollbacks: new Map(rollbacks),
  }
}

export const phaseSteps = ({ phases }: Linted): LintedStep[] => phases.flatMap(({ steps }) => steps)

export const allSteps = (linted: Linted): LintedStep[] => [
  ...linted.init,
  ...phaseSteps(linted),
  ...linted.removal,
  ...[...linted.rollbacks.values()].flat(),
]

export function warnAtFunction(
  findings: Findings,
  code: Parameters<Findings['add']>[0],
  { outline, step }: LintedStep,
  details: Record<string, string | number> = {},
): void {
  const key = step.notify ? 'notify' : 'function'
  const { keySpan, value } = outline.node.entries.get(key)!
  const at = step.notify ? keySpan : value
  findings.add(code, at, `${outline.path}.${key}`, { function: step.function, ...details })
}
