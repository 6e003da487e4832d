// The people of a rehearsal or plan: the rows of a CSV file, as the runbook's source would return them. What is wrong with a row the scheduler
// finds out itself.

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'csv-parse/sync'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { CsvFault, decodeCsv, delimiterProblem } from '../../base/files/csv-text.ts'
import { sameName } from '../../base/text/same-name.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import type { SourceRow } from '../../domain/sources/source-values.ts'
import { readBytes } from './files.ts'

export interface MemberRows {
  readonly file: string
  readonly columns: readonly string[]
  readonly rows: readonly SourceRow[]
}

/** `members`, or the file that a csv source names, in the runbook's folder. */
export async function readMemberRows(
  runbook: Runbook,
  runbookFile: string,
  members: string | undefined,
): Promise<MemberRows> {
  const found = await findMemberRows(runbook, runbookFile, members)
  if ('file' in found) return found
  throw new MatoolkitError('REHEARSAL_MEMBERS_MISSING', { runbook: runbook.name, ...found })
}

/** The rows, or why there are none. */
export async function findMemberRows(
  runbook: Runbook,
  runbookFile: string,
  members: string | undefined,
): Promise<MemberRows | { readonly reason: string }> {
  const { type, path } = runbook.dataSource
  const file = members ?? (path === null ? null : resolve(dirname(runbookFile), path))
  if (file === null) return { reason: `its source is ${type}, which only the scheduler queries` }
  if (members === undefined && !existsSync(file))
    return { reason: `its file "${path}" is not in the runbook's folder` }
  return { file, ...rowsIn(await readBytes(file), file) }
}

function rowsIn(bytes: Buffer, file: string): Omit<MemberRows, 'file'> {
  const refuse = (reason: string, cause?: unknown) =>
    new MatoolkitError('MEMBER_FILE_INVALID', { file, reason }, { cause })
  let lines: string[][]
  try {
    lines = parse(decodeCsv(bytes), {
      bom: true,
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
    })
  } catch (error) {
    throw refuse(error instanceof CsvFault ? `it ${error.message}` : messageOf(error), error)
  }
  const [columns, ...body] = lines
  if (!columns) throw refuse('it is empty')
  const problem = delimiterProblem(columns)
  if (problem !== null) throw refuse(`it ${problem}`)
  const twice = columns.find(
    (name, at) => columns.findIndex((other) => sameName(other, name)) !== at,
  )
  if (twice !== undefined) throw refuse(`column "${twice}" appears twice`)
  if (columns.includes('')) throw refuse('a column has no name')
  const rows = body.map((cells) =>
    Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])),
  )
  return { columns, rows }
}
