// A vault in a local folder: one AES-256-GCM file per secret, bound to its name and readable only by the worker's user. The key
// comes from a setting or is created in the same folder; then anyone who can read the folder can read the secrets, and
// encryption only keeps them out of backups and searches. Use Key Vault in production.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import {
  draftOf,
  isPrivateFile,
  OWNER_ONLY,
  requirePrivateFolder,
} from '../../base/files/private-files.ts'
import type { Secrets } from '../http/api.ts'
import { requireReference, secretMissing, secretReferenceOf } from './reference.ts'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_FILE = 'key'
const NEW_FILE = { mode: OWNER_ONLY, flag: 'wx', flush: true } as const

export interface FolderVaultOptions {
  readonly folder: string
  /** 32 bytes; null uses the key file in the folder. */
  readonly key: Buffer | null
}

/** Opens the folder, creating it if necessary. Throws SECRETS_UNUSABLE or FOLDER_UNSAFE. */
export async function openFolderVault({ folder, key }: FolderVaultOptions): Promise<Secrets> {
  const secret = await prepare(folder, key).catch((error: unknown) => {
    if (error instanceof MatoolkitError) throw error
    throw new MatoolkitError('SECRETS_UNUSABLE', { folder, reason: messageOf(error) })
  })
  const read = async (reference: string): Promise<Buffer | null> => {
    try {
      return await readFile(join(folder, reference))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }
  return {
    put: async (name, value) => {
      const reference = secretReferenceOf(name)
      const path = join(folder, reference)
      // Written whole or not at all, even across a crash.
      const draft = draftOf(path)
      await writeFile(draft, sealed(value, reference, secret), NEW_FILE)
      await rename(draft, path)
      return reference
    },
    get: async (reference) => {
      requireReference(reference)
      const bytes = await read(reference)
      if (bytes === null) throw secretMissing(reference)
      return unsealed(bytes, reference, secret)
    },
    find: async (name) => {
      const reference = secretReferenceOf(name)
      return (await read(reference)) === null ? null : reference
    },
  }
}

async function prepare(folder: string, given: Buffer | null): Promise<Buffer> {
  requirePrivateFolder(folder, { setting: 'MATOOLKIT_SECRETS_FOLDER' })
  if (given !== null) return given
  const path = join(folder, KEY_FILE)
  if (!existsSync(path)) await makeKey(path)
  if (!isPrivateFile(path))
    throw new Error(`other users can read the file "${KEY_FILE}"; run chmod 600 on it`)
  const key = await readFile(path)
  if (key.length !== KEY_BYTES)
    throw new Error(`the file "${KEY_FILE}" does not hold a ${KEY_BYTES}-byte key`)
  return key
}

/**
 * When two workers start together, one creates the key and the other reads it. The key is written to a draft and linked into
 * place: a worker that read a half-written file rejected the key and did not start.
 */
async function makeKey(path: string): Promise<void> {
  const draft = draftOf(path)
  await writeFile(draft, randomBytes(KEY_BYTES), NEW_FILE)
  try {
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await unlink(draft)
  }
}

function sealed(value: string, reference: string, key: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(reference))
  const body = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

function unsealed(bytes: Buffer, reference: string, key: Buffer): string {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(reference))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    const body = bytes.subarray(IV_BYTES + TAG_BYTES)
    return decipher.update(body, undefined, 'utf8') + decipher.final('utf8')
  } catch (error) {
    throw new MatoolkitError('SECRET_UNREADABLE', { reference }, { cause: error })
  }
}
