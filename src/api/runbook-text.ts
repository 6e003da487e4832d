// A runbook's text as a caller sends it: read, or refused with everything that is wrong with it.
import { type RunbookProblem, readRunbook } from '../domain/runbook/read.ts'
import type { ValidRunbook } from '../engine/publish.ts'
import { ManyFaults, type RequestFault } from './problem.ts'

/** A runbook may have 1 MB; in JSON its line ends and quotes take two characters each. */
export const YAML_CHARS_MAX = 1_100_000

export const faultOf = ({
  code,
  severity,
  message,
  line,
  column,
  path,
}: RunbookProblem): RequestFault => ({
  code,
  severity,
  message,
  line,
  column,
  path,
})

/** Throws RUNBOOK_INVALID with every mistake, each with line and column. */
export function requireValid(yaml: string): ValidRunbook {
  const { runbook, problems } = readRunbook(yaml)
  if (runbook) return { runbook, warnings: problems }
  const errors = problems.filter(({ severity }) => severity === 'error')
  const first = `line ${errors[0]!.line}, column ${errors[0]!.column}: ${errors[0]!.message}`
  const details = { count: errors.length, first }
  throw new ManyFaults('RUNBOOK_INVALID', details, problems.map(faultOf), problems.length)
}
