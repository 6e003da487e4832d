// Reads CSV (RFC 4180, UTF-8 with or without a byte order mark) as a stream of records, with only a few in memory. Refuses
// other encodings and other separators. Also writes CSV that is safe for spreadsheets: a cell that looks like a formula gets a leading
// apostrophe.
import { pipeline, type Readable } from 'node:stream'
import { CsvError, type Parser, parse } from 'csv-parse'
import { messageOf } from '../errors/errors.ts'
import { CheckedBytes, CsvFault, delimiterProblem } from './csv-text.ts'

const RECORD_BYTES_MAX = 1024 * 1024

export interface CsvOptions {
  /** Returns blank lines as records of one empty cell, so that rows count as in an editor. */
  readonly keepsBlankLines?: boolean
  /** Allows records with another number of cells than the header; the caller reports them. */
  readonly isRagged?: boolean
}

export class CsvReader {
  readonly #checked = new CheckedBytes()
  readonly #parser: Parser
  #wake: () => void = () => {}
  #ended: { readonly error: unknown } | undefined
  #isHeaderRead = false

  constructor(bytes: Readable, options: CsvOptions = {}) {
    this.#parser = parse({
      bom: true,
      skip_empty_lines: !options.keepsBlankLines,
      relax_column_count: options.isRagged ?? false,
      max_record_size: RECORD_BYTES_MAX,
    })
    if (options.isRagged) expectNoLength(this.#parser)
    this.#parser.on('readable', () => this.#wake())
    // Called after the last record, or when one of the three fails.
    pipeline(bytes, this.#checked, this.#parser, (error) => {
      this.#ended = { error }
      this.#wake()
    })
  }

  /** Bytes read so far. */
  get bytes(): number {
    return this.#checked.bytes
  }

  /** Up to `most` records, as soon as there are any; none at the end. One by one took six times as long. */
  async read(most: number): Promise<string[][]> {
    const records: string[][] = []
    for (;;) {
      while (records.length < most) {
        const record = this.#parser.read() as string[] | null
        if (record === null) break
        records.push(record)
      }
      if (records.length > 0) return this.#withHeaderChecked(records)
      if (this.#ended) return this.#end(this.#ended.error)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #withHeaderChecked(records: string[][]): string[][] {
    const problem = this.#isHeaderRead ? null : delimiterProblem(records[0]!)
    this.#isHeaderRead = true
    if (problem !== null) throw new CsvFault(problem, 1)
    return records
  }

  #end(error: unknown): never[] {
    if (error === undefined || error === null) return []
    if (!(error instanceof CsvError)) throw error
    const { lines, records } = this.#parser.info
    const place = records === 0 ? 'the header' : `row ${records}`
    throw new CsvFault(`${place} (line ${lines})${describeError(error)}`, records + 1)
  }

  close(): void {
    this.#parser.destroy()
  }
}

/**
 * The parser makes an error with a stack and copies for every ragged record, also where they are allowed: 1 MB of them took a minute.
 * A length that always fits costs nothing.
 */
function expectNoLength(parser: Parser): void {
  const { state } = parser as unknown as { state: { record: readonly string[] } }
  Object.defineProperty(state, 'expectedRecordLength', {
    get: () => state.record.length,
    set: () => {},
  })
}

function describeError(error: CsvError): string {
  switch (error.code) {
    case 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH':
    case 'CSV_RECORD_INCONSISTENT_COLUMNS':
      return ' has another number of fields than the header'
    case 'CSV_QUOTE_NOT_CLOSED':
      return ' opens a quote that is never closed'
    case 'INVALID_OPENING_QUOTE':
      return ' has a quote inside a cell; put the cell in quotes and write the quote twice'
    case 'CSV_INVALID_CLOSING_QUOTE':
      return ' has text behind a closing quote; write a quote inside a cell twice'
    case 'CSV_MAX_RECORD_SIZE':
      return ` has more than ${RECORD_BYTES_MAX} bytes`
    default:
      return `: ${messageOf(error)}`
  }
}

/** Signs that begin a formula, also in full width. Reading the file back keeps the apostrophe. */
const FORMULA_SIGN = /[=+\-@\uff1d\uff0b\uff0d\uff20]/
/** Where a spreadsheet may see a cell begin, with its own separator too; blanks and invisible marks do not keep it from a formula. */
const CELL_START = /(?:^|[;|\t\r\n])[\s\p{Cc}\p{Cf};|]*/gu
const SEPARATOR = /[;|\t\r\n]/
const BLANK_START = /^[\t\r]/
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/

function withoutFormulas(cell: string): string {
  const safe = cell.replaceAll(CELL_START, (start, at: number) => {
    if (!FORMULA_SIGN.test(cell.charAt(at + start.length))) return start
    return SEPARATOR.test(start) ? `${start}'` : `'${start}`
  })
  return BLANK_START.test(safe) ? `'${safe}` : safe
}

/** One record with its line end. */
export function csvLine(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const safe = withoutFormulas(cell)
    return NEEDS_QUOTES.test(safe) || safe !== cell ? `"${safe.replaceAll('"', '""')}"` : safe
  })
  return `${written.join(',')}\r\n`
}
