// Which files a csv source means, and whether they hold still. A path stays below the configured folder, also behind links. A
// file whose size or time changes while it is read is still being written, and half a file must never be taken for a whole one.
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { messageOf } from '../../errors.ts'
import { SourceFault } from './fault.ts'

export interface CsvFile {
  readonly path: string
  readonly name: string
  readonly bytes: number
  readonly changedAtMs: number
}

/** Of all files of a source together. */
const BYTES_MAX = 50 * 1024 * 1024
const FILES_MAX = 1_000

/** The files in order of their names; at least one. */
export async function filesOf(folder: string | null, path: string): Promise<readonly CsvFile[]> {
  if (folder === null) throw new SourceFault('not_configured', 'MATOOLKIT_SOURCE_FOLDER is not set')
  const target = await below(folder, path)
  const found = (await look(target, path)).isDirectory()
    ? await csvFilesIn(target, path)
    : [await fileAt(target)]
  const bytes = found.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes > BYTES_MAX) {
    const reason = `it has ${bytes} bytes; at most ${BYTES_MAX} (50 MiB) are read`
    throw new SourceFault('file', reason)
  }
  return found
}

/** The real path of `path`, which must not lead out of the folder by `..` or by a link. */
async function below(folder: string, path: string): Promise<string> {
  if (path === '' || path.startsWith('/') || path.split(/[/\\]/).includes('..'))
    throw new SourceFault('file', 'its path leads out of the folder for data files')
  const home = await realpath(folder).catch((error: unknown) => {
    throw new SourceFault('not_configured', `MATOOLKIT_SOURCE_FOLDER: ${whyUnreadable(error)}`)
  })
  const target = await realpath(join(home, path)).catch((error: unknown) => {
    throw new SourceFault('file', whyUnreadable(error))
  })
  if (target === home || target.startsWith(home.endsWith(sep) ? home : home + sep)) return target
  throw new SourceFault('file', 'it is a link that leads out of the folder for data files')
}

async function csvFilesIn(folder: string, shown: string): Promise<CsvFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new SourceFault('file', whyUnreadable(error))
  })
  // Names that begin with "." or "~$" are what editors and copying programs leave beside a file they work on.
  const wanted = names.filter((name) => /^(?!\.|~\$).*\.csv$/i.test(name)).sort()
  if (wanted.length === 0) throw new SourceFault('file', `the folder "${shown}" holds no .csv file`)
  if (wanted.length > FILES_MAX)
    throw new SourceFault(
      'file',
      `the folder has ${wanted.length} files; at most ${FILES_MAX} are read`,
    )
  const files: CsvFile[] = []
  for (const name of wanted) files.push(await fileAt(await below(folder, name)))
  return files
}

async function fileAt(path: string): Promise<CsvFile> {
  const name = basename(path)
  const found = await look(path, name)
  if (!found.isFile()) throw new SourceFault('file', `"${name}" is not a file`)
  return { path, name, bytes: found.size, changedAtMs: found.mtimeMs }
}

async function look(path: string, shown: string) {
  return stat(path).catch((error: unknown) => {
    throw new SourceFault('file', `"${shown}": ${whyUnreadable(error)}`)
  })
}

/** Throws when the file is not what it was when it was found. */
export async function requireUnchanged(file: CsvFile, bytesRead = file.bytes): Promise<void> {
  const now = await stat(file.path).catch(() => null)
  const isSame = now?.size === file.bytes && now.mtimeMs === file.changedAtMs
  if (isSame && bytesRead === file.bytes) return
  const was = `"${file.name}" had ${file.bytes} bytes when reading began`
  const is = now ? `${Math.max(now.size, bytesRead)} when it ended` : 'was gone when it ended'
  throw new SourceFault('changing', `${was} and ${is}`)
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'access is denied',
  ELOOP: 'its links lead in a circle',
  ENOTDIR: 'a part of its path is not a folder',
}

/** The system's own message names the whole path on this machine. */
export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return REASONS[code] ?? (code === '' ? messageOf(error) : `it cannot be read (${code})`)
}
