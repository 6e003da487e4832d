// What processes of the tests cost: each notes it at its end, as a line of a file.
import { appendFileSync, readFileSync } from 'node:fs'

/** Processor time in seconds: what a process took in all, with the programs that it started, and what its files took of that. */
export interface ProcessTimes {
  readonly cpuSec: number
  readonly files: Readonly<Record<string, number>>
}

export const noteTimes = (file: string, times: ProcessTimes): void =>
  appendFileSync(file, `${JSON.stringify(times)}\n`)

/** Linux counts a process's own time and that of its ended children in hundredths of a second; elsewhere only its own is known. */
export function cpuSec(pid: number | 'self' = 'self'): number {
  try {
    const counts = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
    return counts.slice(11, 15).reduce((sum, count) => sum + Number(count), 0) / 100
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
}
