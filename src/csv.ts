// Reads CSV (RFC 4180, UTF-8 with or without a byte order mark) as records, streamed: whatever its size, only a few records are in
// memory. The bytes are checked on their way to the parser: UTF-8 without exception, no NUL. Writes it too, made safe for
// spreadsheets: a cell that would be taken for a formula gets an apostrophe before it.
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import { CsvError, type Parser, parse } from 'csv-parse'
import { messageOf } from './errors.ts'

const RECORD_BYTES_MAX = 1024 * 1024

/** What is wrong with the bytes or the quotes of a file. Its message continues a sentence that begins with the file's name. */
export class CsvFault extends Error {
  override readonly name = 'CsvFault'
  /** As a spreadsheet counts, the header being row 1; null when the bytes themselves cannot be read. */
  readonly row: number | null

  constructor(message: string, row: number | null = null) {
    super(message)
    this.row = row
  }
}

export interface CsvOptions {
  /** Blank lines come as records of one empty cell, so that rows can be counted as an editor counts them. */
  readonly keepsBlankLines?: boolean
  /** Records may have another number of cells than the header; whoever reads them says what is wrong. */
  readonly isRagged?: boolean
}

export class CsvReader {
  readonly #checked = new CheckedBytes()
  readonly #parser: Parser
  #wake: () => void = () => {}
  #ended: { readonly error: unknown } | undefined

  constructor(bytes: Readable, options: CsvOptions = {}) {
    this.#parser = parse({
      bom: true,
      skip_empty_lines: !options.keepsBlankLines,
      relax_column_count: options.isRagged ?? false,
      max_record_size: RECORD_BYTES_MAX,
    })
    this.#parser.on('readable', () => this.#wake())
    // Told when the last record has been parsed, or one of the three has failed.
    pipeline(bytes, this.#checked, this.#parser, (error) => {
      this.#ended = { error }
      this.#wake()
    })
  }

  /** How many bytes have been read. */
  get bytes(): number {
    return this.#checked.bytes
  }

  /** Up to `most` records, as soon as there are any; none at the end. Taken one by one they took six times as long. */
  async read(most: number): Promise<string[][]> {
    const records: string[][] = []
    for (;;) {
      while (records.length < most) {
        const record = this.#parser.read() as string[] | null
        if (record === null) break
        records.push(record)
      }
      if (records.length > 0) return records
      if (this.#ended) return this.#end(this.#ended.error)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #end(error: unknown): never[] {
    if (error === undefined || error === null) return []
    if (!(error instanceof CsvError)) throw error
    const { lines, records } = this.#parser.info
    throw new CsvFault(`row ${records} (line ${lines})${said(error)}`, records + 1)
  }

  close(): void {
    this.#parser.destroy()
  }
}

function said(error: CsvError): string {
  switch (error.code) {
    case 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH':
    case 'CSV_RECORD_INCONSISTENT_COLUMNS':
      return ' has another number of fields than the header'
    case 'CSV_QUOTE_NOT_CLOSED':
      return ' opens a quote that is never closed'
    case 'CSV_MAX_RECORD_SIZE':
      return ` has more than ${RECORD_BYTES_MAX} bytes`
    default:
      return `: ${messageOf(error)}`
  }
}

class CheckedBytes extends Transform {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  bytes = 0

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const nulAt = chunk.indexOf(0)
    // UTF-16, which is what Excel calls "Unicode text", is mostly NUL bytes.
    if (nulAt >= 0) {
      done(new CsvFault(`holds a NUL at byte ${this.bytes + nulAt + 1}; save it as UTF-8`))
      return
    }
    this.bytes += chunk.length
    done(
      this.#unreadable(() => this.#decoder.decode(chunk, { stream: true })),
      chunk,
    )
  }

  override _flush(done: TransformCallback): void {
    done(this.#unreadable(() => this.#decoder.decode()))
  }

  #unreadable(decode: () => string): CsvFault | null {
    try {
      decode()
      return null
    } catch {
      return new CsvFault(`is not UTF-8 before byte ${this.bytes + 1}; save it as UTF-8`)
    }
  }
}

/** Spreadsheets run cells that begin with one of these. Reading such a file back does not take the apostrophe away. */
const FORMULA = /^[=+\-@\t\r]/
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/

/** One record with its line end. */
export function csvLine(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const safe = FORMULA.test(cell) ? `'${cell}` : cell
    return NEEDS_QUOTES.test(safe) || safe !== cell ? `"${safe.replaceAll('"', '""')}"` : safe
  })
  return `${written.join(',')}\r\n`
}
