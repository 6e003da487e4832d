// The steps of a plan as a table: a line per step, with the parameters of the first example.
import type { NotedPhase } from '../../../domain/plan/plan-notes.ts'
import type { Column } from '../../terminal/show.ts'

interface PlannedStep {
  readonly name: string
  readonly workerId: string
  readonly isOwnFunction: boolean
  readonly when: string | null
  readonly examples: readonly {
    readonly functionName: string
    readonly params: unknown
    readonly missing: readonly string[]
  }[]
}

/** As the API answers it. */
export interface PlannedSteps {
  readonly init: readonly PlannedStep[]
  readonly phases: readonly (NotedPhase & {
    readonly name: string
    readonly dueAt: string | null
    readonly steps: readonly PlannedStep[]
  })[]
  readonly onRemoval: readonly PlannedStep[]
}

interface StepRow {
  readonly phase: string
  readonly dueAt: string | null
  readonly step: string
  readonly workerId: string
  readonly functionName: string | null
  readonly when: string | null
  readonly missing: string | null
  readonly params: unknown
}

export const STEP_COLUMNS: readonly Column<StepRow>[] = [
  ['PHASE', 'phase'],
  ['DUE', 'dueAt'],
  ['STEP', 'step'],
  ['WORKER', 'workerId', 'spare'],
  ['FUNCTION', 'functionName'],
  ['ONLY WHEN', 'when', 'spare'],
  ['MISSING', 'missing'],
  ['PARAMETERS', 'params'],
]

export function stepRows({ init, phases, onRemoval }: PlannedSteps): StepRow[] {
  const rows = (phase: string, dueAt: string | null, steps: readonly PlannedStep[]): StepRow[] =>
    steps.map(({ name: step, workerId, isOwnFunction, when, examples: [example] }) => ({
      phase,
      dueAt,
      step,
      workerId,
      functionName: example ? functionText(example.functionName, isOwnFunction) : null,
      when,
      missing: example?.missing.join(', ') || null,
      params: example?.params ?? null,
    }))
  return [
    ...rows('init', null, init),
    ...phases.flatMap(({ name, dueAt, steps }) => rows(name, dueAt, steps)),
    ...rows('removal', null, onRemoval),
  ]
}

/** `Remove-EntraUser (your own)`: what the name says is not what runs. */
const functionText = (name: string, isOwn: boolean): string => (isOwn ? `${name} (your own)` : name)
