// Writes an evidence pack: a tar archive, compressed with gzip, that any system can open. The size of a file stands before its content, so
// a table is cut into files of some megabytes; no more than one is in memory. The manifest and its signature come last.
import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { createTarPacker, type TarPackController } from 'modern-tar'
import type { Json } from '../../base/text/json.ts'
import {
  AUDIT,
  type ChainEnd,
  FOLDER,
  FORMAT,
  FORMAT_VERSION,
  MANIFEST,
  type Manifest,
  type ManifestHead,
  type PackedFile,
  PUBLIC_KEY,
  SIGNATURE,
  SUMS,
} from './manifest.ts'
import { README } from './readme.ts'
import type { SigningKey } from './signing-key.ts'

const FILE_BYTES = 4_000_000
const FILE_MODE = 0o600
const NUMBER_DIGITS = 5

export interface PackTable {
  /** Also the name of its folder: small letters and hyphens. */
  readonly name: string
  pages(): AsyncIterable<readonly Json[]>
}

export interface PackDocument {
  readonly name: string
  readonly text: string
}

export interface PackSource {
  readonly head: ManifestHead
  readonly documents: AsyncIterable<PackDocument>
  readonly tables: readonly PackTable[]
  /** The rows of the chain that follow `after`, up to `head`. */
  readonly audit: {
    readonly after: ChainEnd
    readonly head: ChainEnd
    pages(): AsyncIterable<readonly Json[]>
  }
  /** Asked at the end: whether the batch has changed meanwhile. */
  picture(): Promise<Manifest['picture']>
}

/** Ends early with an error when `signal` aborts: the reader has gone. */
export async function* writePack(
  source: PackSource,
  key: SigningKey,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { readable, controller } = createTarPacker()
  const gzip = createGzip()
  const piped = pipeline(readable, gzip, { signal })
  const filled = fill(controller, source, key, signal).catch((error: Error) => {
    controller.error(error)
    throw error
  })
  // Reading reports them.
  for (const promise of [piped, filled]) promise.catch(() => {})
  try {
    for await (const bytes of gzip) yield bytes as Uint8Array
    await Promise.all([piped, filled])
  } finally {
    controller.error(new Error('the reader has gone'))
    gzip.destroy()
  }
}

async function fill(
  tar: TarPackController,
  { head, documents, tables, audit, picture }: PackSource,
  key: SigningKey,
  signal: AbortSignal,
): Promise<void> {
  const at = new Date(head.createdAt)
  const files: PackedFile[] = []
  const counts: Record<string, number> = {}
  const add = async (name: string, text: string, rows: number | null = null) => {
    signal.throwIfAborted()
    const bytes = Buffer.from(text)
    files.push({ name, sha256: sha256Of(bytes), bytes: bytes.length, rows })
    await addEntry(tar, name, bytes, at)
  }
  const addTable = async ({ name, pages }: PackTable) => {
    counts[name] = 0
    for await (const { number, text, rows } of filesOf(pages())) {
      counts[name] += rows
      await add(`${name}/${String(number).padStart(NUMBER_DIGITS, '0')}.jsonl`, text, rows)
    }
  }
  await add('README.txt', README)
  for await (const { name, text } of documents) await add(name, text)
  for (const table of tables) await addTable(table)
  await addTable({ name: AUDIT, pages: audit.pages })
  await add(SUMS, files.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join(''))
  const manifest: Manifest = {
    format: FORMAT,
    version: FORMAT_VERSION,
    ...head,
    picture: await picture(),
    audit: { after: audit.after, head: audit.head },
    tables: counts,
    files,
    key: { algorithm: 'Ed25519', fingerprint: key.fingerprint },
  }
  const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  await addEntry(tar, PUBLIC_KEY, Buffer.from(key.publicKeyPem), at)
  await addEntry(tar, MANIFEST, bytes, at)
  await addEntry(tar, SIGNATURE, key.sign(bytes), at)
  tar.finalize()
}

/** Resolves when the reader has taken it, or nearly. */
async function addEntry(
  tar: TarPackController,
  name: string,
  bytes: Buffer,
  mtime: Date,
): Promise<void> {
  const header = { name: `${FOLDER}${name}`, size: bytes.length, mode: FILE_MODE, mtime }
  const writer = tar.add(header).getWriter()
  await writer.write(bytes)
  await writer.close()
}

interface TableFile {
  readonly number: number
  readonly text: string
  readonly rows: number
}

/** JSON Lines. A table without rows has no file. */
async function* filesOf(pages: AsyncIterable<readonly Json[]>): AsyncGenerator<TableFile> {
  let [number, text, rows] = [1, '', 0]
  for await (const page of pages)
    for (const row of page) {
      text += `${JSON.stringify(row)}\n`
      rows += 1
      if (text.length < FILE_BYTES) continue
      yield { number, text, rows }
      ;[number, text, rows] = [number + 1, '', 0]
    }
  if (rows > 0) yield { number, text, rows }
}

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
