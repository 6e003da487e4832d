// Memory: the largest results and the largest tick, in processes whose heap has just the documented minimum. A process that needs more
// is ended by Node, and the benchmark fails.
import { leastHeapMb } from '../src/app/roles/memory.ts'
import { type Bench, timeMs } from './bench.ts'
import { BIG, WORKER_ID } from './engine-process.ts'
import { openProcesses } from './processes.ts'
import { createDue, startDue, untilCompleted } from './scale.ts'
import { measureLargestTick } from './scheduler.ts'

const RESULTS = 1_000
/** With the other columns almost 2 KB a row: all of them fill most of what a tick may keep. */
const WIDE_CHARS = 1_500

export const memoryBench: Bench = {
  name: 'memory',
  about: `${RESULTS} results of 200 KB and ticks of 100,000 new rows, narrow and of 2 KB, each with the documented minimum of heap`,
  run: async (say) => {
    const results = await measureResults()
    say(JSON.stringify(results))
    const heapMb = leastHeapMb(['scheduler'])
    const tick = await measureLargestTick(heapMb)
    say(JSON.stringify(tick))
    const wideTick = await measureLargestTick(heapMb, WIDE_CHARS)
    say(JSON.stringify(wideTick))
    return { results, tick, wideTick }
  },
}

const YAML = `
name: big
data_source: { type: csv, path: members.csv, primary_key: Upn, batch_time_column: When }
phases:
  - { name: all, offset: T-0, steps: [{ name: s, worker_id: ${WORKER_ID}, function: ${BIG}, params: { A: "{{Upn}}" } }] }
`

async function measureResults() {
  const heapMb = leastHeapMb(['orchestrator'])
  const processes = await openProcesses({ orchestratorHeapMb: heapMb })
  try {
    const { db } = processes
    const ids = await createDue(db, 'big', [RESULTS], YAML)
    await startDue(db)
    const ms = await timeMs(() => untilCompleted(db, ids))
    return { results: RESULTS, heapMb, ms: Math.round(ms), rssMb: await processes.rssMb() }
  } finally {
    await processes.close()
  }
}
