// The user's folder ~/.matoolkit: small JSON files that only the owner can read, replaced atomically. A file that does not parse is
// reported, never overwritten.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { requirePrivateFolder, writePrivateFile } from '../../base/files/private-files.ts'
import { readClientEnv } from '../../base/settings/config.ts'

export const homeFolder = (): string => readClientEnv().homeFolder ?? join(homedir(), '.matoolkit')

/** Creates it if necessary. Throws FOLDER_UNSAFE if others could put files there. */
export const requireHomeFolder = (): void =>
  requirePrivateFolder(homeFolder(), { setting: 'MATOOLKIT_HOME', mayBeListed: true })

export const inHome = (name: string): string => join(homeFolder(), name)

/** Undefined if the file does not exist. */
export function readJsonFile(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new MatoolkitError('FILE_UNREADABLE', { file, reason: messageOf(error) })
  }
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text, which may be a token.
    const reason = 'it is not valid JSON; correct or remove it'
    throw new MatoolkitError('FILE_UNREADABLE', { file, reason })
  }
}

/** Throws FOLDER_UNSAFE. */
export function writeJsonFile(file: string, value: unknown): void {
  requireHomeFolder()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writePrivateFile(file, `${JSON.stringify(value, null, 2)}\n`)
}

export const removeFile = (file: string): void => rmSync(file, { force: true })
