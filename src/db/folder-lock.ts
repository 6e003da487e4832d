// One process per folder, by SQLite's exclusive file lock: the kernel releases it when the process dies, however it dies. A pid file
// cannot be trusted after a crash.
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { MatoolkitError } from '../errors.ts'

/** Returns the function that unlocks. Throws DATABASE_FOLDER_IN_USE, which names the owner. */
export function lockFolder(folder: string): () => void {
  const ownerFile = join(folder, 'owner.txt')
  const lock = new DatabaseSync(join(folder, 'lock'))
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
