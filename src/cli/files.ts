// Reads and writes files for commands. Errors say why; existing files are replaced only on request.
import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises'
import { MatoolkitError, messageOf } from '../errors.ts'

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

/** Throws FILE_EXISTS or FILE_UNWRITABLE. */
export async function writeNewFile(file: string, text: string, mayReplace: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: mayReplace ? 'w' : 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new MatoolkitError('FILE_EXISTS', { file })
    throw new MatoolkitError('FILE_UNWRITABLE', { file, reason: messageOf(error) })
  }
}
