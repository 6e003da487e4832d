// The steps of a plan as a table: a line per step, with the parameters of the first example.
import type { Json } from '../../../base/text/json.ts'
import type { NotedPhase } from '../../../domain/plan/plan-notes.ts'
import type { Column, Row } from '../../terminal/show.ts'

interface PlannedStep {
  readonly name: string
  readonly workerId: string
  readonly examples: readonly {
    readonly functionName: string
    readonly params: Json
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

export const STEP_COLUMNS: readonly Column[] = [
  ['PHASE', 'phase'],
  ['DUE', 'dueAt'],
  ['STEP', 'step'],
  ['WORKER', 'workerId', 'spare'],
  ['FUNCTION', 'functionName'],
  ['MISSING', 'missing'],
  ['PARAMETERS', 'params'],
]

export function stepRows({ init, phases, onRemoval }: PlannedSteps): Row[] {
  const rows = (phase: string, dueAt: string | null, steps: readonly PlannedStep[]): Row[] =>
    steps.map(({ name: step, workerId, examples: [example] }) => ({
      phase,
      dueAt,
      step,
      workerId,
      functionName: example?.functionName ?? null,
      missing: example?.missing.join(', ') || null,
      params: example?.params ?? null,
    }))
  return [
    ...rows('init', null, init),
    ...phases.flatMap(({ name, dueAt, steps }) => rows(name, dueAt, steps)),
    ...rows('removal', null, onRemoval),
  ]
}
