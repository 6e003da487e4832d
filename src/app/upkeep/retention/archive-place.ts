// Where evidence packs of purged batches are: a private folder, or a container of Azure Blob storage. In a container a pack appears whole and once; with a policy of
// immutability nobody changes it after that, so each run takes another name. The disk of a container app is gone with its replica: there, a blob.
import { createReadStream } from 'node:fs'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { MatoolkitError, messageOf } from '../../../base/errors/errors.ts'
import { requirePrivateFolder } from '../../../base/files/private-files.ts'
import type { Clock } from '../../../base/run/clock.ts'
import { dropBody, readBeginning } from '../../../base/run/read-answer.ts'
import type { Config } from '../../../base/settings/config.ts'
import { tokenEndpointsOf } from '../../../base/sign-in/clouds.ts'
import { makeTokens } from '../../../base/sign-in/token.ts'
import { writeFlushed } from './pack-file.ts'

export interface ArchivePlace {
  /** What was written stays: a second run needs another name. */
  readonly isWriteOnce: boolean
  write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void>
  read(name: string): Promise<AsyncIterable<Uint8Array>>
  /** For people. */
  whereIs(name: string): string
}

const isBlobs = (archive: string): boolean => /^https?:/.test(archive)
const STORAGE_SCOPE = 'https://storage.azure.com/.default'

export function openArchivePlace(config: Config, clock: Clock): ArchivePlace {
  const { archive, identityClientId } = config
  if (!isBlobs(archive)) return folderPlace(resolve(archive))
  const tokens = makeTokens(clock, tokenEndpointsOf(config))
  const request = { from: 'machine', clientId: identityClientId, scope: STORAGE_SCOPE } as const
  return blobPlace({ url: archive, clock, token: () => tokens.get(request) })
}

export const folderPlace = (folder: string): ArchivePlace => ({
  isWriteOnce: false,
  write: (name, parts) => {
    requirePrivateFolder(folder, { setting: 'MATOOLKIT_ARCHIVE' })
    return writeFlushed(join(folder, name), parts)
  },
  read: async (name) => createReadStream(join(folder, name)),
  whereIs: (name) => join(folder, name),
})

export interface BlobPlaceOptions {
  /** `https://account.blob.core.windows.net/container`. */
  readonly url: string
  readonly clock: Clock
  token(): Promise<string>
}

const API_VERSION = '2023-11-03'
/** A blob has at most 50,000 blocks: 400 GB. */
const BLOCK_BYTES = 8 * 1024 * 1024
const TIMEOUT_MS = 60_000
const READ_TIMEOUT_MS = 3_600_000
const WAITS_MS = [1_000, 4_000, 16_000]
const REFUSAL_BYTES_MAX = 1_000
const mayPass = (status: number): boolean => status === 429 || status >= 500

/** Put Block, Put Block List and Get Blob (learn.microsoft.com, Blob service REST). Nothing is seen before the list is there. */
export function blobPlace({ url, clock, token }: BlobPlaceOptions): ArchivePlace {
  const whereIs = (name: string) => `${url.replace(/\/+$/, '')}/${encodeURIComponent(name)}`

  async function call(method: string, address: string, init: RequestInit = {}): Promise<Response> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await once(method, address, init).catch((error: unknown) => messageOf(error))
      if (typeof answer !== 'string' && answer.ok) return answer
      const waitMs = WAITS_MS[attempt]
      const isOver = typeof answer !== 'string' && !mayPass(answer.status)
      if (isOver || waitMs === undefined) throw await refusedBy(address, answer)
      await clock.wait(waitMs)
    }
  }

  async function once(method: string, address: string, init: RequestInit): Promise<Response> {
    const headers = {
      ...init.headers,
      authorization: `Bearer ${await token()}`,
      'x-ms-version': API_VERSION,
      'x-ms-date': clock.now().toUTCString(),
    }
    const timeoutMs = method === 'GET' ? READ_TIMEOUT_MS : TIMEOUT_MS
    return fetch(address, { ...init, method, headers, signal: AbortSignal.timeout(timeoutMs) })
  }

  return {
    isWriteOnce: true,
    whereIs,
    write: async (name, parts) => {
      const ids: string[] = []
      await inBlocks(parts, async (block) => {
        const id = Buffer.from(String(ids.length).padStart(6, '0')).toString('base64')
        const query = `?comp=block&blockid=${encodeURIComponent(id)}`
        await dropBody(await call('PUT', `${whereIs(name)}${query}`, { body: block }))
        ids.push(id)
      })
      const list = ids.map((id) => `<Latest>${id}</Latest>`).join('')
      const body = `<?xml version="1.0" encoding="utf-8"?><BlockList>${list}</BlockList>`
      const headers = { 'if-none-match': '*', 'x-ms-blob-content-type': 'application/gzip' }
      await dropBody(await call('PUT', `${whereIs(name)}?comp=blocklist`, { body, headers }))
    },
    read: async (name) => {
      const { body } = await call('GET', whereIs(name))
      return Readable.fromWeb(body as ReadableStream)
    },
  }
}

/** Hands them over in blocks, one at a time. */
async function inBlocks(
  parts: AsyncIterable<Uint8Array>,
  put: (block: Buffer<ArrayBuffer>) => Promise<void>,
): Promise<void> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  const flush = async () => {
    if (bytes > 0) await put(Buffer.concat(waiting))
    waiting = []
    bytes = 0
  }
  for await (const part of parts) {
    waiting.push(part)
    bytes += part.length
    if (bytes >= BLOCK_BYTES) await flush()
  }
  await flush()
}

async function refusedBy(address: string, answer: Response | string): Promise<MatoolkitError> {
  const said =
    typeof answer === 'string'
      ? answer
      : `${answer.status} ${(await readBeginning(answer, REFUSAL_BYTES_MAX)).replace(/\s+/g, ' ')}`
  return new MatoolkitError('REFUSED', {
    reason: `the archive store at ${address} answered ${said}`,
  })
}
