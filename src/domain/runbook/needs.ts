// What steps of a runbook will ask for when they are sent: variables that must be there by then, functions that some worker must
// have. For telling a publisher beforehand; whether a member really has a variable is known only to the database.
import type { Json } from '../json.ts'
import { scanTemplate } from '../template.ts'
import type { Runbook, RunbookStep } from './model.ts'
import { BATCH_VARIABLES } from './variables.ts'

function* textsIn(value: Json): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item)
  else if (value !== null && typeof value === 'object')
    for (const item of Object.values(value)) yield* textsIn(item)
}

/** The variables that a step's function and parameters name. */
export function* namesIn(step: RunbookStep): Generator<string> {
  for (const text of [step.function, ...textsIn(step.params)]) {
    for (const part of scanTemplate(text).parts) if (typeof part === 'object') yield part.name
  }
}

/** Every variable that a phase step names. */
export const variablesUsed = ({ phases }: Runbook): Set<string> =>
  new Set(phases.flatMap(({ steps }) => steps.flatMap((step) => [...namesIn(step)])))

/** The variables that these phases use and that nothing which is still to run provides: whoever lacks one now will fail for it. */
export function variablesNeeded(
  { phases, init }: Runbook,
  toRun: { readonly phaseNames: ReadonlySet<string>; readonly isInit: boolean },
): Set<string> {
  const steps = phases
    .filter(({ name }) => toRun.phaseNames.has(name.toLowerCase()))
    .flatMap((phase) => phase.steps)
  const needed = new Set(steps.flatMap((step) => [...namesIn(step)]))
  for (const name of BATCH_VARIABLES) needed.delete(name)
  for (const { outputParams } of [...steps, ...(toRun.isInit ? init : [])])
    for (const name of Object.keys(outputParams)) needed.delete(name)
  return needed
}

export interface WorkerCatalogue {
  readonly workerId: string
  /** None when the worker never said what it has. */
  readonly functions: readonly string[]
}

/** Sentences about steps whose worker nobody knows, or whose function that worker does not have. */
export function functionsMissing(
  runbook: Runbook,
  catalogues: readonly WorkerCatalogue[],
): string[] {
  const known = new Map(
    catalogues.map(({ workerId, functions }) => [
      workerId,
      new Set(functions.map((name) => name.toLowerCase())),
    ]),
  )
  const said = stepsOf(runbook).flatMap(({ name, workerId, function: wanted }) => {
    const functions = known.get(workerId)
    if (!functions) return [`Worker "${workerId}" of step "${name}" has never announced itself.`]
    if (functions.size === 0 || wanted.includes('{{') || functions.has(wanted.toLowerCase()))
      return []
    return [`Worker "${workerId}" has no function "${wanted}", which step "${name}" asks for.`]
  })
  return [...new Set(said)]
}

const stepsOf = ({ init, phases, onMemberRemoved, rollbacks }: Runbook): RunbookStep[] => [
  ...init,
  ...phases.flatMap(({ steps }) => steps),
  ...onMemberRemoved,
  ...[...rollbacks.values()].flat(),
]
