// Free space on the disk of a folder, for this user.
import { statfsSync } from 'node:fs'

export type ReadFreeBytes = (folder: string) => number

export const freeBytesOf: ReadFreeBytes = (folder) => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

const MB = 1024 * 1024

export const megabytes = (count: number): number => count * MB

/** `1,280 MB`, rounded down: nobody is promised more than there is. */
export const sizeText = (bytes: number): string =>
  `${Math.floor(bytes / MB).toLocaleString('en-US')} MB`
