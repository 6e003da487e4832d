// The file of the system's change windows, read when a process starts.
import { readFileSync } from 'node:fs'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import type { Config } from '../../base/settings/config.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import { readSystemWindows } from '../../domain/windows/read-settings.ts'

/** Null without a file. Throws WINDOWS_FILE_INVALID with all problems. */
export function readWindowsFile(file: Config['windowsFile']): ChangeWindows | null {
  if (file === null) return null
  let text: Uint8Array
  try {
    text = readFileSync(file)
  } catch (error) {
    throw new MatoolkitError('FILE_UNREADABLE', { file, reason: messageOf(error) })
  }
  const read = readSystemWindows(text)
  if ('windows' in read) return read.windows
  const problems = read.problems
    .map(({ line, column, message }) => `\n  ${file}:${line}:${column} ${message}`)
    .join('')
  throw new MatoolkitError('WINDOWS_FILE_INVALID', { problems: `${problems}\n` })
}
