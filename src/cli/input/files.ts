// Reads and writes files for commands. Errors say why; existing files are replaced only on request.
import { createWriteStream, lstatSync, type Stats } from 'node:fs'
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { draftOf, OWNER_ONLY } from '../../base/files/private-files.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'access is denied',
}

export async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): MatoolkitError {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const reason = REASONS[code] ?? messageOf(error)
  return new MatoolkitError('FILE_UNREADABLE', { file, reason }, { cause: error })
}

/** The first bytes of a file: a huge file or an endless device cannot fill the memory. */
export async function readStart(file: string, bytesMax: number): Promise<Uint8Array> {
  let handle: FileHandle | undefined
  try {
    handle = await open(file)
    const buffer = Buffer.alloc(bytesMax)
    let length = 0
    while (length < bytesMax) {
      const { bytesRead } = await handle.read(buffer, length, bytesMax - length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return buffer.subarray(0, length)
  } catch (error) {
    throw unreadable(file, error)
  } finally {
    await handle?.close()
  }
}

export const readTextFile = async (file: string): Promise<string> =>
  (await readBytes(file)).toString('utf8')

/** Throws FILE_EXISTS, or FILE_UNWRITABLE for a link or a device, which are never written through. */
export function requireReplaceable(file: string, mayReplace: boolean): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (!found) return
  if (!mayReplace) throw new MatoolkitError('FILE_EXISTS', { file })
  const reason = whyNotReplaceable(found)
  if (reason !== null) throw new MatoolkitError('FILE_UNWRITABLE', { file, reason })
}

/**
 * Written under an unpredictable name until it is complete, for its owner only: it may name people. Throws FILE_EXISTS or
 * FILE_UNWRITABLE.
 */
export async function writeNewFile(
  file: string,
  content: string | AsyncIterable<string | Uint8Array>,
  mayReplace: boolean,
  mode: number = OWNER_ONLY,
): Promise<void> {
  requireReplaceable(file, mayReplace)
  const draft = draftOf(file)
  try {
    const target = createWriteStream(draft, { mode, flags: 'wx' })
    await pipeline(typeof content === 'string' ? [content] : content, target)
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    const isOfFile = typeof (error as NodeJS.ErrnoException).syscall === 'string'
    if (!isOfFile) throw error
    throw new MatoolkitError('FILE_UNWRITABLE', { file, reason: messageOf(error) })
  }
}

/** Null if a rename may replace it. */
function whyNotReplaceable(found: Stats): string | null {
  if (found.isFile()) return null
  if (found.isSymbolicLink()) return 'it is a link; name the file itself'
  return found.isDirectory() ? 'it is a folder' : 'it is not a regular file'
}
