// What the steps of a runbook need when they are sent: variables and functions. Tells a publisher beforehand; only the database
// knows whether a member has a variable.

import type { Json } from '../../base/text/json.ts'
import { FORMER_VARIABLES, START_VARIABLES } from '../member-messages/message-text.ts'
import { foldKey } from '../state/member-key.ts'
import type { Notify, Runbook, RunbookStep } from './model.ts'
import { stepsOf } from './steps.ts'
import { scanTemplate, variableIn } from './template.ts'
import { BATCH_VARIABLES } from './variables.ts'

function* textsIn(value: Json): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item)
  else if (value !== null && typeof value === 'object')
    for (const item of Object.values(value)) yield* textsIn(item)
}

/** The variables in a step's function, parameters and messages. */
export function* namesIn(
  step: RunbookStep,
  messages: Runbook['messages'] = null,
): Generator<string> {
  const { notify } = step
  const own = [step.function, ...textsIn(step.params)]
  const sent = notify ? [notify.to, notify.language ?? '', ...textsSent(notify, messages)] : []
  for (const text of [...own, ...sent]) {
    for (const part of scanTemplate(text).parts)
      if (typeof part === 'object' && !MESSAGE_VARIABLES.has(foldKey(part.name)))
        yield variableIn(part.name)
  }
}

const MESSAGE_VARIABLES: ReadonlySet<string> = new Set([...START_VARIABLES, ...FORMER_VARIABLES])

/** The texts of a message and of its correction. */
function textsSent({ message }: Notify, messages: Runbook['messages']): string[] {
  const first = messages?.templates.get(message)
  const correction = first?.correction ? messages?.templates.get(first.correction) : undefined
  return [first, correction].flatMap((one) =>
    one ? [...one.texts.values()].flatMap(({ subject, body }) => [subject, body]) : [],
  )
}

/** Every variable in a phase step. */
export const variablesUsed = ({ phases, messages }: Runbook): Set<string> =>
  new Set(phases.flatMap(({ steps }) => steps.flatMap((step) => [...namesIn(step, messages)])))

/** Variables that these phases use and nothing still to run sets: a member without one will fail. */
export function variablesNeeded(
  { phases, init, messages }: Runbook,
  toRun: { readonly phaseNames: ReadonlySet<string>; readonly isInit: boolean },
): Set<string> {
  const steps = phases
    .filter(({ name }) => toRun.phaseNames.has(name.toLowerCase()))
    .flatMap((phase) => phase.steps)
  const setBySteps = [...steps, ...(toRun.isInit ? init : [])].flatMap(({ outputParams }) =>
    Object.keys(outputParams),
  )
  return namesWithout(
    steps.flatMap((step) => [...namesIn(step, messages)]),
    [...BATCH_VARIABLES, ...setBySteps],
  )
}

/** The names that are not among the others, each once, in its first spelling. */
export function namesWithout(names: readonly string[], others: readonly string[]): Set<string> {
  const known = new Set(others.map(foldKey))
  const left = new Map<string, string>()
  for (const name of names) {
    const folded = foldKey(name)
    if (!known.has(folded) && !left.has(folded)) left.set(folded, name)
  }
  return new Set(left.values())
}

/** Sentences about steps whose worker nobody knows. Unknown functions are problems of the text, with line and column: catalogues.ts. */
export function workersMissing(runbook: Runbook, known: ReadonlySet<string>): string[] {
  const steps = stepsOf(runbook).filter(({ workerId }) => !known.has(workerId))
  return [
    ...new Set(
      steps.map(
        ({ name, workerId }) =>
          `Worker "${workerId}" of step "${name}" has never announced itself.`,
      ),
    ),
  ]
}
