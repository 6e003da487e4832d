// One process per folder, or several that know who is first and last, by SQLite's file locks: the kernel releases them when the process
// dies, however it dies. A pid file cannot be trusted after a crash.
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { MatoolkitError } from '../../base/errors/errors.ts'

/** Returns the function that unlocks. Throws DATABASE_FOLDER_IN_USE, which names the owner. */
export function lockFolder(folder: string): () => void {
  const ownerFile = join(folder, 'owner.txt')
  // Before SQLite: it would tell a folder that cannot be written to with a number of its own.
  const file = join(folder, 'lock')
  closeSync(openSync(file, 'a', 0o600))
  const lock = new DatabaseSync(file)
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (cause) {
    lock.close()
    throw new MatoolkitError(
      'DATABASE_FOLDER_IN_USE',
      { folder, owner: readOwner(ownerFile) },
      { cause },
    )
  }
  // Only for the error of a second process; nothing decides by it.
  writeFileSync(ownerFile, `process ${process.pid} on ${hostname()}\n`, { mode: 0o600 })
  return () => lock.close()
}

function readOwner(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return 'another process'
  }
}

/** Longer than any `first` or `last` takes. */
const SHARE_WAIT_MS = 10_000

export interface ShareTurns {
  /** Runs while no other process shares the file, before this one joins. */
  readonly first: () => void
  /** Runs after this process has left, if no other shares the file. */
  readonly last: () => void
}

/** Shares the lock on the file with other processes. Returns the function that leaves. */
export function joinShare(file: string, { first, last }: ShareTurns): () => void {
  // For its owner only: a user who can read it can lock it.
  closeSync(openSync(file, 'a', 0o600))
  runAlone(file, first)
  const shared = new DatabaseSync(file, { timeout: SHARE_WAIT_MS })
  shared.exec('begin; select count(*) from sqlite_schema')
  let hasLeft = false
  return () => {
    if (hasLeft) return
    hasLeft = true
    shared.close()
    runAlone(file, last)
  }
}

/** Does nothing while other processes share the file. */
function runAlone(file: string, work: () => void): void {
  const lock = new DatabaseSync(file)
  try {
    lock.exec('begin exclusive')
  } catch {
    lock.close()
    return
  }
  try {
    work()
  } finally {
    lock.close()
  }
}
