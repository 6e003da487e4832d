// One process per folder. The proof is a lock the kernel holds and drops by itself when the process dies, however it dies:
// SQLite's exclusive file lock, reached through Node's own module. A pid file alone cannot be trusted after a crash.
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { MatoolkitError } from '../errors.ts'

/** Takes the folder for this process, or throws DATABASE_FOLDER_IN_USE naming who has it. Returns how to give it back. */
export function lockFolder(folder: string): () => void {
  const ownerFile = join(folder, 'owner.txt')
  const held = new DatabaseSync(join(folder, 'lock'))
  try {
    held.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (cause) {
    held.close()
    throw new MatoolkitError(
      'DATABASE_FOLDER_IN_USE',
      { folder, owner: readOwner(ownerFile) },
      { cause },
    )
  }
  // For the sentence a second opener gets; never read to decide anything.
  writeFileSync(ownerFile, `process ${process.pid} on ${hostname()}\n`)
  return () => held.close()
}

function readOwner(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return 'another process'
  }
}
