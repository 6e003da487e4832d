// The records of one CSV file, as they are read from the disk. The bytes are checked on their way to the parser: UTF-8 without
// exception, no NUL, no more and no fewer than the file had when it was found.
import { createReadStream } from 'node:fs'
import { pipeline, Transform, type TransformCallback } from 'node:stream'
import { CsvError, type Parser, parse } from 'csv-parse'
import { messageOf } from '../../errors.ts'
import { type CsvFile, requireUnchanged, whyUnreadable } from './csv-files.ts'
import { SourceFault } from './fault.ts'

const RECORD_BYTES_MAX = 1024 * 1024
const BATCH_RECORDS = 1_000

export class CsvLines {
  readonly #file: CsvFile
  readonly #checked = new CheckedBytes()
  readonly #parser: Parser
  #wake: () => void = () => {}
  #ended: { readonly error: unknown } | undefined
  #header: readonly string[] = []

  private constructor(file: CsvFile, signal: AbortSignal) {
    this.#file = file
    this.#parser = parse({
      bom: true,
      skip_empty_lines: true,
      max_record_size: RECORD_BYTES_MAX,
    })
    this.#parser.on('readable', () => this.#wake())
    // Told when the last record has been parsed, or one of the three has failed.
    pipeline(createReadStream(file.path, { signal }), this.#checked, this.#parser, (error) => {
      this.#ended = { error }
      this.#wake()
    })
  }

  /** Opens a file and reads its header. */
  static async open(file: CsvFile, signal: AbortSignal): Promise<CsvLines> {
    const lines = new CsvLines(file, signal)
    try {
      const [header] = await lines.#read(1)
      lines.#header = headerOf(header, file)
      return lines
    } catch (error) {
      lines.close()
      throw error
    }
  }

  get header(): readonly string[] {
    return this.#header
  }

  /** The records after the header, in batches: taken one by one they took six times as long. */
  async *batches(): AsyncGenerator<readonly (readonly string[])[]> {
    for (;;) {
      const batch = await this.#read(BATCH_RECORDS)
      if (batch.length === 0) break
      yield batch
    }
    await requireUnchanged(this.#file, this.#checked.bytes)
  }

  /** Up to `most` records, as soon as there are any; none at the end. */
  async #read(most: number): Promise<string[][]> {
    const batch: string[][] = []
    for (;;) {
      while (batch.length < most) {
        const record = this.#parser.read() as string[] | null
        if (record === null) break
        batch.push(record)
      }
      if (batch.length > 0) return batch
      if (this.#ended) return this.#end(this.#ended.error)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async #end(error: unknown): Promise<never[]> {
    if (error === undefined || error === null) return []
    const { name } = this.#file
    if (error instanceof SourceFault)
      throw new SourceFault(error.kind, `"${name}" ${error.message}`)
    // A file that is being written ends in the middle of a line: that it changes is the better reason.
    await requireUnchanged(this.#file)
    if (error instanceof CsvError)
      throw new SourceFault('file', `"${name}" ${said(error, this.#parser)}`)
    throw new SourceFault('file', `"${name}": ${whyUnreadable(error)}`)
  }

  close(): void {
    this.#parser.destroy()
  }
}

function headerOf(record: readonly string[] | undefined, file: CsvFile): string[] {
  if (!record) throw new SourceFault('file', `"${file.name}" is empty`)
  const names = record.map((name) => name.trim())
  if (names.length === 1 && names[0]!.includes(';'))
    throw new SourceFault('file', `"${file.name}" separates its columns by ";"; use commas`)
  return names
}

function said(error: CsvError, parser: Parser): string {
  const { lines, records } = parser.info
  const where = `row ${records} (line ${lines})`
  switch (error.code) {
    case 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH':
    case 'CSV_RECORD_INCONSISTENT_COLUMNS':
      return `${where} has another number of fields than the header`
    case 'CSV_QUOTE_NOT_CLOSED':
      return `${where} opens a quote that is never closed`
    case 'CSV_MAX_RECORD_SIZE':
      return `${where} has more than ${RECORD_BYTES_MAX} bytes`
    default:
      return `${where}: ${messageOf(error)}`
  }
}

class CheckedBytes extends Transform {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  bytes = 0

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const nulAt = chunk.indexOf(0)
    // UTF-16, which is what Excel calls "Unicode text", is mostly NUL bytes.
    if (nulAt >= 0) {
      done(
        new SourceFault('file', `holds a NUL at byte ${this.bytes + nulAt + 1}; save it as UTF-8`),
      )
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

  #unreadable(decode: () => string): SourceFault | null {
    try {
      decode()
      return null
    } catch {
      return new SourceFault('file', `is not UTF-8 before byte ${this.bytes + 1}; save it as UTF-8`)
    }
  }
}
