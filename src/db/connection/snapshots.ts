// Snapshots of the embedded database: whole copies of its folder, each opened and read in full before it counts as one. They help when
// the folder does not open, not when the disk is lost. A snapshot never takes the last space, and a restore deletes nothing.
import { constants, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { draftOf, requirePrivateFolder, writePrivateFile } from '../../base/files/private-files.ts'
import type { Db } from './db.ts'
import { freeBytesOf, type ReadFreeBytes, sizeText } from './free-space.ts'

export type SnapshotCause = 'start' | 'hourly' | 'upgrade' | 'asked'

export interface Snapshot {
  /** The time at which it was taken, as a folder's name. */
  readonly name: string
  readonly takenAt: Date
  readonly cause: SnapshotCause
  readonly bytes: number
  /** The newest migration in it. */
  readonly schemaVersion: number
}

const snapshotsIn = (dataDir: string): string => join(dataDir, 'snapshots')
export const databaseIn = (folder: string): string => join(folder, 'pgdata')
const NOTE = 'snapshot.json'
const NEWEST_KEPT = 3
const DAYS_KEPT = 2
const DAY_CHARS = 'YYYY-MM-DD'.length

/** The good ones, newest first. A folder without a readable note is a draft or something else. */
export function listSnapshots(dataDir: string): Snapshot[] {
  const folder = snapshotsIn(dataDir)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d/.test(name)) : []
  return names
    .flatMap((name) => readNote(folder, name))
    .sort((a, b) => +b.takenAt - +a.takenAt || b.name.localeCompare(a.name))
}

function readNote(folder: string, name: string): Snapshot[] {
  try {
    const { takenAt, ...note } = JSON.parse(readFileSync(join(folder, name, NOTE), 'utf8'))
    return [{ ...note, name, takenAt: new Date(takenAt) }]
  } catch {
    return []
  }
}

/** Which to keep: the newest three, the first of each of the last two days, and the newest from before an upgrade. */
export function keptSnapshots(newestFirst: readonly Snapshot[]): ReadonlySet<string> {
  const firstOfDay = new Map<string, string>()
  for (const { name } of newestFirst) firstOfDay.set(name.slice(0, DAY_CHARS), name)
  const upgrade = newestFirst.find(({ cause }) => cause === 'upgrade')
  return new Set([
    ...newestFirst.slice(0, NEWEST_KEPT).map(({ name }) => name),
    ...[...firstOfDay.values()].slice(0, DAYS_KEPT),
    ...(upgrade ? [upgrade.name] : []),
  ])
}

export interface SnapshotOptions {
  readonly dataDir: string
  readonly now: Date
  readonly cause: SnapshotCause
  /** Free space that it leaves. */
  readonly keepFreeBytes: number
  readonly readFreeBytes?: ReadFreeBytes
  /** Gives up, and leaves nothing behind. */
  readonly stopping?: AbortSignal
}

export type SnapshotOutcome =
  | { readonly snapshot: Snapshot; readonly heldMs: number; readonly removed: number }
  | { readonly skipped: string }

/** The database waits while its files are copied, not while the copy is checked. Throws SNAPSHOT_FAILED for a copy that is no good. */
export async function takeSnapshot(db: Db, options: SnapshotOptions): Promise<SnapshotOutcome> {
  const { dataDir, now, cause, keepFreeBytes, readFreeBytes = freeBytesOf, stopping } = options
  if (!db.copyTo) throw new Error('only an embedded database in a folder has snapshots')
  const folder = snapshotsIn(dataDir)
  requirePrivateFolder(folder, { setting: 'MATOOLKIT_DATA_DIR' })
  removeDrafts(folder)
  const size = await sizeOf(databaseIn(dataDir))
  const free = readFreeBytes(folder)
  if (free - size < keepFreeBytes) {
    return {
      skipped: `it needs up to ${sizeText(size)}, and of ${sizeText(free)} free space ${sizeText(keepFreeBytes)} must stay`,
    }
  }
  const name = now.toISOString().slice(0, 19).replaceAll(':', '-')
  const draft = draftOf(join(folder, name))
  try {
    await mkdir(draft, { mode: 0o700 })
    const heldMs = await db.copyTo(databaseIn(draft))
    const schemaVersion = await checkCopy(databaseIn(draft), stopping)
    const bytes = await sizeOf(databaseIn(draft))
    const snapshot: Snapshot = { name, takenAt: now, cause, bytes, schemaVersion }
    writePrivateFile(join(draft, NOTE), JSON.stringify(snapshot))
    rmSync(join(folder, name), { recursive: true, force: true })
    renameSync(draft, join(folder, name))
    return { snapshot, heldMs, removed: prune(dataDir) }
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (stopping?.aborted) return { skipped: 'the process stops' }
    const reason = messageOf(error).replace(/\.$/, '')
    throw new MatoolkitError('SNAPSHOT_FAILED', { folder, reason }, { cause: error })
  }
}

function prune(dataDir: string): number {
  const all = listSnapshots(dataDir)
  const kept = keptSnapshots(all)
  const gone = all.filter(({ name }) => !kept.has(name))
  for (const { name } of gone)
    rmSync(join(snapshotsIn(dataDir), name), { recursive: true, force: true })
  return gone.length
}

/** Of a process that ended in the middle. The folder has one owner at a time, so nobody else writes one. */
function removeDrafts(folder: string): void {
  for (const name of readdirSync(folder))
    if (name.startsWith('.')) rmSync(join(folder, name), { recursive: true, force: true })
}

/** In a thread: opening it would keep this one busy for seconds. Returns the newest migration in it. */
function checkCopy(dataDir: string, stopping?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./snapshot-check.ts', import.meta.url), {
      workerData: dataDir,
    })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the check ended without a result')))
    const end = () => void thread.terminate()
    if (stopping?.aborted) end()
    stopping?.addEventListener('abort', end, { once: true })
  })
}

export interface Restore {
  readonly snapshot: Snapshot
  /** Where the folder is now that did not open; null if there was none. */
  readonly movedTo: string | null
}

/**
 * The caller has the lock of the folder. `prepare` may change the copy before it takes the place of the database, which is moved
 * aside and never deleted.
 */
export async function restoreSnapshot(
  dataDir: string,
  snapshot: Snapshot,
  now: Date,
  prepare: (copy: string) => Promise<void>,
): Promise<Restore> {
  const current = databaseIn(dataDir)
  const draft = draftOf(join(dataDir, 'restored'))
  try {
    await mkdir(draft, { mode: 0o700 })
    await copyFiles(databaseIn(join(snapshotsIn(dataDir), snapshot.name)), databaseIn(draft))
    await prepare(draft)
    const movedTo = existsSync(current) ? asideOf(current, now) : null
    if (movedTo !== null) renameSync(current, movedTo)
    renameSync(databaseIn(draft), current)
    return { snapshot, movedTo }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

const asideOf = (folder: string, now: Date): string =>
  `${folder}-until-${now.toISOString().replaceAll(':', '-')}`

/** Whether the database is gone though it had been there: an empty one must not take its place unasked. */
export const isDatabaseMissing = (dataDir: string): boolean =>
  !existsSync(databaseIn(dataDir)) && listSnapshots(dataDir).length > 0

const COPIED_AT_ONCE = 16

/** Copies a folder; `isWanted` gets the path of each file inside it. */
export async function copyFiles(
  from: string,
  to: string,
  isWanted: (path: string) => boolean = () => true,
): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  const entries = await readdir(from, { recursive: true, withFileTypes: true })
  const pathOf = (entry: (typeof entries)[number]) =>
    join(entry.parentPath, entry.name).slice(from.length + 1)
  const folders = entries.filter((entry) => entry.isDirectory()).map(pathOf)
  for (const path of folders.sort()) await mkdir(join(to, path), { mode: 0o700 })
  const files = entries.filter((entry) => entry.isFile()).map(pathOf)
  const wanted = files.filter(isWanted)
  const next = wanted.values()
  const lane = async () => {
    for (const path of next) {
      await copyFile(join(from, path), join(to, path), constants.COPYFILE_FICLONE)
      await chmod(join(to, path), 0o600)
    }
  }
  await Promise.all(Array.from({ length: COPIED_AT_ONCE }, lane))
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  let bytes = 0
  for (const entry of entries) {
    if (!entry.isFile()) continue
    // A file may go while we count.
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => null)
    bytes += found?.size ?? 0
  }
  return bytes
}

/** Whether a copy needs this file: of the log only the segments from `first` to `last`, after a checkpoint. */
export function isNeeded(path: string, first: string, last: string): boolean {
  const file = basename(path)
  if (file === 'postmaster.pid' || file === 'postmaster.opts') return false
  if (!/^pg_wal[/\\][0-9A-F]{24}$/.test(path)) return true
  return file >= first && file <= last
}
