// The columns that a member file needs for a runbook, and a template of such a file. A column is needed when a phase, removal
// or rollback step uses it and no step sets it.

import type { DataSource, Runbook } from '../runbook/model.ts'
import { namesIn, namesWithout } from '../runbook/needs.ts'
import { stepsOf } from '../runbook/steps.ts'
import { variableIn } from '../runbook/template.ts'
import { BATCH_VARIABLES } from '../runbook/variables.ts'

export interface MemberColumns {
  readonly primaryKey: string
  /** Required to run the runbook for a member. */
  readonly needed: readonly string[]
  /** Used by the runbook; other columns are stored with a warning. */
  readonly known: readonly string[]
}

export function memberColumns(runbook: Runbook): MemberColumns {
  const { primaryKey, batchTimeColumn, columns, multiValuedColumns } = runbook.dataSource
  const lists = multiValuedColumns.map(({ name }) => name)
  const needed = [...namesWithout([primaryKey, ...variablesOf(runbook), ...lists], [])]
  const time = batchTimeColumn === null ? [] : [batchTimeColumn]
  return {
    primaryKey,
    needed,
    known: [...namesWithout([primaryKey, ...time, ...(columns ?? []), ...needed], [])],
  }
}

/** Variables that steps use and no step sets. */
function variablesOf(runbook: Runbook): Set<string> {
  const used = stepsOf(runbook, 'phase', 'removal', 'rollback').flatMap((step) => [
    ...namesIn(step, runbook.messages),
    ...step.when.map(({ variable }) => variableIn(variable)),
  ])
  const outputs = stepsOf(runbook).flatMap((step) => Object.keys(step.outputParams))
  return namesWithout(used, [...BATCH_VARIABLES, ...outputs])
}

/** The key in the template's sample row; an upload that still has it is refused. */
export const SAMPLE_KEY = 'replace-this-row@example.com'

/** The header of a member file, and a sample row. */
export function templateOf(runbook: Runbook): { header: string[]; sample: string[] } {
  const { primaryKey, known } = memberColumns(runbook)
  const sample = known.map((name) =>
    name === primaryKey ? SAMPLE_KEY : sampleOf(name, runbook.dataSource),
  )
  return { header: [...known], sample }
}

const SAMPLE_LISTS = {
  semicolon_delimited: 'value1;value2;value3',
  comma_delimited: 'value1,value2,value3',
  json_array: '["value1","value2","value3"]',
} as const

function sampleOf(name: string, { multiValuedColumns, batchTimeColumn }: DataSource): string {
  const list = multiValuedColumns.find((column) => column.name === name)
  if (list) return SAMPLE_LISTS[list.format]
  if (name === batchTimeColumn || /time|date/i.test(name)) return '2030-03-01T20:00:00Z'
  if (/mail|upn|principalname/i.test(name)) return 'someone@example.com'
  return /id$/i.test(name) ? 'sample-id-001' : 'sample value'
}
