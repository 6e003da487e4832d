// A file system of a few megabytes, for tests that fill a disk. Only root can mount one, so a test says why it is left out elsewhere.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly folder: string
  /** Leaves so much free, until `empty` is called. */
  fill(leaveMb?: number): void
  empty(): void
  unmount(): void
}

/** Why it cannot be mounted here, for `skip`; false where it can. */
export function whyNoSmallDisk(): string | false {
  try {
    openSmallDisk(1).unmount()
    return false
  } catch {
    return 'this user cannot mount a file system'
  }
}

/** In a new folder, or in an empty one. */
export function openSmallDisk(
  megabytes: number,
  folder: string = mkdtempSync(join(tmpdir(), 'matoolkit-disk-')),
): SmallDisk {
  const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', folder]
  try {
    execFileSync('mount', options, { stdio: 'ignore' })
  } catch (error) {
    rmdirSync(folder)
    throw error
  }
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill: (leaveMb = 0) => {
      rmSync(ballast, { force: true })
      const { bavail, bsize } = statfsSync(folder)
      const bytes = Math.max(0, bavail * bsize - leaveMb * 1024 * 1024)
      try {
        writeFileSync(ballast, Buffer.alloc(bytes))
      } catch (error) {
        // Others write meanwhile: what could be written has filled it.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    },
    empty: () => rmSync(ballast, { force: true }),
    unmount: () => {
      // A stopped database keeps its files open until its process ends.
      execFileSync('umount', ['-l', folder])
      rmdirSync(folder)
    },
  }
}
