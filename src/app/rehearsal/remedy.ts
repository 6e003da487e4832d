// What to do about a failure of a rehearsal: what Microsoft's error means, or which parameter was refused and where its value comes from.

import type { FailureGroup } from '../../domain/needs/failures.ts'
import { remedyText } from '../../domain/needs/remedy.ts'
import type { Runbook, RunbookStep } from '../../domain/runbook/model.ts'
import { stepListOf, stepsOf } from '../../domain/runbook/steps.ts'
import { variablesOf } from '../../domain/runbook/template.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { meaningOf } from '../../m365/meanings/meaning-of.ts'
import { misfitsIn } from '../../worker/jobs/fit-parameters.ts'

/** Null when nothing is known about it. */
export function remedyOf(
  runbook: Runbook,
  {
    kind,
    phaseName,
    stepName,
    sample,
  }: Pick<FailureGroup, 'kind' | 'phaseName' | 'stepName' | 'sample'>,
): string | null {
  const meaning = meaningOf(sample.message)
  if (meaning) return `${meaning.means} ${remedyText(meaning)}`
  const misfits = misfitsIn(sample.message)
  const step = stepsIn(runbook, kind, phaseName).find(({ name }) => isSame(name, stepName))
  if (misfits === null || step === undefined) return null
  const origins = misfits.map((name) => originOf(runbook, step, name))
  return `${[...new Set(origins)].join(' ')} The step was not done. A retry helps after the correction.`
}

const isSame = (one: string, other: string): boolean => foldKey(one) === foldKey(other)

function stepsIn(
  runbook: Runbook,
  kind: FailureGroup['kind'],
  phaseName: string | null,
): readonly RunbookStep[] {
  if (kind === 'rollback') return stepsOf(runbook, 'rollback')
  return stepListOf(runbook, kind, phaseName) ?? []
}

function originOf(runbook: Runbook, step: RunbookStep, parameter: string): string {
  const given = Object.entries(step.params).find(([name]) => isSame(name, parameter))
  if (!given) return `Parameter ${parameter} is missing: add it to the step in the runbook.`
  const [name, value] = given
  const variables = variablesOf(value)
  if (variables.length === 0)
    return `Parameter ${name} is refused. Its value is in the runbook: correct it there.`
  const sources = variables.map((variable) => sourceOf(runbook, variable))
  return `Parameter ${name} is refused. Its value comes from ${sources.join(' and ')}.`
}

/** Where a variable comes from, and what to correct. Outputs hide columns of the same name. */
function sourceOf(runbook: Runbook, variable: string): string {
  const steps = stepsOf(runbook, 'init', 'phase')
  const outputs = (step: RunbookStep) => Object.keys(step.outputParams)
  const giver = steps.find((step) => outputs(step).some((name) => isSame(name, variable)))
  if (giver)
    return `output ${variable} of step ${giver.name}: correct that step, or what this one takes from it`
  if (variable.startsWith('_')) return `the batch (${variable}): use another value`
  return `column ${variable} of the source: correct the people's rows, or the query`
}
