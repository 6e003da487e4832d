// Names of people that a worker of another tenant read. Here they mean nothing, or a stranger: only `{{person:…}}` translates them.
import { sameName, valueNamed } from '../../base/text/same-name.ts'
import type { FunctionFacts } from './function-facts.ts'
import type { Runbook, RunbookStep } from './model.ts'
import { stepsOf } from './steps.ts'
import { namesWritten } from './template.ts'

export interface ForeignPeople {
  readonly parameter: string
  readonly variable: string
  /** Who read it. */
  readonly worker: string
}

/** Only what certainly comes from elsewhere: no step of the step's own worker has an output of that name. */
export function foreignPeople(
  runbook: Runbook,
  { workerId, params }: RunbookStep,
  facts: FunctionFacts | null,
): ForeignPeople[] {
  return (facts?.people ?? []).flatMap((parameter) =>
    namesWritten(valueNamed(params, parameter) ?? null).flatMap((variable) => {
      const readers = stepsOf(runbook)
        .filter(({ outputParams }) => valueNamed(outputParams, variable) !== undefined)
        .map((step) => step.workerId)
      const isOwn = readers.some((reader) => sameName(reader, workerId))
      return readers.length === 0 || isOwn ? [] : [{ parameter, variable, worker: readers[0]! }]
    }),
  )
}
