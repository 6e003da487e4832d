// Small evidence packs for tests, and archives made of their parts, so that each part can be changed.
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { packTar, unpackTar } from 'modern-tar'
import { openSigningKey, type SigningKey } from '../../../src/api/evidence/signing-key.ts'
import { type PackSource, writePack } from '../../../src/api/evidence/write-pack.ts'
import { chainHashOf, NO_HASH } from '../../../src/base/keys/audit-hash.ts'
import type { Json } from '../../../src/base/text/json.ts'

export function newKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  const evidenceKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return openSigningKey({ evidenceKey, evidenceKeyFile: null, apiTokenFile: 'unused' }, false)
}

export function auditRows(count: number): Json[] {
  let previousHash = NO_HASH
  return Array.from({ length: count }, (_, at) => {
    const row = {
      id: at + 1,
      actor: 'a',
      actorName: 'Ada',
      action: 'batch.hold',
      subject: 'batch 7',
      reason: `because ${at}`,
      source: null,
      clientApp: null,
      requestId: null,
      before: null,
      after: { b: 1, a: [at] },
    }
    const at0 = '2026-03-01T10:00:00.000Z'
    const hash = chainHashOf({ ...row, at: new Date(at0) }, previousHash)
    const sealed = { ...row, at: at0, sealNumber: at + 1, previousHash, hash }
    previousHash = hash
    return sealed
  })
}

async function* once<T>(...values: readonly T[]): AsyncGenerator<T> {
  yield* values
}

export function sourceOf(tables: Readonly<Record<string, readonly Json[]>>): PackSource {
  const audit = auditRows(3)
  const { sealNumber, hash } = audit.at(-1) as { sealNumber: number; hash: string }
  return {
    head: {
      batch: {
        id: 7,
        runbookName: 'wave',
        runbookVersion: 2,
        status: 'completed',
        members: 2,
        batchStartTime: '2026-03-01T20:00:00.000Z',
        endedAt: '2026-03-01T23:00:00.000Z',
      },
      createdAt: '2026-03-02T08:00:00.000Z',
      createdBy: { id: 'ada', name: 'Ada' },
      program: { name: 'matoolkit', version: '0.1.0' },
    },
    documents: once({ name: 'batch.json', text: '{}\n' }),
    tables: Object.entries(tables).map(([name, rows]) => ({ name, pages: () => once(rows) })),
    audit: {
      after: { sealed: 0, hash: NO_HASH },
      head: { sealed: sealNumber, hash },
      pages: () => once(audit),
    },
    picture: async () => ({ lastEventId: 9, hasChanged: false }),
  }
}

export const TABLES = { members: [{ key: 'ada@x.example' }, { key: 'bob@x.example' }], holds: [] }

export const packed = (key: SigningKey, source = sourceOf(TABLES)): Promise<Buffer> =>
  buffer(writePack(source, key, new AbortController().signal))

export interface Entry {
  readonly name: string
  readonly content: Buffer
  readonly type?: 'symlink' | 'link' | 'directory'
  readonly linkname?: string
  /** What the header says, for headers that lie. */
  readonly size?: number
}

export const entriesOf = async (archive: Buffer): Promise<Entry[]> =>
  (await unpackTar(gunzipSync(archive), { strict: true })).map(({ header, data }) => ({
    name: header.name,
    content: Buffer.from(data ?? []),
  }))

export const archiveOf = async (entries: readonly Entry[]): Promise<Buffer> =>
  gzipSync(
    await packTar(
      entries.map(({ name, content, type, linkname }) => ({
        header: {
          name,
          size: content.length,
          ...(type && { type }),
          ...(linkname && { linkname }),
        },
        body: content,
      })),
    ),
  )

export function temporaryFolder(): { path(name: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-evidence-'))
  return {
    path: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true }),
  }
}
