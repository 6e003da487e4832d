// What a run cost in processor time, by process, as the kernel counts it. A busy neighbour doubles the time on the wall and leaves
// these figures nearly as they are, so they are the ones to compare. Linux only: elsewhere there is nothing to read.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Queryable } from '../src/db/db.ts'

/** Linux counts in hundredths of a second, whatever the kernel's own tick is. */
const US_PER_TICK = 10_000

export const canMeasureCpu = (): boolean => existsSync('/proc/self/stat')

interface Stat {
  readonly parent: number
  readonly ownUs: number
  /** Of children that have ended. */
  readonly endedUs: number
}

/** User and system time of a process so far, in microseconds. */
export const cpuOfProcessUs = (pid: number): number => statOf(pid)?.ownUs ?? Number.NaN

/** Of the whole server that this connection leads to: every backend, the writers, the vacuum workers. */
export async function cpuOfServerUs(db: Queryable): Promise<number> {
  const [backend] = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  const server = statOf(backend!.pid)!.parent
  const own = statOf(server)!
  let total = own.ownUs + own.endedUs
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null
    if (stat?.parent === server) total += stat.ownUs
  }
  return total
}

/** Null when the process has ended. */
function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program's name stands in brackets and may hold anything; what follows it is state, parent, … as in proc(5).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = (...places: number[]) =>
      places.reduce((sum, place) => sum + Number(fields[place]), 0)
    return {
      parent: Number(fields[1]),
      ownUs: ticks(11, 12) * US_PER_TICK,
      endedUs: ticks(13, 14) * US_PER_TICK,
    }
  } catch {
    return null
  }
}
