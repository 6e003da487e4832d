// Sabotage by size: the same members in more and more batches, and a small batch next to a giant one. Statements and transactions are
// counted by the server and do not depend on the load of the machine; times are compared within one run.
import { realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { createBatch } from '../src/engine/orders/create.ts'
import { publishRunbook } from '../src/engine/orders/publish.ts'
import { type Bench, round, timeMs } from './bench.ts'
import { benchDoor } from './engine-process.ts'
import { noopRunbook } from './noop-runbook.ts'
import { type CpuUs, openProcesses, type Processes } from './processes.ts'

const MEMBERS = 15_000
const BATCHES = [1, 30, 100, 300]
const STEPS = 3
const GIANT = 20_000
const SMALL = 10
const LOOK_EVERY_MS = 20
const STATISTICS =
  '-c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track_planning=on'
const clock = realClock()

type Say = (line: string) => void

export const manyBatchesBench: Bench = {
  name: 'many-batches',
  about: `${MEMBERS} members × ${STEPS} steps in ${BATCHES.join(', ')} batches, all due at once`,
  run: async (say) => {
    const runs = []
    for (const batches of chosenBatches()) runs.push(await measureBatches(batches, say))
    const [first, last] = [runs[0]!, runs.at(-1)!]
    return {
      runs,
      timeRatio: round(last.ms / first.ms),
      cpuRatio: last.cpuMs && first.cpuMs ? round(last.cpuMs / first.cpuMs) : null,
      statementRatio: round(last.statements / first.statements),
    }
  },
}

export const giantBench: Bench = {
  name: 'giant',
  about: `${STEPS} steps of a batch of ${SMALL} members alone and next to one of ${GIANT}`,
  run: async (say) => {
    const processes = await openProcesses()
    try {
      await runSmall(processes.db, 'warm-up')
      const alone = await runSmall(processes.db, 'alone')
      await createDue(processes.db, 'giant', [GIANT])
      await startDue(processes.db)
      await untilSent(processes.db)
      const beside: number[] = []
      for (let run = 1; run <= 3; run++) beside.push(await runSmall(processes.db, `b${run}`))
      say(
        `alone ${Math.round(alone)} ms; next to the giant ${beside.map(Math.round).join(', ')} ms`,
      )
      return { alone, beside, ratio: round(Math.max(...beside) / alone) }
    } finally {
      await processes.close()
    }
  },
}

function chosenBatches(): readonly number[] {
  const given = process.argv.find((arg) => arg.startsWith('--batches='))
  return given ? given.slice('--batches='.length).split(',').map(Number) : BATCHES
}

const runbook = (name: string): string =>
  noopRunbook(name, STEPS, () => ['params: { A: "{{Upn}}", B: "{{_batch_id}}" }'])

/** Batches of these sizes that are due in a day. */
export async function createDue(
  db: Db,
  name: string,
  sizes: readonly number[],
  yaml = runbook(name),
): Promise<number[]> {
  const engine = benchDoor(db)
  await publishRunbook(engine, { yaml, publishedBy: 'bench' })
  const ids: number[] = []
  const tomorrow = Math.floor(+clock.now() / 1_000) * 1_000 + 86_400_000
  for (const [place, size] of sizes.entries()) {
    const { batchId } = await createBatch(engine, {
      runbookName: name,
      sourceTime: new Date(tomorrow + place * 1_000),
      members: Array.from({ length: size }, (_, i) => ({
        key: `${name}-${place}-${i}@contoso.example`,
        data: { Upn: `${name}-${place}-${i}@contoso.example` },
      })),
      createdBy: 'bench',
    })
    ids.push(batchId)
  }
  return ids
}

export const startDue = (db: Db) =>
  db.query("update phase_executions set due_at = $1 where status = 'pending'", [clock.now()])

export async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await clock.wait(LOOK_EVERY_MS)
}

export const untilCompleted = (db: Db, ids: readonly number[]) =>
  until(async () => {
    const [open] = await db.query<{ count: number }>(
      "select count(*)::int as count from batches where id = any($1::bigint[]) and status <> 'completed'",
      [ids],
    )
    return open!.count === 0
  })

const untilSent = (db: Db) =>
  until(async () => (await db.query("select from waits where kind = 'job' limit 1")).length > 0)

async function runSmall(db: Db, name: string): Promise<number> {
  const ids = await createDue(db, name, [SMALL])
  await startDue(db)
  return timeMs(() => untilCompleted(db, ids))
}

interface Measured {
  readonly batches: number
  readonly ms: number
  readonly statements: number
  readonly transactions: number
  /** Of all processes: a busy neighbour hardly changes it. */
  readonly cpuMs: number | null
  /** From a phase's due time to its start, and to its first job; the latest of all batches. */
  readonly startedLateMs: number
  readonly firstJobLateMs: number
}

async function measureBatches(batches: number, say: Say): Promise<Measured> {
  process.env.TEST_POSTGRES_OPTIONS = STATISTICS
  const processes = await openProcesses()
  try {
    const { db } = processes
    await db.query('create extension pg_stat_statements')
    const sizes = Array.from({ length: batches }, () => Math.floor(MEMBERS / batches))
    const ids = await createDue(db, 'many', sizes)
    await db.query('analyze')
    await db.query('select pg_stat_statements_reset()')
    const before = await transactionsOf(db)
    const cpuBefore = await processes.cpuUs()
    await startDue(db)
    const ms = await timeMs(() => untilCompleted(db, ids))
    const measured = {
      batches,
      ms: Math.round(ms),
      statements: await statementsOf(db),
      transactions: (await transactionsOf(db)) - before,
      cpuMs: cpuBefore && (await cpuSince(processes, cpuBefore)),
      ...(await latenessOf(db)),
    }
    say(JSON.stringify(measured))
    if (process.argv.includes('--statements')) await sayStatements(processes, say)
    return measured
  } finally {
    await processes.close()
  }
}

async function cpuSince(processes: Processes, before: CpuUs): Promise<number> {
  const after = (await processes.cpuUs())!
  const sum = ({ orchestrator, worker, postgres }: CpuUs) => orchestrator + worker + postgres
  return Math.round((sum(after) - sum(before)) / 1_000)
}

async function statementsOf(db: Db): Promise<number> {
  const [row] = await db.query<{ calls: number }>(
    'select sum(calls)::int as calls from pg_stat_statements',
  )
  return row!.calls
}

async function transactionsOf(db: Db): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'select (xact_commit + xact_rollback)::int as count from pg_stat_database where datname = current_database()',
  )
  return row!.count
}

async function latenessOf(db: Db) {
  const [row] = await db.query<{ started: number; firstJob: number }>(
    `select max(extract(epoch from p.dispatched_at - p.due_at) * 1000)::int as started,
            max(extract(epoch from (select min(s.dispatched_at) from step_executions s where s.batch_id = p.batch_id) - p.due_at)
                * 1000)::int as first_job
       from phase_executions p`,
  )
  return { startedLateMs: row!.started, firstJobLateMs: row!.firstJob }
}

/** The server's time by statement. */
async function sayStatements({ db }: Processes, say: Say): Promise<void> {
  const rows = await db.query<{ calls: number; ms: number; rows: number; query: string }>(
    `select calls::int, round(total_exec_time)::int || '+' || round(total_plan_time) as ms, rows::int, left(regexp_replace(query, '\\s+', ' ', 'g'), 110) as query
       from pg_stat_statements order by total_exec_time + total_plan_time desc limit 60`,
  )
  for (const { calls, ms, rows: count, query } of rows)
    say(
      `${String(calls).padStart(8)} calls ${String(ms).padStart(7)} ms ${String(count).padStart(8)} rows  ${query}`,
    )
}
