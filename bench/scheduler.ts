// The cost of a tick: 1,000, 10,000 and 100,000 people in two waves, read from a PostgreSQL data source. First everybody is new,
// then nothing has changed, then one percent has: eight of ten with other data, one new, one gone. Each tick runs in its own
// process, so peak memory is per tick; the database counts the rows written.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { migrate } from '../src/db/schema/migrate.ts'
import { setAutomation } from '../src/engine/orders/automation.ts'
import { publishRunbook } from '../src/engine/orders/publish.ts'
import { startPostgres } from '../test/kit/postgres-server.ts'
import { type Bench, round } from './bench.ts'
import { benchDoor } from './engine-process.ts'
import { CONNECTION, RUNBOOK, type TickFigures } from './scheduler-process.ts'

const SIZES = [1_000, 10_000, 100_000]
const CHURN_PERCENT = 1
const clock = realClock()

type Say = (line: string) => void

export const schedulerBench: Bench = {
  name: 'scheduler',
  about: `a tick over ${SIZES.join(', ')} members on PostgreSQL: all new, unchanged, ${CHURN_PERCENT} % changed`,
  run: async (say) => {
    const sizes: Record<string, unknown> = {}
    const cpuAMember: number[] = []
    for (const members of SIZES) {
      const figures = await measure(members, say)
      sizes[members] = figures
      cpuAMember.push(figures.unchanged.cpuMs / members)
    }
    // In processor time, which a busy neighbour does not change. At most 1 means linear; less, because each process has a fixed
    // start-up cost.
    return { sizes, growth: round(cpuAMember.at(-1)! / cpuAMember.at(-2)!) }
  },
}

const YAML = `
name: ${RUNBOOK}
data_source:
  type: postgres
  connection: ${CONNECTION}
  query: select * from people order by upn
  primary_key: upn
  batch_time_column: cutover
phases:
  - { name: all, offset: T-0, steps: [{ name: s, worker_id: bench, function: Noop, params: { A: "{{upn}}" } }] }
`

async function withSource<T>(
  members: number,
  work: (db: Db, url: string) => Promise<T>,
  noteChars = 0,
): Promise<T> {
  const server = await startPostgres({ durable: true })
  const db = await openPostgres({ url: server.url, poolSize: 2 })
  try {
    await migrate(db, clock.now())
    await publishRunbook(benchDoor(db), { yaml: YAML, publishedBy: 'bench' })
    await setAutomation(benchDoor(db), { runbookName: RUNBOOK, isEnabled: true, actor: 'bench' })
    await fillSource(db, members, noteChars)
    return await work(db, server.url)
  } finally {
    await db.close()
    server.destroy()
  }
}

/** The first tick of the largest source, in a process with this heap; with a note of that many characters in every row. */
export const measureLargestTick = (heapMb: number, noteChars = 0) =>
  withSource(
    SIZES.at(-1)!,
    async (_db, url) => {
      const { ms, peakMb, counts } = await tickOnce(url, heapMb)
      return { heapMb, noteChars, ms: Math.round(ms), peakMb: Math.round(peakMb), counts }
    },
    noteChars,
  )

const measure = (members: number, say: Say) =>
  withSource(members, async (db, url) => {
    const run = async (what: string) => {
      const before = await rowsWritten(db)
      const figures = await tickOnce(url)
      const written = (await rowsWritten(db)) - before
      const { ms, cpuMs, peakMb } = figures
      const said = {
        ms: Math.round(ms),
        cpuMs: Math.round(cpuMs),
        peakMb: Math.round(peakMb),
        memberRowsWritten: written,
        counts: figures.counts,
      }
      say(`${members} members, ${what}: ${JSON.stringify(said)}`)
      return said
    }
    const fresh = await run('all new')
    const unchanged = await run('unchanged')
    await churn(db, members)
    const changed = await run(`${CHURN_PERCENT} % changed`)
    // One in ten changed rows is gone: it is recorded as missing and stays a member until the next tick.
    return { fresh, unchanged, changed, memberRowsChanged: (members / 100) * 0.9 }
  })

/** As wide as a real row: a dozen columns, a few hundred bytes. In the future, so that only membership changes. */
async function fillSource(db: Db, members: number, noteChars: number): Promise<void> {
  await db.script(`
    create table people as
    select 'user' || n || '@contoso.example' as upn, 'User ' || n as name, md5(n::text) as object_id, md5((n * 7)::text) as exchange_guid,
           'Department ' || n % 40 as department, 'Office ' || n % 25 as office, 'user' || n as nickname, n as employee,
           n % 3 = 0 as archive, 'smtp:user' || n || '@fabrikam.example;smtp:u' || n || '@fabrikam.example' as proxies,
           timestamptz '2100-01-01' + (n % 2) * interval '1 day' as cutover, 'E5' as licence,
           left(repeat(md5(n::text), ${Math.ceil(noteChars / 32)}), ${noteChars}) as note
      from generate_series(1, ${members}) as n;
    create index on people (upn)`)
}

async function churn(db: Db, members: number): Promise<void> {
  await db.script(`
    update people set licence = 'E3' where employee % 100 = 0 and employee % 1000 not in (0, 100);
    delete from people where employee % 1000 = 0;
    insert into people select upn || 'x', name, object_id, exchange_guid, department, office, nickname, -employee, archive, proxies,
           cutover, licence, note from people where employee % 1000 = 100 and employee <= ${members}`)
}

/** Inserts, updates and deletes of members so far. The writing process has ended and reported its statistics. */
async function rowsWritten(db: Db): Promise<number> {
  const [row] = await db.query<{ written: number }>(
    `select n_tup_ins + n_tup_upd + n_tup_del as written from pg_stat_user_tables where relname = 'batch_members'`,
  )
  return row!.written
}

async function tickOnce(url: string, heapMb?: number): Promise<TickFigures> {
  const child = fork(new URL('./scheduler-process.ts', import.meta.url), [url], {
    env: { ...process.env, [CONNECTION]: url },
    execArgv: heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`],
  })
  const ended = once(child, 'exit')
  const answer = await Promise.race([once(child, 'message'), ended.then(() => null)])
  if (answer === null) throw new Error('the process ended in the middle of its tick')
  const [figures] = answer as [TickFigures]
  await ended
  if (figures.outcome !== 'good')
    throw new Error(`the tick was ${figures.outcome}: ${figures.error}`)
  return figures
}
