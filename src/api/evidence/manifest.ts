// The manifest of an evidence pack: what is in it, about which batch, made when, by which person and program. The signature covers its
// bytes, and it names the hash of every other file, so nothing can be changed, taken out or put in.
import { z } from 'zod'

export const FORMAT = 'matoolkit-evidence'
export const FORMAT_VERSION = 1
/** Every file of the pack lies in this folder. */
export const FOLDER = 'evidence/'
export const MANIFEST = 'manifest.json'
export const SIGNATURE = 'manifest.sig'
export const PUBLIC_KEY = 'public-key.pem'
export const SUMS = 'SHA256SUMS'
/** The part of the audit's chain, in files of its own. */
export const AUDIT = 'audit'

const hash = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.int().min(0)
const chainEnd = z.strictObject({ sealed: count, hash })

export const packedFile = z.strictObject({
  name: z.string(),
  sha256: hash,
  bytes: count,
  rows: count.nullable(),
})

export const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(FORMAT_VERSION),
  batch: z.strictObject({
    id: z.int(),
    runbookName: z.string(),
    runbookVersion: z.int(),
    status: z.string(),
    batchStartTime: z.string().nullable(),
    endedAt: z.string().nullable(),
    members: count,
  }),
  createdAt: z.string(),
  createdBy: z.strictObject({ id: z.string(), name: z.string() }),
  program: z.strictObject({ name: z.string(), version: z.string() }),
  /** Every decision writes an event. `hasChanged`: one was made while the batch was read, so the files may show different moments. */
  picture: z.strictObject({ lastEventId: count, hasChanged: z.boolean() }),
  /** `after` is the row before the first one here, `head` the last one. */
  audit: z.strictObject({ after: chainEnd, head: chainEnd }),
  /** Rows of each table, over its files. */
  tables: z.record(z.string(), count),
  files: z.array(packedFile),
  key: z.strictObject({ algorithm: z.literal('Ed25519'), fingerprint: hash }),
})

export type Manifest = z.output<typeof manifestSchema>
export type PackedFile = Manifest['files'][number]
export type ChainEnd = Manifest['audit']['head']

/** What the writer does not find out itself. */
export type ManifestHead = Pick<Manifest, 'batch' | 'createdAt' | 'createdBy' | 'program'>
