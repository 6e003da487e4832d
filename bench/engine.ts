// The engine's speed: members × 5 no-op steps (3 templated parameters and 1 output each, events and attempts on) through engine,
// bus and a no-op worker. On a server, orchestrator and worker have their own processes, and the floor is measured in the same run;
// on PGlite everything is in this process. Medians of three runs. "engine" is the first batch of new processes, "warm" the second
// one, after V8 has compiled the hot code. Processor time per step is reported too, because a busy machine hardly changes it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { openPglite } from '../src/db/connection/pglite.ts'
import { migrate } from '../src/db/schema/migrate.ts'
import { configureWorkers } from '../src/db/state/workers.ts'
import { createBatch } from '../src/engine/orders/create.ts'
import { publishRunbook } from '../src/engine/orders/publish.ts'
import { type Bench, median, perSec, round, timeMs } from './bench.ts'
import { benchDoor, benchOrchestrator, benchWorker, outbox, WORKER_ID } from './engine-process.ts'
import { measureFloor } from './floor.ts'
import { noopRunbook } from './noop-runbook.ts'
import { type CpuUs, openProcesses, type Processes } from './processes.ts'

const RUNS = 3
const MEMBERS = 10_000
const PGLITE_MEMBERS = 4_000
const STEPS = 5
const SMALL = 1_000
const LARGE = 100_000
const LARGE_STEPS = 10
const LOOK_EVERY_MS = 50
const clock = realClock()

type Say = (line: string) => void

export const engineBench: Bench = {
  name: 'engine',
  about: `${MEMBERS} members × ${STEPS} no-op steps on PostgreSQL against a raw-SQL floor, and on PGlite; with --growth also 1k, 100k and 100k × 10`,
  run: async (say) => {
    const server = await onServer(say)
    const pglite = await onPglite(say)
    const growth = process.argv.includes('--growth') ? await measureGrowth(say) : {}
    const ratio = round(server.engine / server.floor)
    return {
      ...growth,
      pglite,
      rssMb: server.rssMb,
      cpuPerStepUs: server.cpuPerStepUs,
      cpuPerStepWarmUs: server.cpuPerStepWarmUs,
      warm: server.warm,
      warmRatio: round(server.warm / server.floor),
      engine: server.engine,
      floor: server.floor,
      ratio,
    }
  },
}

const runbook = (name: string, steps: number): string =>
  noopRunbook(name, steps, (index) => [
    'params: { A: "{{Upn}}", B: "x {{Name}} y", C: "{{_batch_id}}" }',
    `output_params: { out${index}: value }`,
  ])

/** Runs one batch from creation to end and returns the milliseconds. */
async function runBatch(db: Db, members: number, steps: number, suffix = ''): Promise<number> {
  const engine = benchDoor(db)
  const name = `bench-${members}-${steps}${suffix}`
  await publishRunbook(engine, { yaml: runbook(name, steps), publishedBy: 'bench' })
  const { batchId } = await createBatch(engine, {
    runbookName: name,
    sourceTime: clock.now(),
    members: Array.from({ length: members }, (_, i) => ({
      key: `user${i}@contoso.example`,
      data: { Upn: `user${i}@contoso.example`, Name: `Name ${i}` },
    })),
    createdBy: 'bench',
  })
  return timeMs(() => untilCompleted(db, batchId))
}

async function untilCompleted(db: Db, batchId: number): Promise<void> {
  for (;;) {
    const [batch] = await db.query<{ status: string }>('select status from batches where id = $1', [
      batchId,
    ])
    if (batch!.status === 'completed') return
    if (batch!.status !== 'active') throw new Error(`the batch is ${batch!.status}`)
    await clock.wait(LOOK_EVERY_MS)
  }
}

async function onServer(say: Say) {
  const first: Run[] = []
  const second: Run[] = []
  const floor: number[] = []
  let rssMb = 0
  for (let run = 1; run <= RUNS; run++) {
    const processes = await openProcesses()
    try {
      first.push(await measureBatch(processes, ''))
      second.push(await measureBatch(processes, '-warm'))
      rssMb = Math.max(rssMb, await processes.rssMb())
      floor.push(await measureFloor(processes.db, MEMBERS, STEPS, clock.now()))
      say(
        `postgres run ${run}: engine ${said(first.at(-1)!)}; warm ${said(second.at(-1)!)}; floor ${floor.at(-1)} steps/s`,
      )
    } finally {
      await processes.close()
    }
  }
  return {
    engine: median(first.map(({ rate }) => rate)),
    warm: median(second.map(({ rate }) => rate)),
    floor: median(floor),
    rssMb,
    cpuPerStepUs: middleOf(first.flatMap(({ cpu }) => cpu ?? [])),
    cpuPerStepWarmUs: middleOf(second.flatMap(({ cpu }) => cpu ?? [])),
  }
}

interface Run {
  /** Steps per second. */
  readonly rate: number
  readonly cpu: CpuUs | null
}

const said = ({ rate, cpu }: Run): string =>
  `${rate} steps/s${cpu ? ` (${JSON.stringify(cpu)} µs a step)` : ''}`

export async function measureBatch(processes: Processes, suffix: string): Promise<Run> {
  const before = await processes.cpuUs()
  const rate = perSec(MEMBERS * STEPS, await runBatch(processes.db, MEMBERS, STEPS, suffix))
  const after = await processes.cpuUs()
  return { rate, cpu: before && after && perStep(before, after, MEMBERS * STEPS) }
}

const perStep = (before: CpuUs, after: CpuUs, steps: number): CpuUs => ({
  orchestrator: Math.round((after.orchestrator - before.orchestrator) / steps),
  worker: Math.round((after.worker - before.worker) / steps),
  postgres: Math.round((after.postgres - before.postgres) / steps),
})

const middleOf = (runs: readonly CpuUs[]): CpuUs | null =>
  runs.length === 0
    ? null
    : {
        orchestrator: median(runs.map(({ orchestrator }) => orchestrator)),
        worker: median(runs.map(({ worker }) => worker)),
        postgres: median(runs.map(({ postgres }) => postgres)),
      }

async function onPglite(say: Say): Promise<number> {
  const rates: number[] = []
  for (let run = 1; run <= RUNS; run++) {
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-bench-'))
    const db = await openPglite(folder)
    await migrate(db, clock.now())
    await configureWorkers(db, [WORKER_ID])
    const services = [benchOrchestrator(db), benchWorker(outbox(db))]
    for (const service of services) service.start()
    rates.push(perSec(PGLITE_MEMBERS * STEPS, await runBatch(db, PGLITE_MEMBERS, STEPS)))
    for (const service of services) await service.stop()
    await db.close()
    rmSync(folder, { recursive: true, force: true })
    say(`pglite run ${run}: ${rates.at(-1)} steps/s`)
  }
  return median(rates)
}

/** t(100k members) / t(1k members), and the orchestrator's memory at 100k × 10. */
async function measureGrowth(say: Say) {
  const times = new Map<string, { ms: number; rssMb: number }>()
  for (const [members, steps] of [
    [SMALL, STEPS],
    [LARGE, STEPS],
    [LARGE, LARGE_STEPS],
  ] as const) {
    const processes = await openProcesses()
    try {
      const ms = await runBatch(processes.db, members, steps)
      const rssMb = await processes.rssMb()
      times.set(`${members}x${steps}`, { ms, rssMb })
      say(
        `${members} members × ${steps}: ${perSec(members * steps, ms)} steps/s, orchestrator ${rssMb} MB`,
      )
    } finally {
      await processes.close()
    }
  }
  const of = (members: number, steps: number) => times.get(`${members}x${steps}`)!
  return {
    growth: round(of(LARGE, STEPS).ms / of(SMALL, STEPS).ms),
    rssMbAtLarge: of(LARGE, LARGE_STEPS).rssMb,
  }
}
