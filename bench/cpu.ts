// Processor time of a run by process, as the kernel counts it. A busy neighbour doubles the elapsed time and hardly changes these
// figures, so compare these. Linux only.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Queryable } from '../src/db/connection/db.ts'

/** Linux counts in hundredths of a second, whatever the kernel's own tick is. */
const US_PER_TICK = 10_000

export const canMeasureCpu = (): boolean => existsSync('/proc/self/stat')

interface Stat {
  readonly parent: number
  readonly ownUs: number
  /** Of ended children. */
  readonly endedUs: number
}

/** User and system time of a process so far, in microseconds. */
export const cpuOfProcessUs = (pid: number): number => statOf(pid)?.ownUs ?? Number.NaN

/** Of the whole server behind this connection: every backend, the writers, the vacuum workers. */
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

/** Null if the process has ended. */
function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program's name is in brackets and may contain anything; then follow state, parent, … as in proc(5).
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
