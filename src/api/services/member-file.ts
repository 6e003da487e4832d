// Checks a whole member file before using it: every fault with row and column, counted up to 1,000 and the first hundred listed. The
// file is read twice, to check and to use, so that 200,000 rows are never in memory together. Cells that look like formulas are plain
// text. Blank and faulty rows count too, so that no file costs more than a good one.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { CsvReader } from '../../base/files/csv.ts'
import { CsvFault } from '../../base/files/csv-text.ts'
import { type Json, RESERVED_NAMES } from '../../base/text/json.ts'
import { hintFor } from '../../base/text/spelling.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { BATCH_VARIABLES } from '../../domain/runbook/variables.ts'
import { rowReader } from '../../domain/sources/row-reader.ts'
import { type MemberColumns, memberColumns, SAMPLE_KEY } from '../../domain/state/member-columns.ts'
import { foldKey, spellingOf } from '../../domain/state/member-key.ts'
import type { GivenMember, PagedMembers } from '../../engine/orders/create.ts'
import { FAULTS_LISTED_MAX, FaultyRequest, type RequestFault } from '../http/problem.ts'
import type { UploadedFile } from '../http/upload.ts'

const ROWS_MAX = 200_000
const COLUMNS_MAX = 1_000
/** A file with more faults has one cause: the rest of it is not read. */
const FAULTS_COUNTED_MAX = 1_000
const RECORDS_PER_READ = 1_000

export interface MemberFile extends PagedMembers {
  readonly warnings: readonly string[]
}

/** Throws MEMBER_ROWS_INVALID with the faults, or TRY_AGAIN when the caller is gone. */
export async function readMemberFile(
  file: UploadedFile,
  runbook: Runbook,
  signal: AbortSignal,
): Promise<MemberFile> {
  const faults = new Faults()
  const first = new Rows(file, runbook, faults)
  const seen = new Map<string, number>()
  let count = 0
  try {
    for await (const page of first.pages()) {
      if (signal.aborted) throw new MatoolkitError('TRY_AGAIN')
      for (const { row, member } of page) {
        count += 1
        checkKey(member.key, row, seen, faults, first.columns)
      }
      if (faults.areTooMany) break
    }
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    faults.add(error.row ?? 1, '', `the file ${error.message}`)
  }
  if (count === 0 && faults.count === 0) faults.add(2, '', 'the file has no members')
  faults.refuse(file.name)
  return {
    length: count,
    warnings: first.warnings,
    pages: async function* () {
      for await (const page of new Rows(file, runbook, faults).pages()) {
        yield page.map(({ member }) => member)
      }
    },
  }
}

function checkKey(
  key: string,
  row: number,
  seen: Map<string, number>,
  faults: Faults,
  { primaryKey }: MemberColumns,
): void {
  const folded = foldKey(key)
  const earlier = seen.get(folded)
  if (folded === SAMPLE_KEY) {
    faults.add(row, primaryKey, 'this is the sample row of the template; replace it with a member')
  } else if (earlier !== undefined) {
    faults.add(row, primaryKey, `"${key}" is already in row ${earlier}`)
  } else seen.set(folded, row)
}

/** Counts the faults and keeps the first. */
class Faults {
  readonly #listed: RequestFault[] = []
  count = 0

  get areTooMany(): boolean {
    return this.count > FAULTS_COUNTED_MAX
  }

  add(row: number, column: string, message: string): void {
    this.count += 1
    if (this.#listed.length < FAULTS_LISTED_MAX) this.#listed.push({ row, column, message })
  }

  refuse(file: string): void {
    const [first] = this.#listed
    if (!first) return
    const { row = 1, column = '', message } = first
    const count = this.areTooMany ? 'more than 1,000' : this.count
    const details = { file, count, row, column: column || '–', reason: message }
    const counted = Math.min(this.count, FAULTS_COUNTED_MAX + 1)
    throw new FaultyRequest('MEMBER_ROWS_INVALID', details, this.#listed, counted)
  }
}

interface Row {
  readonly row: number
  readonly member: GivenMember
}

class Rows {
  readonly columns: MemberColumns
  warnings: string[] = []
  readonly #file: UploadedFile
  readonly #runbook: Runbook
  readonly #faults: Faults

  constructor(file: UploadedFile, runbook: Runbook, faults: Faults) {
    this.#file = file
    this.#runbook = runbook
    this.#faults = faults
    this.columns = memberColumns(runbook)
  }

  /** Row numbers as in a spreadsheet: the header is row 1; blank lines count but are skipped. */
  async *pages(): AsyncGenerator<readonly Row[]> {
    const reader = new CsvReader(this.#file.open(), { keepsBlankLines: true, isRagged: true })
    try {
      const [record] = await reader.read(1)
      const header = this.#headerOf(record ?? [])
      if (header === null) return
      const readRow = this.#rowReader(header)
      let row = 1
      for (;;) {
        const records = await reader.read(RECORDS_PER_READ)
        if (records.length === 0) return
        const page: Row[] = []
        for (const cells of records) {
          row += 1
          if (row > ROWS_MAX + 1) throw new CsvFault(`has more than ${ROWS_MAX} rows`, row)
          const member = isBlank(cells) ? null : readRow(cells, row)
          if (member) page.push({ row, member })
        }
        yield page
        // Parsing never waits for anything: without a pause, 100,000 rows keep every other request waiting.
        await new Promise(setImmediate)
      }
    } finally {
      reader.close()
    }
  }

  /** The column names as the runbook spells them; null when the header is unusable. */
  #headerOf(record: readonly string[]): string[] | null {
    const { needed, known } = this.columns
    const before = this.#faults.count
    if (record.length > COLUMNS_MAX) {
      this.#faults.add(1, '', `the header has more than ${COLUMNS_MAX} columns`)
      return null
    }
    const spelled = record.map((cell) => spellingOf(cell, known) ?? cell.trim())
    const seen = new Set<string>()
    for (const [index, name] of spelled.entries()) {
      const why = whyUnusable(name, seen)
      if (why) this.#faults.add(1, name.slice(0, NAME_CHARS_MAX) || String(index + 1), why)
      seen.add(name.toLowerCase())
    }
    for (const name of needed) {
      if (spelled.includes(name)) continue
      const hint = hintFor(name, spelled, 'There are')
      this.#faults.add(1, name, `the column is missing. ${hint}`.trim())
    }
    this.warnings = spelled
      .filter((name) => !known.includes(name))
      .map((name) => `The column "${name}" is kept, but the runbook does not use it.`)
    return this.#faults.count === before ? spelled : null
  }

  #rowReader(
    header: readonly string[],
  ): (cells: readonly string[], row: number) => GivenMember | null {
    const columns = header.map((name) => ({ name, type: 'text' as const }))
    // A manual batch ignores the batch time column.
    const source = { ...this.#runbook.dataSource, batchTimeColumn: null }
    const read = rowReader(source, columns)
    return (cells, row) => {
      if (cells.length !== header.length) {
        const column = header[cells.length] ?? String(header.length + 1)
        const message = `the row has ${cells.length === 1 ? '1 cell' : `${cells.length} cells`}, the header ${header.length}`
        this.#faults.add(row, column, message)
        return null
      }
      // CSV has no null: an empty cell is one.
      const data = Object.fromEntries(
        header.map((name, at): [string, Json] => [name, cells[at] === '' ? null : cells[at]!]),
      )
      const found = read(data)
      if ('member' in found) return { key: found.member.key, data: found.member.data }
      this.#faults.add(row, found.problem.column, found.problem.reason)
      return null
    }
  }
}

const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0]!.trim() === ''

const UNUSABLE: readonly string[] = [...RESERVED_NAMES, ...BATCH_VARIABLES]
const NAME_CHARS_MAX = 128

function whyUnusable(name: string, seen: ReadonlySet<string>): string | null {
  if (name === '') return 'the column has no name'
  if (name.length > NAME_CHARS_MAX) return `the name has more than ${NAME_CHARS_MAX} characters`
  if (UNUSABLE.includes(name.toLowerCase())) return 'the name is reserved'
  return seen.has(name.toLowerCase()) ? 'the column appears twice' : null
}
