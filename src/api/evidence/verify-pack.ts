// Checks an evidence pack with nothing but its file: the signature over the manifest, every file against its hash, size and count, the
// links of the audit's chain, and that nothing is missing or added. It reads the archive once and writes nothing to the disk; whatever a
// pack of ours cannot hold (links, other folders, huge files) is a finding.
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { createTarDecoder } from 'modern-tar'
import { messageOf } from '../../base/errors/errors.ts'
import { ChainCheck } from './chain-check.ts'
import {
  AUDIT,
  FOLDER,
  FORMAT_VERSION,
  MANIFEST,
  type Manifest,
  manifestSchema,
  PUBLIC_KEY,
  packedFile,
  SIGNATURE,
  SUMS,
} from './manifest.ts'
import { fingerprintOf } from './signing-key.ts'

/** Findings beyond are only counted. */
const FINDINGS_MAX = 100
/** A file of ours has four megabytes and a row, or is one document. */
const FILE_BYTES_MAX = 64_000_000
/** Names and hashes of files are kept until the end. */
const FILES_MAX = 50_000
/** Of a file that is kept as a whole: the manifest and the list of sums name every file. */
const KEPT_BYTES_MAX = 10_000_000
const PACK_BYTES_MAX = 100_000_000_000
const NAME = /^[A-Za-z0-9][\w.-]{0,99}(?:\/[A-Za-z0-9][\w.-]{0,99})?$/
const LINE_END = 0x0a
/** They cannot name themselves in the manifest. */
const UNLISTED = [MANIFEST, SIGNATURE, PUBLIC_KEY]

export interface PackVerdict {
  /** Sentences; none when the pack is what was signed. */
  readonly findings: readonly string[]
  /** With those that are not listed. */
  readonly findingCount: number
  /** Null when it cannot be read. */
  readonly manifest: Manifest | null
  /** Of the key that signed; null when no valid signature is there. */
  readonly signedBy: string | null
}

interface FoundFile {
  readonly sha256: string
  readonly bytes: number
  readonly rows: number
}

class Findings {
  readonly list: string[] = []
  count = 0

  add(finding: string): void {
    this.count += 1
    if (this.list.length < FINDINGS_MAX) this.list.push(finding)
  }
}

/** `fingerprint` is that of the key you trust; null accepts any key. */
export async function verifyPack(
  archive: AsyncIterable<Uint8Array>,
  fingerprint: string | null,
): Promise<PackVerdict> {
  const findings = new Findings()
  const read = await readArchive(archive, findings)
  const key = keyIn(read.kept.get(PUBLIC_KEY), findings)
  const bytes = read.kept.get(MANIFEST)
  const manifest = manifestIn(bytes, findings)
  const signedBy = signerOf(bytes, read.kept.get(SIGNATURE), key, findings)
  if (fingerprint !== null && key !== null && fingerprintOf(key) !== fingerprint)
    findings.add(`it is signed by the key ${fingerprintOf(key)}, not by the one that you named`)
  if (manifest) {
    if (key && manifest.key.fingerprint !== fingerprintOf(key))
      findings.add(`${MANIFEST} names another key than ${PUBLIC_KEY} holds`)
    compareFiles(manifest, read.files, findings)
    compareSums(manifest, read.kept.get(SUMS), findings)
    for (const why of read.chain.compare(manifest.audit)) findings.add(why)
  }
  return { findings: findings.list, findingCount: findings.count, manifest, signedBy }
}

interface ReadArchive {
  readonly files: Map<string, FoundFile>
  readonly kept: Map<string, Buffer>
  readonly chain: ChainCheck
}

async function readArchive(
  archive: AsyncIterable<Uint8Array>,
  findings: Findings,
): Promise<ReadArchive> {
  const found: ReadArchive = { files: new Map(), kept: new Map(), chain: new ChainCheck() }
  const { readable, writable } = createTarDecoder({ strict: true })
  const piped = pipeline(
    archive,
    createGunzip(),
    limited,
    writable as unknown as NodeJS.WritableStream,
  )
  piped.catch(() => {})
  try {
    for await (const { header, body } of readable) {
      const { name, type = 'file', size } = header
      const refusal = whyRefused(name, type, size, found.files)
      // Not read on: its content could be endless.
      if (refusal !== null) throw new Error(refusal)
      await readEntry(name.slice(FOLDER.length), body, found)
    }
    await piped
  } catch (error) {
    findings.add(`it cannot be read to its end, it is damaged or cut off: ${messageOf(error)}`)
  }
  return found
}

async function* limited(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const part of parts) {
    bytes += part.length
    if (bytes > PACK_BYTES_MAX) throw new Error(`it unpacks to more than ${PACK_BYTES_MAX} bytes`)
    yield part
  }
}

function whyRefused(
  name: string,
  type: string,
  size: number,
  files: ReadonlyMap<string, FoundFile>,
): string | null {
  const shown = JSON.stringify(name.slice(0, 200))
  const inside = name.slice(FOLDER.length)
  if (!name.startsWith(FOLDER) || !NAME.test(inside)) return `${shown} is no name for a file of it`
  if (type !== 'file') return `${shown} is a ${type}, and a pack has files only`
  if (size > FILE_BYTES_MAX) return `${shown} has ${size} bytes, more than a pack may hold`
  if (files.has(inside)) return `${shown} is there twice`
  return files.size >= FILES_MAX ? `it has more than ${FILES_MAX} files` : null
}

async function readEntry(
  name: string,
  parts: AsyncIterable<Uint8Array>,
  { files, kept, chain }: ReadArchive,
): Promise<void> {
  const isOfChain = name.startsWith(`${AUDIT}/`)
  const isKept = name === SUMS || UNLISTED.includes(name)
  const hash = createHash('sha256')
  const content: Uint8Array[] = []
  let [bytes, rows] = [0, 0]
  for await (const part of parts) {
    hash.update(part)
    bytes += part.length
    for (const byte of part) if (byte === LINE_END) rows += 1
    if (isOfChain) chain.read(name, part)
    else if (isKept && bytes > KEPT_BYTES_MAX)
      throw new Error(`${name} has more than ${KEPT_BYTES_MAX} bytes`)
    else if (isKept) content.push(part)
  }
  files.set(name, { sha256: hash.digest('hex'), bytes, rows })
  if (isOfChain) chain.endFile(name)
  else if (isKept) kept.set(name, Buffer.concat(content))
}

function keyIn(pem: Buffer | undefined, findings: Findings): KeyObject | null {
  try {
    if (pem) return ed25519(createPublicKey(pem))
    findings.add(`${PUBLIC_KEY} is missing`)
  } catch (error) {
    findings.add(`${PUBLIC_KEY} holds no key: ${messageOf(error)}`)
  }
  return null
}

/** Throws for any other key. */
function ed25519(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`it is of type ${key.asymmetricKeyType}, not ed25519`)
  return key
}

function manifestIn(bytes: Buffer | undefined, findings: Findings): Manifest | null {
  if (!bytes) findings.add(`${MANIFEST} is missing`)
  if (!bytes) return null
  try {
    const value = JSON.parse(bytes.toString()) as { version?: unknown; files?: unknown }
    if (Number(value.version) > FORMAT_VERSION) {
      findings.add(`it has format ${String(value.version)}; this program reads ${FORMAT_VERSION}`)
      return null
    }
    // One after the other: a list of a million things that are no files would be a million findings.
    if (Array.isArray(value.files)) for (const file of value.files) packedFile.parse(file)
    return manifestSchema.parse(value)
  } catch (error) {
    findings.add(`${MANIFEST} is no manifest: ${messageOf(error).slice(0, 500)}`)
    return null
  }
}

function signerOf(
  bytes: Buffer | undefined,
  signature: Buffer | undefined,
  key: KeyObject | null,
  findings: Findings,
): string | null {
  if (!signature) findings.add(`${SIGNATURE} is missing`)
  if (!signature || !bytes || !key) return null
  if (verify(null, bytes, key, signature)) return fingerprintOf(key)
  findings.add(`the signature does not fit ${MANIFEST}: it was changed after it was signed`)
  return null
}

function compareFiles(
  { files, tables }: Manifest,
  found: ReadonlyMap<string, FoundFile>,
  findings: Findings,
): void {
  const listed = new Map(files.map((file) => [file.name, file]))
  const rowsOf = new Map<string, number>()
  for (const { name, sha256, bytes, rows } of files) {
    const there = found.get(name)
    const table = name.split('/')[0]!
    if (rows !== null) rowsOf.set(table, (rowsOf.get(table) ?? 0) + rows)
    if (!there) findings.add(`${name} is missing`)
    else if (there.sha256 !== sha256 || there.bytes !== bytes) findings.add(`${name} was changed`)
    else if (rows !== null && there.rows !== rows)
      findings.add(`${name} has ${there.rows} rows, the manifest says ${rows}`)
  }
  for (const name of found.keys())
    if (!listed.has(name) && !UNLISTED.includes(name)) findings.add(`${name} was added`)
  for (const table of new Set([...Object.keys(tables), ...rowsOf.keys()])) {
    const [says, has] = [tables[table] ?? 0, rowsOf.get(table) ?? 0]
    if (says !== has)
      findings.add(`${table} has ${has} rows in its files, the manifest says ${says}`)
  }
}

function compareSums({ files }: Manifest, sums: Buffer | undefined, findings: Findings): void {
  const others = files.filter(({ name }) => name !== SUMS)
  const expected = others.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
  if (sums && sums.toString() !== expected) findings.add(`${SUMS} is not the list of the manifest`)
}
