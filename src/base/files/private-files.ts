// Files and folders that only their owner can use. Files appear whole, under an unpredictable name first, and never through a link
// that somebody else has put there. A folder that other users could have read or changed is refused.
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { MatoolkitError, messageOf } from '../errors/errors.ts'

export const OWNER_ONLY = 0o600
const OWNER_ONLY_FOLDER = 0o700
const OTHERS = 0o077
const OTHERS_WRITE = 0o022
/** Of folders for everybody, such as /tmp. */
const STICKY = 0o1000

/** Null on Windows, which has no mode bits; a user's folder is private there. */
const ownUser = (): number | null => process.getuid?.() ?? null

export interface FolderUse {
  /** The setting that names another folder. */
  readonly setting: string
  /** Other users may list the folder, because each file in it is private; they must not change it. */
  readonly mayBeListed?: boolean
}

/**
 * Creates the folder if necessary. Throws FOLDER_UNSAFE if it belongs to somebody else or is open to others. An empty folder of
 * our own is narrowed instead: nobody has put anything there yet.
 */
export function requirePrivateFolder(folder: string, { setting, mayBeListed }: FolderUse): void {
  mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
  const user = ownUser()
  if (user === null) return
  const forbidden = mayBeListed ? OTHERS_WRITE : OTHERS
  let found = statSync(folder)
  const isOwn = found.uid === user && (found.mode & STICKY) === 0
  if (isOwn && (found.mode & forbidden) !== 0 && isEmpty(folder)) {
    chmodSync(folder, OWNER_ONLY_FOLDER)
    // Again: somebody may have been quicker.
    if (isEmpty(folder)) found = statSync(folder)
  }
  const path = resolve(folder)
  const refusal = refusalOf(found, path, { forbidden, user })
  if (refusal === null) return
  const [reason, remedy] = refusal
  throw new MatoolkitError('FOLDER_UNSAFE', { folder: path, reason, remedy, setting })
}

/** The remedy never names a folder of the system: a chmod would lock others out of it. */
function refusalOf(
  { uid, mode }: Stats,
  path: string,
  { forbidden, user }: { forbidden: number; user: number },
): [reason: string, remedy: string] | null {
  const isShared = (mode & STICKY) !== 0 && (mode & forbidden) !== 0
  if (uid !== user || isShared) {
    const reason = isShared
      ? 'all users share it'
      : `it belongs to user ${uid}, and this process runs as user ${user}`
    return [reason, 'Start in a folder of your own']
  }
  if ((mode & forbidden) === 0) return null
  const can = (mode & OTHERS_WRITE) === 0 ? 'read' : 'change'
  const command = forbidden === OTHERS ? 'chmod -R go=' : 'chmod go-w'
  return [
    `other users can ${can} it (mode ${(mode & 0o777).toString(8)})`,
    `Check that it was not changed, then run ${command} "${path}"`,
  ]
}

const FOLDER_REASONS: Readonly<Record<string, string>> = {
  EACCES: 'access is denied',
  EPERM: 'access is denied',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user is used up',
  EIO: 'the disk has an error',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file',
}

/** Why a folder cannot be used, in words. Errors of ours stay as they are. */
export function unwritableFolder(folder: string, setting: string, error: unknown): MatoolkitError {
  if (error instanceof MatoolkitError) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = FOLDER_REASONS[code] ?? messageOf(error)
  const details = { folder: resolve(folder), reason, setting }
  return new MatoolkitError('FOLDER_UNWRITABLE', details, { cause: error })
}

const isEmpty = (folder: string): boolean => readdirSync(folder).length === 0

/** Whether it is a file of our own that nobody else can read or change. A link is not. */
export function isPrivateFile(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false })
  const user = ownUser()
  if (!found?.isFile()) return false
  return user === null || (found.uid === user && (found.mode & OTHERS) === 0)
}

/** Undefined unless it is a private file. */
export const readPrivateFile = (file: string): string | undefined =>
  isPrivateFile(file) ? readFileSync(file, 'utf8') : undefined

/** The name under which a file is written until it is complete. Open it with the flag "wx". */
export const draftOf = (file: string): string =>
  join(dirname(file), `.${basename(file)}.${randomBytes(9).toString('base64url')}`)

/** Replaces the file as a whole. A link in its place is replaced, not followed. */
export function writePrivateFile(file: string, content: string | Uint8Array): void {
  const draft = draftOf(file)
  try {
    writeFileSync(draft, content, { mode: OWNER_ONLY, flag: 'wx' })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
