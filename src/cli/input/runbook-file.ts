// A runbook in a file, and the problems that leave it valid.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { type Runbook, type RunbookProblem, readRunbook } from '../../domain/runbook/read.ts'
import type { Io } from '../terminal/io.ts'
import { readBytes } from './files.ts'

export interface RunbookFile {
  readonly yaml: string
  readonly runbook: Runbook
  /** Warnings, migration rules included. */
  readonly warnings: RunbookProblem[]
}

/** Throws RUNBOOK_INVALID. */
export async function readRunbookFile(file: string, io: Io): Promise<RunbookFile> {
  const bytes = await readBytes(file)
  const { runbook, problems } = readRunbook(bytes, {
    catalogues: [await io.packagedFunctions()],
    isLinted: true,
  })
  if (runbook !== null) return { yaml: bytes.toString('utf8'), runbook, warnings: problems }
  const errors = problems.filter(({ severity }) => severity === 'error')
  throw new MatoolkitError('RUNBOOK_INVALID', {
    count: errors.length,
    first: errors[0]?.message ?? '',
  })
}
