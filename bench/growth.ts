// Growth: what steps that are polled again and again leave in the database, in rows of every table and in bytes. Each round polls everybody
// once; message ids are left out, as they are forgotten after ten minutes.
import { realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { type Bench, round, timeMs } from './bench.ts'
import { NEVER, WORKER_ID } from './engine-process.ts'
import { openProcesses } from './processes.ts'
import { createDue, startDue, until } from './scale.ts'

const MEMBERS = 10_000
const ROUNDS = 12
/** Every 15 minutes for 14 days. */
const PLANNED_ROUNDS = 1_344
const clock = realClock()

export const growthBench: Bench = {
  name: 'growth',
  about: `rows and bytes after ${ROUNDS} polls of ${MEMBERS} members that say the same`,
  run: async (say) => {
    const processes = await openProcesses()
    try {
      return await measure(processes.db, say)
    } finally {
      await processes.close()
    }
  },
}

const YAML = `
name: growth
data_source: { type: csv, path: members.csv, primary_key: Upn, batch_time_column: When }
phases:
  - name: all
    offset: T-0
    steps:
      - name: wait
        worker_id: ${WORKER_ID}
        function: ${NEVER}
        params: { A: "{{Upn}}" }
        poll: { interval: 1h, timeout: 14d }
`

async function measure(db: Db, say: (line: string) => void) {
  await createDue(db, 'growth', [MEMBERS], YAML)
  await startDue(db)
  await untilWaiting(db)
  await pollOnce(db, 1)
  const rowsBefore = await rowsOf(db)
  const mb = [await sizeMb(db)]
  say(`after the first poll: ${rowsBefore} rows, ${mb[0]} MB`)
  let ms = 0
  for (let poll = 2; poll <= ROUNDS + 1; poll += 1) {
    ms += await timeMs(() => pollOnce(db, poll))
    mb.push(await sizeMb(db))
  }
  const rows = (await rowsOf(db)) - rowsBefore
  const polls = MEMBERS * ROUNDS
  const figures = {
    members: MEMBERS,
    polls,
    rows,
    rowsPerPoll: round(rows / polls),
    mb,
    pollsPerSec: Math.round(polls / (ms / 1_000)),
    rowsWithoutFolding: 3 * MEMBERS * PLANNED_ROUNDS,
  }
  say(JSON.stringify(figures))
  return figures
}

async function pollOnce(db: Db, poll: number): Promise<void> {
  await db.query("update waits set wake_at = $1 where kind = 'poll'", [clock.now()])
  await until(async () => {
    const open = await db.query('select from step_executions where poll_count < $1 limit 1', [poll])
    return open.length === 0
  })
  await untilWaiting(db)
}

const untilWaiting = (db: Db) =>
  until(async () => (await db.query("select from waits where kind = 'poll'")).length === MEMBERS)

async function rowsOf(db: Db): Promise<number> {
  const tables = await db.query<{ name: string }>(
    `select table_name as name from information_schema.tables
      where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> 'message_ids'`,
  )
  let rows = 0
  for (const { name } of tables) {
    const [row] = await db.query<{ count: number }>(`select count(*)::int as count from "${name}"`)
    rows += row!.count
  }
  return rows
}

/** After a vacuum, which a quarter of an hour between polls leaves time for. */
async function sizeMb(db: Db): Promise<number> {
  await db.query('vacuum')
  const [row] = await db.query<{ bytes: number }>(
    'select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class where relname <> $1 and relkind = $2 and relnamespace = current_schema()::regnamespace',
    ['message_ids', 'r'],
  )
  return round(row!.bytes / 2 ** 20)
}
