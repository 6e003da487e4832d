// Reads a member file (CSV, RFC 4180, UTF-8) and reports every problem with row and column. The header is row 1, as in an editor.
import { parse } from 'csv-parse/sync'
import { messageOf } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import { foldKey } from '../../domain/state/member-key.ts'

export interface MemberRow {
  readonly key: string
  readonly startTime: Date
  readonly data: Readonly<Record<string, Json>>
}

export interface MemberRowProblem {
  readonly row: number
  /** The column's name, or its number where it has none. */
  readonly column: string
  readonly message: string
}

export interface DemoMemberColumns {
  readonly primaryKey: string
  readonly batchTimeColumn: string
}

export type MembersOrProblems =
  | { readonly members: readonly MemberRow[] }
  | { readonly problems: readonly MemberRowProblem[] }

const ROWS_MAX = 200_000
const WITH_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/

export function readMembers(text: string, columns: DemoMemberColumns): MembersOrProblems {
  let rows: string[][]
  try {
    // Row lengths are checked below, where the problem can name the column.
    rows = parse(text, { bom: true, trim: true, relax_column_count: true, to: ROWS_MAX + 2 })
  } catch (error) {
    return { problems: [{ row: rowIn(error), column: '1', message: messageOf(error) }] }
  }
  const [header = [], ...body] = rows
  const headerProblems = problemsOfHeader(header, columns)
  if (headerProblems.length > 0) return { problems: headerProblems }
  if (body.length === 0 || body.length > ROWS_MAX) {
    const message = `the file has ${body.length === 0 ? 'no' : `more than ${ROWS_MAX}`} members`
    return { problems: [{ row: 2, column: header[0]!, message }] }
  }
  return readRows(header, body, columns)
}

const rowIn = (error: unknown): number =>
  error instanceof Error && 'lines' in error ? Number(error.lines) : 1

function problemsOfHeader(
  header: readonly string[],
  columns: DemoMemberColumns,
): MemberRowProblem[] {
  const problems: MemberRowProblem[] = []
  const seen = new Set<string>()
  for (const [index, name] of header.entries()) {
    const add = (message: string) =>
      problems.push({ row: 1, column: name || String(index + 1), message })
    if (name === '') add('the column has no name')
    else if (seen.has(name.toLowerCase())) add('the column appears twice')
    seen.add(name.toLowerCase())
  }
  for (const needed of [columns.primaryKey, columns.batchTimeColumn]) {
    if (!header.includes(needed)) {
      problems.push({ row: 1, column: needed, message: 'the column is missing' })
    }
  }
  return problems
}

function readRows(
  header: readonly string[],
  body: readonly (readonly string[])[],
  { primaryKey, batchTimeColumn }: DemoMemberColumns,
): MembersOrProblems {
  const members: MemberRow[] = []
  const problems: MemberRowProblem[] = []
  const rowOfKey = new Map<string, number>()
  for (const [index, cells] of body.entries()) {
    const row = index + 2
    const add = (column: string, message: string) => problems.push({ row, column, message })
    if (cells.length !== header.length) {
      const column = header[cells.length] ?? String(header.length + 1)
      add(column, `the row has ${cells.length} cells, the header ${header.length}`)
      continue
    }
    const data = Object.fromEntries(header.map((name, column) => [name, cells[column]!]))
    const key = data[primaryKey]!
    const time = data[batchTimeColumn]!
    const earlier = rowOfKey.get(foldKey(key))
    if (key === '') add(primaryKey, 'the key is empty')
    else if (earlier) add(primaryKey, `"${key}" is in row ${earlier} already`)
    if (!WITH_ZONE.test(time) || Number.isNaN(Date.parse(time))) {
      add(batchTimeColumn, `"${time}" is not a time such as 2030-03-01T20:00:00Z`)
    }
    rowOfKey.set(foldKey(key), earlier ?? row)
    members.push({ key, startTime: new Date(time), data })
  }
  return problems.length > 0 ? { problems } : { members }
}
