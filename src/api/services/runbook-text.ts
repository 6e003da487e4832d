// Parses the text of a runbook from a request, or refuses it with all its faults.
import type { ReadRunbookOptions, RunbookProblem } from '../../domain/runbook/read.ts'
import type { ValidRunbook } from '../../engine/orders/publish.ts'
import { FaultyRequest, type RequestFault } from '../http/problem.ts'
import type { RunbookReader } from './runbook-reader.ts'

/** A runbook has at most 1 MB; JSON escapes its line ends and quotes with a second character. */
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

/** Throws RUNBOOK_INVALID with every fault, each with line and column; RUNBOOKS_BUSY and RUNBOOK_TOO_COSTLY. */
export async function parseRunbook(
  reader: RunbookReader,
  yaml: string,
  options: ReadRunbookOptions = {},
): Promise<ValidRunbook> {
  const { runbook, problems } = await reader.run('readRunbook', yaml, options)
  if (runbook) return { runbook, warnings: problems }
  const errors = problems.filter(({ severity }) => severity === 'error')
  const first = `line ${errors[0]!.line}, column ${errors[0]!.column}: ${errors[0]!.message}`
  const details = { count: errors.length, first }
  throw new FaultyRequest('RUNBOOK_INVALID', details, problems.map(faultOf), problems.length)
}
