// The people of a rehearsal or plan: the rows of a CSV file, as the runbook's source would return them. What is wrong with a row the scheduler
// finds out itself.

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { type CsvTable, csvTable } from '../../base/files/csv-text.ts'
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
  return { file, ...tableIn(await readBytes(file), file) }
}

/** The table of a CSV file that a person names. Throws MEMBER_FILE_INVALID. */
export function tableIn(bytes: Buffer, file: string, options?: { onlyHeader: boolean }): CsvTable {
  try {
    return csvTable(bytes, options)
  } catch (error) {
    const reason = `it ${messageOf(error)}`
    throw new MatoolkitError('MEMBER_FILE_INVALID', { file, reason }, { cause: error })
  }
}
