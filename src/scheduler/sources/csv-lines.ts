// The records of one CSV file, streamed from disk: exactly the bytes that the file had when it was found.
import { createReadStream } from 'node:fs'
import { CsvReader } from '../../base/files/csv.ts'
import { CsvFault } from '../../base/files/csv-text.ts'
import { type CsvFile, requireUnchanged, whyUnreadable } from './csv-files.ts'
import { SourceFault } from './fault.ts'

const BATCH_RECORDS = 1_000

export class CsvLines {
  readonly #file: CsvFile
  readonly #reader: CsvReader
  #header: readonly string[] = []

  private constructor(file: CsvFile, signal: AbortSignal) {
    this.#file = file
    this.#reader = new CsvReader(createReadStream(file.path, { signal }))
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

  /** The records after the header, in batches. */
  async *batches(): AsyncGenerator<readonly (readonly string[])[]> {
    for (;;) {
      const batch = await this.#read(BATCH_RECORDS)
      if (batch.length === 0) break
      yield batch
    }
    await requireUnchanged(this.#file, this.#reader.bytes)
  }

  async #read(most: number): Promise<string[][]> {
    try {
      return await this.#reader.read(most)
    } catch (error) {
      const { name } = this.#file
      // A file still being written ends in mid-line: that it changes is the better reason.
      await requireUnchanged(this.#file)
      if (error instanceof CsvFault) throw new SourceFault('file', `"${name}" ${error.message}`)
      throw new SourceFault('file', `"${name}": ${whyUnreadable(error)}`)
    }
  }

  close(): void {
    this.#reader.close()
  }
}

function headerOf(record: readonly string[] | undefined, file: CsvFile): string[] {
  if (!record) throw new SourceFault('file', `"${file.name}" is empty`)
  return record.map((name) => name.trim())
}
