// An archived batch as text, and as a file: JSON Lines. A header names the batch, each row is a line, and the last line counts the rows of each table
// and has the SHA-256 of everything before it. So a file that was cut, changed or put into another order is recognised without a database.
import { createHash } from 'node:crypto'
import { createReadStream, type PathLike, readdirSync, rmSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { messageOf } from '../../../base/errors/errors.ts'
import { draftOf, OWNER_ONLY } from '../../../base/files/private-files.ts'
import { isObject, type Json } from '../../../base/text/json.ts'

const FORMAT = 'matoolkit-archive'
const FORMAT_VERSION = 1

export interface ArchiveHeader {
  readonly batchId: number
  readonly runbookName: string
  readonly endedAt: string
  readonly archivedAt: string
}

export interface ArchiveSum {
  readonly digest: string
  readonly rowCounts: Readonly<Record<string, number>>
}

export interface TableRow {
  readonly table: string
  readonly row: Json
}

/** Returns the sum when the text is complete. */
export async function* archiveText(
  header: ArchiveHeader,
  pages: AsyncIterable<readonly TableRow[]>,
): AsyncGenerator<string, ArchiveSum> {
  const hash = createHash('sha256')
  const rowCounts: Record<string, number> = {}
  const hashed = (text: string): string => {
    hash.update(text)
    return text
  }
  yield hashed(lineOf({ format: FORMAT, version: FORMAT_VERSION, ...header }))
  for await (const rows of pages) {
    for (const { table } of rows) rowCounts[table] = (rowCounts[table] ?? 0) + 1
    yield hashed(rows.map(({ table, row }) => lineOf({ table, row })).join(''))
  }
  const digest = hash.digest('hex')
  yield lineOf({ end: true, rows: rowCounts, sha256: digest })
  return { digest, rowCounts }
}

/** Writes the whole file and flushes it to the disk before it gets its name. A file of that name is replaced. */
export async function writeArchive(
  file: string,
  text: AsyncGenerator<string, ArchiveSum>,
): Promise<ArchiveSum> {
  removeDrafts(file)
  const draft = draftOf(file)
  const handle = await open(draft, 'wx', OWNER_ONLY)
  try {
    let part = await text.next()
    for (; part.done !== true; part = await text.next()) await handle.writeFile(part.value)
    await handle.sync()
    await handle.close()
    await rename(draft, file)
    await flushFolder(dirname(file))
    return part.value
  } catch (error) {
    await handle.close().catch(() => {})
    rmSync(draft, { force: true })
    throw error
  }
}

const lineOf = (value: Json): string => `${JSON.stringify(value)}\n`

/** What a killed run has left. */
function removeDrafts(file: string): void {
  const prefix = `.${basename(file)}.`
  for (const name of readdirSync(dirname(file)))
    if (name.startsWith(prefix)) rmSync(join(dirname(file), name), { force: true })
}

/** A new name is safe once its folder is. Windows cannot open a folder. */
async function flushFolder(folder: PathLike): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export type Verified =
  | ({ readonly ok: true; readonly header: ArchiveHeader } & ArchiveSum)
  | { readonly ok: false; readonly reason: string }

export const verifyArchive = (file: string): Promise<Verified> =>
  verifyText(() => createReadStream(file, 'utf8'))

/** Reads the whole text, a line at a time. */
export async function verifyText(read: () => Readable | Promise<Readable>): Promise<Verified> {
  const hash = createHash('sha256')
  const rowCounts: Record<string, number> = {}
  let header: ArchiveHeader | null = null
  let number = 0
  try {
    for await (const { line, isLast } of linesOf(await read())) {
      number += 1
      const value: unknown = JSON.parse(line)
      if (!isObject(value)) return refuse(`line ${number} is no object`)
      if (header === null) {
        if (value.format !== FORMAT) return refuse('it is no archive of a batch')
        if (value.version !== FORMAT_VERSION)
          return refuse(
            `it has format ${String(value.version)}; this program reads ${FORMAT_VERSION}`,
          )
        header = value as unknown as ArchiveHeader
      } else if (value.end === true) {
        if (!isLast) return refuse(`line ${number} ends the archive, and more follows`)
        return compare(header, value, { digest: hash.digest('hex'), rowCounts })
      } else if (typeof value.table !== 'string') return refuse(`line ${number} has no table`)
      else rowCounts[value.table] = (rowCounts[value.table] ?? 0) + 1
      hash.update(`${line}\n`)
    }
  } catch (error) {
    return refuse(`${number === 0 ? 'it' : `line ${number}`} cannot be read: ${messageOf(error)}`)
  }
  return refuse('it has no last line: it is cut off')
}

const refuse = (reason: string): Verified => ({ ok: false, reason })

function compare(
  header: ArchiveHeader,
  end: { readonly [name: string]: Json },
  found: ArchiveSum,
): Verified {
  if (end.sha256 !== found.digest)
    return refuse(
      `its rows have the digest ${found.digest}, its last line says ${String(end.sha256)}`,
    )
  const told = isObject(end.rows) ? end.rows : {}
  for (const table of new Set([...Object.keys(told), ...Object.keys(found.rowCounts)])) {
    const [says, has] = [told[table] ?? 0, found.rowCounts[table] ?? 0]
    if (says !== has)
      return refuse(`it has ${has} rows of ${table}, its last line says ${String(says)}`)
  }
  return { ok: true, header, ...found }
}

async function* linesOf(input: Readable): AsyncGenerator<{ line: string; isLast: boolean }> {
  const lines = createInterface({ input, crlfDelay: Infinity })
  let held: string | null = null
  for await (const line of lines) {
    if (held !== null) yield { line: held, isLast: false }
    held = line
  }
  if (held !== null) yield { line: held, isLast: true }
}
