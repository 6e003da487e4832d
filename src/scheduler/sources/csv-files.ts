// Finds the files of a csv source and checks that they are complete. A path stays inside the configured folder, links included.
// A file whose size or time changes while it is read is still being written and is refused.
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { messageOf } from '../../base/errors/errors.ts'
import { SourceFault } from './fault.ts'

export interface CsvFile {
  readonly path: string
  readonly name: string
  readonly bytes: number
  readonly changedAtMs: number
}

/** Total of all files of a source. */
const BYTES_MAX = 50 * 1024 * 1024
const FILES_MAX = 1_000

/** The files in name order; at least one. */
export async function filesOf(folder: string | null, path: string): Promise<readonly CsvFile[]> {
  if (folder === null) throw new SourceFault('not_configured', 'MATOOLKIT_SOURCE_FOLDER is not set')
  const target = await pathInside(folder, path)
  const found = (await statOf(target, path)).isDirectory()
    ? await csvFilesIn(target, path)
    : [await fileAt(target)]
  const bytes = found.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes > BYTES_MAX) {
    const reason = `it has ${bytes} bytes; the limit is ${BYTES_MAX} (50 MiB)`
    throw new SourceFault('file', reason)
  }
  return found
}

/** The real path of `path`, which must stay inside the folder despite `..` and links. */
async function pathInside(folder: string, path: string): Promise<string> {
  if (path === '' || path.startsWith('/') || path.split(/[/\\]/).includes('..'))
    throw new SourceFault('file', 'its path leaves the folder for data files')
  const home = await realpath(folder).catch((error: unknown) => {
    throw new SourceFault('not_configured', `MATOOLKIT_SOURCE_FOLDER: ${whyUnreadable(error)}`)
  })
  const wanted = join(home, path)
  const target = await realpath(wanted).catch((error: unknown) => {
    // Here the whole path helps: the runbook may have been published from another folder.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new SourceFault('missing', `there is no file or folder "${wanted}"`)
    }
    throw new SourceFault('file', whyUnreadable(error))
  })
  if (target === home || target.startsWith(home.endsWith(sep) ? home : home + sep)) return target
  throw new SourceFault('file', 'it is a link that leaves the folder for data files')
}

async function csvFilesIn(folder: string, shown: string): Promise<CsvFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new SourceFault('file', whyUnreadable(error))
  })
  // Editors and copy programs leave names that begin with "." or "~$" next to open files.
  const csvNames = names.filter((name) => /^(?!\.|~\$).*\.csv$/i.test(name)).sort()
  if (csvNames.length === 0) throw new SourceFault('file', `the folder "${shown}" has no .csv file`)
  if (csvNames.length > FILES_MAX)
    throw new SourceFault(
      'file',
      `the folder has ${csvNames.length} files; the limit is ${FILES_MAX}`,
    )
  const files: CsvFile[] = []
  for (const name of csvNames) files.push(await fileAt(await pathInside(folder, name)))
  return files
}

async function fileAt(path: string): Promise<CsvFile> {
  const name = basename(path)
  const found = await statOf(path, name)
  if (!found.isFile()) throw new SourceFault('file', `"${name}" is not a file`)
  return { path, name, bytes: found.size, changedAtMs: found.mtimeMs }
}

async function statOf(path: string, shown: string) {
  return stat(path).catch((error: unknown) => {
    throw new SourceFault('file', `"${shown}": ${whyUnreadable(error)}`)
  })
}

/** Throws when the file changed since it was found. */
export async function requireUnchanged(file: CsvFile, bytesRead = file.bytes): Promise<void> {
  const now = await stat(file.path).catch(() => null)
  const isSame = now?.size === file.bytes && now.mtimeMs === file.changedAtMs
  if (isSame && bytesRead === file.bytes) return
  const before = `"${file.name}" had ${file.bytes} bytes when reading began`
  const after = now ? `${Math.max(now.size, bytesRead)} when it ended` : 'was gone when it ended'
  throw new SourceFault('changing', `${before} and ${after}`)
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'access is denied',
  ELOOP: 'its links form a loop',
  ENOTDIR: 'a part of its path is not a folder',
}

/** The system's own message would reveal the whole path. */
export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return REASONS[code] ?? (code === '' ? messageOf(error) : `it cannot be read (${code})`)
}
