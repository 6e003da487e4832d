// What is wrong with the bytes of a CSV file, in words: UTF-16, Windows-1252, semicolons, tabs. A file that is not UTF-8 with commas is
// refused with the place and the way out, because a guess would store wrong names.
import { Transform, type TransformCallback } from 'node:stream'
import { parse } from 'csv-parse/sync'
import { messageOf } from '../errors/errors.ts'

/** A problem with a file's bytes or quotes. Its message continues a sentence that begins with the file's name. */
export class CsvFault extends Error {
  override readonly name = 'CsvFault'
  /** As a spreadsheet counts, with the header as row 1; null when the bytes are unreadable. */
  readonly row: number | null

  constructor(message: string, row: number | null = null) {
    super(message)
    this.row = row
  }
}

const SAVE = 'save it as UTF-8 (in Excel: "CSV UTF-8")'
const LF = 10
const CR = 13
/** Cells without text do not count in the parser's own limit: 50 MB of commas would be one record. */
const LINE_BYTES_MAX = 2 * 1024 * 1024

/** Passes UTF-8 through and counts its bytes. Fails with a CsvFault for anything else. */
export class CheckedBytes extends Transform {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  bytes = 0
  /** Lines that ended before this chunk, and the beginning of the next one. */
  #lines = 0
  #begun: Buffer = Buffer.alloc(0)

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const fault = this.#faultOf(chunk)
    if (fault) return void done(fault)
    this.bytes += chunk.length
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) this.#lines += 1
    const last = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR))
    this.#begun =
      last < 0 ? Buffer.concat([this.#begun, chunk]) : Buffer.from(chunk.subarray(last + 1))
    if (this.#begun.length <= LINE_BYTES_MAX) return void done(null, chunk)
    const line = this.#lines + 1
    done(new CsvFault(`has more than ${LINE_BYTES_MAX} bytes in line ${line}; shorten it`, line))
  }

  override _flush(done: TransformCallback): void {
    done(
      this.#isReadable(() => this.#decoder.decode())
        ? null
        : new CsvFault(`is not UTF-8: it ends within a character; ${SAVE}`, this.#lines + 1),
    )
  }

  #faultOf(chunk: Buffer): CsvFault | null {
    if (this.bytes === 0 && isUtf16(chunk)) {
      return new CsvFault(`is in UTF-16, which Excel calls "Unicode Text"; ${SAVE}`, 1)
    }
    const nulAt = chunk.indexOf(0)
    if (nulAt >= 0) {
      const place = `a NUL at byte ${this.bytes + nulAt + 1}`
      return new CsvFault(`has ${place}; remove it and save the file as UTF-8`)
    }
    if (this.#isReadable(() => this.#decoder.decode(chunk, { stream: true }))) return null
    return notUtf8(Buffer.concat([this.#begun, chunk]), this.#lines)
  }

  #isReadable(decode: () => string): boolean {
    try {
      decode()
      return true
    } catch {
      return false
    }
  }
}

const SAMPLE_BYTES = 64

/** By its byte order mark, or because every second byte is a NUL. */
function isUtf16(start: Buffer): boolean {
  const [first, second] = start
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true
  const sample = start.subarray(0, SAMPLE_BYTES)
  return sample.length > 1 && sample.filter((byte) => byte === 0).length * 3 >= sample.length
}

/** The first cell that is not UTF-8, as Windows-1252 would read it. `linesBefore` ended before these bytes. */
function notUtf8(bytes: Buffer, linesBefore: number): CsvFault {
  let start = 0
  for (let line = linesBefore + 1; start < bytes.length; line += 1) {
    const end = bytes.indexOf(LF, start)
    const text = bytes.subarray(start, end < 0 ? bytes.length : end)
    if (!isUtf8(text)) {
      const { column, cell } = badCellOf(text)
      const shown = new TextDecoder('windows-1252').decode(cell).slice(0, CELL_CHARS_MAX)
      const place = `row ${line}${column === null ? '' : `, column ${column}`} reads "${shown}" in Windows-1252`
      return new CsvFault(`is not UTF-8: ${place}; ${SAVE}`, line)
    }
    if (end < 0) break
    start = end + 1
  }
  return new CsvFault(`is not UTF-8; ${SAVE}`, linesBefore + 1)
}

const CELL_CHARS_MAX = 60

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Counted from 1; null in a file whose lines end with a carriage return alone, which is one line here. */
function badCellOf(line: Buffer): { column: number | null; cell: Buffer } {
  const cells = cellsOf(line.toString('latin1').trimEnd()).map((cell) =>
    Buffer.from(cell, 'latin1'),
  )
  const at = cells.findIndex((cell) => !isUtf8(cell))
  return at < 0 ? { column: null, cell: line } : { column: at + 1, cell: cells[at]! }
}

/** One line with commas; a cell that spans lines is cut. */
function cellsOf(line: string): string[] {
  try {
    const [cells] = parse(line, { relax_quotes: true, relax_column_count: true }) as string[][]
    return cells ?? [line]
  } catch {
    return line.split(',')
  }
}

const DELIMITERS: readonly (readonly [character: string, name: string])[] = [
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'vertical bars'],
]

/** Says which character separates the columns if it is not the comma; null if it is. */
export function delimiterProblem(header: readonly string[]): string | null {
  const text = header.join(',')
  const commas = header.length - 1
  const found = DELIMITERS.find(([character]) => text.split(character).length - 1 > commas)
  if (!found) return null
  return `separates columns with ${found[1]}; use commas (Excel takes the list separator of the system's regional settings)`
}

/** The text of a small file. Throws a CsvFault unless it is UTF-8. */
export function decodeCsv(bytes: Buffer): string {
  const checked = new CheckedBytes()
  let fault: Error | null | undefined
  const take = (error?: Error | null) => {
    fault ??= error
  }
  checked._transform(bytes, 'utf8', take)
  checked._flush(take)
  if (fault) throw fault
  return bytes.toString('utf8')
}

export interface CsvTable {
  readonly columns: readonly string[]
  readonly rows: readonly Readonly<Record<string, string>>[]
}

/** A small file by the names of its header; a cell that is not there is empty. Throws a CsvFault. */
export function csvTable(bytes: Buffer, { onlyHeader = false } = {}): CsvTable {
  const [columns, ...body] = recordsIn(decodeCsv(bytes), onlyHeader)
  if (!columns) throw new CsvFault('is empty')
  const problem = delimiterProblem(columns)
  if (problem !== null) throw new CsvFault(problem, 1)
  const seen = new Set<string>()
  for (const [at, name] of columns.entries()) {
    const faulty = name === '' ? `column ${at + 1} has no name` : `column "${name}" appears twice`
    if (name === '' || seen.has(name.toLowerCase()))
      throw new CsvFault(`has an unusable header: ${faulty}`, 1)
    seen.add(name.toLowerCase())
  }
  const rows = body.map((cells) =>
    Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])),
  )
  return { columns, rows }
}

function recordsIn(text: string, onlyHeader: boolean): string[][] {
  const options = { bom: true, trim: true, skip_empty_lines: true, relax_column_count: true }
  try {
    return parse(text, onlyHeader ? { ...options, to: 1 } : options)
  } catch (error) {
    throw new CsvFault(`cannot be read: ${messageOf(error)}`)
  }
}
