// Timers that are due in the same second: how late the first and the last poll are sent, of one batch and of many.
import { realClock } from '../src/base/run/clock.ts'
import { type Bench, timeMs } from './bench.ts'
import { POLL, WORKER_ID } from './engine-process.ts'
import { openProcesses } from './processes.ts'
import { createDue, startDue, until, untilCompleted } from './scale.ts'

const POLLS = [10_000, 20_000]
const BATCHES = [1, 40]
/** Time enough to set all the times. */
const DUE_IN_MS = 5_000
const clock = realClock()

export const pollsBench: Bench = {
  name: 'polls',
  about: `${POLLS.join(' and ')} polls due in one second, in ${BATCHES.join(' and ')} batches`,
  run: async (say) => {
    const runs = []
    for (const polls of POLLS)
      for (const batches of BATCHES) {
        runs.push(await measurePolls(polls, batches))
        say(JSON.stringify(runs.at(-1)))
      }
    return { runs }
  },
}

const YAML = `
name: polls
data_source: { type: csv, path: members.csv, primary_key: Upn, batch_time_column: When }
phases:
  - name: all
    offset: T-0
    steps:
      - name: wait
        worker_id: ${WORKER_ID}
        function: ${POLL}
        params: { A: "{{Upn}}" }
        poll: { interval: 1h, timeout: 10h }
`

async function measurePolls(polls: number, batches: number) {
  const processes = await openProcesses()
  try {
    const { db } = processes
    const sizes = Array.from({ length: batches }, () => polls / batches)
    const ids = await createDue(db, 'polls', sizes, YAML)
    await startDue(db)
    const waiting = () => db.query("select from waits where kind = 'poll'")
    await until(async () => (await waiting()).length === polls)
    await db.query('analyze')
    const dueAt = new Date(Math.ceil(+clock.now() / 1_000) * 1_000 + DUE_IN_MS)
    await db.query("update waits set wake_at = $1 where kind = 'poll'", [dueAt])
    await clock.wait(+dueAt - +clock.now())
    const ms = await timeMs(() => untilCompleted(db, ids))
    const [late] = await db.query<{ first: number; median: number; last: number }>(
      `select min(ms)::int as first, (percentile_cont(0.5) within group (order by ms))::int as median, max(ms)::int as last
         from (select extract(epoch from sent_at - $1) * 1000 as ms from attempts where poll = 1) as sent`,
      [dueAt],
    )
    return { polls, batches, ms: Math.round(ms), lateMs: late! }
  } finally {
    await processes.close()
  }
}
