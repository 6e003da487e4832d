// Files that commands read and write. Reading says plainly why it failed; writing never replaces what is there unless asked to.
import { readFile, writeFile } from 'node:fs/promises'
import { MatoolkitError, messageOf } from '../errors.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'access is denied',
}

export async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const reason = REASONS[code] ?? messageOf(error)
    throw new MatoolkitError('FILE_UNREADABLE', { file, reason }, { cause: error })
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
