// One tick in its own process: `node bench/scheduler-process.ts <database url> <source url>`. Sends its duration, processor time
// and peak memory to the parent.
import { randomUUID } from 'node:crypto'
import { realClock } from '../src/base/run/clock.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { sourceAccessFrom } from '../src/scheduler/sources/source.ts'
import { tick } from '../src/scheduler/tick.ts'
import { timeMs } from './bench.ts'
import { benchDoor } from './engine-process.ts'

export const RUNBOOK = 'bench'
export const CONNECTION = 'MATOOLKIT_SOURCE_BENCH'

export interface TickFigures {
  readonly ms: number
  readonly cpuMs: number
  readonly peakMb: number
  readonly outcome: string
  readonly error: string | null
  readonly counts: Readonly<Record<string, number>>
}

const SETTINGS = {
  sourceFolder: null,
  sourceTimeoutSec: 300,
  identityEndpoint: null,
  identityHeader: null,
  workloadTokenFile: null,
  workloadClientId: null,
  workloadTenantId: null,
}

if (import.meta.main) {
  const [url] = process.argv.slice(2)
  const db = await openPostgres({ url: url!, poolSize: 4 })
  const options = {
    engine: benchDoor(db),
    sources: sourceAccessFrom(SETTINGS, realClock()),
    intervalMs: 300_000,
    newToken: randomUUID,
    startedBy: 'bench',
    evenIfNotDue: true,
  }
  const before = process.cpuUsage()
  let report: Awaited<ReturnType<typeof tick>> = null
  const ms = await timeMs(async () => {
    report = await tick(options, RUNBOOK, new AbortController().signal)
  })
  const { user, system } = process.cpuUsage(before)
  await db.close()
  const { outcome, error, counts } = report ?? { outcome: 'not due', error: null, counts: {} }
  const peakMb = process.resourceUsage().maxRSS / 1024
  const figures: TickFigures = { ms, cpuMs: (user + system) / 1000, peakMb, outcome, error, counts }
  process.send?.(figures)
  process.disconnect()
}
