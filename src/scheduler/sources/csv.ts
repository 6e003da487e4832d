// CSV files in a folder: one file, or all files of a folder in name order. RFC 4180 in UTF-8, streamed. One bad line fails the
// whole result, with file and line: a skipped row would look like a leaver. An empty field is null, because CSV cannot tell it
// from empty text.

import type { Json } from '../../base/text/json.ts'
import type { SourceColumn, SourceRow } from '../../domain/sources/source-values.ts'
import { type CsvFile, filesOf, requireUnchanged } from './csv-files.ts'
import { CsvLines } from './csv-lines.ts'
import { SourceFault } from './fault.ts'
import type { OpenedSource, SourceRequest } from './source.ts'

const ROWS_MAX = 200_000

export async function openCsv(request: SourceRequest): Promise<OpenedSource> {
  const files = await filesOf(request.settings.folder, request.source.path ?? '')
  const first = await CsvLines.open(files[0]!, request.signal)
  const columns = first.header.map((name): SourceColumn => ({ name, type: 'text' }))
  const reading = { lines: first }
  return {
    columns,
    rows: readAll(files, first.header, reading, request.signal),
    close: async () => reading.lines.close(),
  }
}

async function* readAll(
  files: readonly CsvFile[],
  header: readonly string[],
  reading: { lines: CsvLines },
  signal: AbortSignal,
): AsyncGenerator<readonly SourceRow[]> {
  let rows = 0
  for (const [index, file] of files.entries()) {
    if (index > 0) reading.lines = await CsvLines.open(file, signal)
    requireSameHeader(files[0]!, header, file, reading.lines.header)
    for await (const batch of reading.lines.batches()) {
      rows += batch.length
      if (rows > ROWS_MAX) throw new SourceFault('file', `it has more than ${ROWS_MAX} rows`)
      yield batch.map((fields) => rowOf(header, fields))
    }
    reading.lines.close()
  }
  // Checked last: a complete file may be replaced while another is read.
  for (const file of files) await requireUnchanged(file)
}

function requireSameHeader(
  first: CsvFile,
  expected: readonly string[],
  file: CsvFile,
  found: readonly string[],
): void {
  if (expected.length === found.length && expected.every((name, index) => name === found[index]))
    return
  const reason = `"${file.name}" has other columns than "${first.name}"; use the same columns in the same order in all files of a folder`
  throw new SourceFault('file', reason)
}

function rowOf(header: readonly string[], fields: readonly string[]): SourceRow {
  const row: Record<string, Json> = {}
  for (const [index, name] of header.entries()) {
    const text = fields[index] ?? ''
    row[name] = text === '' ? null : text
  }
  return row
}
