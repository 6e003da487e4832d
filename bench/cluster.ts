// Several processes: 8 batches, 50,000 members × 5 steps, one and two orchestrators with two workers, on both transports; the raw loop of
// the SDK through the same broker; the time from a result to the next job at half load; small batches next to a giant. `soak` runs half load
// for minutes and looks whether anything grows. `--members=n`, `--transport=name` and `--minutes=n` make a run smaller.
import { realClock } from '../src/base/run/clock.ts'
import { type Bench, given, perSec, round, timeMs } from './bench.ts'
import {
  type Cluster,
  type ClusterCpuUs,
  measureRawLoop,
  openCluster,
  type Transport,
} from './cluster-processes.ts'
import { startDue, untilCompleted } from './scale.ts'
import { dueIn, STEPS, startWaves, WAVE_MEMBERS } from './waves.ts'

const BATCHES = 8
const MEMBERS = 50_000
const WORKERS = 2
const RAW_ROUND_TRIPS = 40_000
/** Half load: as many batches a second as give half of the measured rate. */
const WAVES_SEC = 20
const SMALL_BATCHES = 300
const SMALL_MEMBERS = 50
const GIANT_MEMBERS = 20_000
const WARM_MEMBERS = 2_000
const SOAK_MINUTES = 10
const SOAK_LOOK_MS = 10_000
const P95 = 0.95
const clock = realClock()

type Say = (line: string) => void

/** A smaller run is smaller in every part. */
const scaled = (count: number): number =>
  Math.ceil((count * Number(given('members') ?? MEMBERS)) / MEMBERS)

const transports = (): readonly Transport[] => {
  const asked = given('transport')
  return asked === undefined ? ['postgres', 'servicebus'] : [asked as Transport]
}

export const clusterBench: Bench = {
  name: 'cluster',
  about: `${BATCHES} batches, ${MEMBERS} members × ${STEPS} steps over several processes, on both transports; latency at half load; small batches next to a giant`,
  run: async (say) => {
    const figures: Record<string, unknown> = {}
    for (const transport of transports()) figures[transport] = await measure(transport, say)
    return figures
  },
}

export const soakBench: Bench = {
  name: 'soak',
  about: `half load for ${SOAK_MINUTES} minutes on both transports: backlog and memory`,
  run: async (say) => {
    const figures: Record<string, unknown> = {}
    for (const transport of transports()) figures[transport] = await soak(transport, say)
    return figures
  },
}

async function measure(transport: Transport, say: Say) {
  const raw = transport === 'servicebus' ? await measureRawLoop(scaled(RAW_ROUND_TRIPS)) : null
  if (raw !== null) say(`the SDK alone through the broker: ${raw} round trips/s`)
  const one = await measureWaves(transport, 1, say)
  const two = await measureWaves(transport, 2, say)
  const beside = given('part') === 'waves' ? null : await measureBeside(transport, say)
  const best = Math.max(one.stepsPerSec, two.stepsPerSec)
  return { one, two, beside, ...(raw !== null && { raw, ratio: round(best / raw) }) }
}

async function measureWaves(transport: Transport, orchestrators: number, say: Say) {
  const cluster = await openCluster(transport, { orchestrators, workers: WORKERS })
  try {
    const { db } = cluster
    const size = scaled(MEMBERS / BATCHES)
    const ids = await dueIn(
      db,
      'wave',
      Array.from({ length: BATCHES }, () => size),
    )
    const steps = size * BATCHES * STEPS
    const before = { cpu: await cluster.cpuUs(), bytes: await bytesOf(db) }
    await startDue(db)
    const ms = await timeMs(() => untilCompleted(db, ids))
    const stepsPerSec = perSec(steps, ms)
    const cpuPerStepUs = perStep(before.cpu, await cluster.cpuUs(), steps)
    const bytesPerStep = Math.round(((await bytesOf(db)) - before.bytes) / steps)
    await cluster.look()
    const half = await halfLoad(cluster, stepsPerSec / 2)
    const measured = { stepsPerSec, cpuPerStepUs, bytesPerStep, ...half }
    say(`${transport}, ${orchestrators} orchestrators: ${JSON.stringify(measured)}`)
    return measured
  } finally {
    await cluster.close()
  }
}

async function bytesOf(db: Cluster['db']): Promise<number> {
  const [row] = await db.query<{ bytes: number }>(
    'select pg_database_size(current_database())::float8 as bytes',
  )
  return row!.bytes
}

/** A busy neighbour hardly changes it. */
function perStep(before: ClusterCpuUs | null, after: ClusterCpuUs | null, steps: number) {
  if (!before || !after) return null
  const of = (role: keyof ClusterCpuUs) => Math.round((after[role] - before[role]) / steps)
  return {
    orchestrators: of('orchestrators'),
    workers: of('workers'),
    postgres: of('postgres'),
    broker: of('broker'),
  }
}

async function halfLoad(cluster: Cluster, stepsPerSec: number) {
  const ids = await startWaves(cluster.db, 'half', stepsPerSec, WAVES_SEC)
  const ms = await timeMs(() => untilCompleted(cluster.db, ids))
  const { latencies, orchestratorsMb } = await cluster.look()
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? Number.NaN)
  return {
    halfLoadStepsPerSec: perSec(ids.length * WAVE_MEMBERS * STEPS, ms),
    p50Ms: at(0.5),
    p95Ms: at(P95),
    samples: sorted.length,
    orchestratorsMb,
  }
}

async function measureBeside(transport: Transport, say: Say) {
  const cluster = await openCluster(transport, { orchestrators: 2, workers: WORKERS })
  try {
    const { db } = cluster
    const small = Array.from({ length: scaled(SMALL_BATCHES) }, () => SMALL_MEMBERS)
    const alone = await dueIn(db, 'alone', small)
    await startDue(db)
    const aloneMs = Math.round(await timeMs(() => untilCompleted(db, alone)))
    await dueIn(db, 'giant', [scaled(GIANT_MEMBERS)])
    const beside = await dueIn(db, 'beside', small)
    await startDue(db)
    const besideMs = Math.round(await timeMs(() => untilCompleted(db, beside)))
    const measured = { aloneMs, besideMs, ratio: round(besideMs / aloneMs) }
    say(`${transport}, ${small.length} small batches next to a giant: ${JSON.stringify(measured)}`)
    return measured
  } finally {
    await cluster.close()
  }
}

interface SoakLook {
  readonly backlog: number
  readonly orchestratorsMb: number
  readonly atBroker: number
}

async function soak(transport: Transport, say: Say) {
  const minutes = Number(given('minutes') ?? SOAK_MINUTES)
  const cluster = await openCluster(transport, { orchestrators: 2, workers: WORKERS })
  const { db } = cluster
  try {
    const warm = await dueIn(db, 'warm', [WARM_MEMBERS])
    await startDue(db)
    const rate = perSec(WARM_MEMBERS * STEPS, await timeMs(() => untilCompleted(db, warm)))
    const looks: SoakLook[] = []
    const endsAt = +clock.now() + minutes * 60_000
    for (let part = 1; +clock.now() < endsAt; part += 1) {
      const ids = await startWaves(db, `soak-${part}`, rate / 2, SOAK_LOOK_MS / 1_000)
      await clock.wait(SOAK_LOOK_MS / 2)
      looks.push(await lookAt(cluster))
      await untilCompleted(db, ids)
    }
    const measured = { minutes, stepsPerSec: Math.round(rate / 2), ...growthOf(looks) }
    say(`${transport}: ${JSON.stringify(measured)}`)
    return measured
  } finally {
    await cluster.close()
  }
}

async function lookAt(cluster: Cluster): Promise<SoakLook> {
  const [row] = await cluster.db.query<{ count: number }>(
    'select count(*)::int as count from waits',
  )
  const { orchestratorsMb, atBroker } = await cluster.look()
  return { backlog: row!.count, orchestratorsMb, atBroker }
}

/** Means of the second and of the last quarter: the first one warms up. */
function growthOf(looks: readonly SoakLook[]) {
  const quarter = Math.max(1, Math.floor(looks.length / 4))
  const mean = (some: readonly SoakLook[], key: keyof SoakLook) =>
    Math.round(some.reduce((sum, look) => sum + look[key], 0) / some.length)
  const [early, late] = [looks.slice(quarter, 2 * quarter), looks.slice(-quarter)]
  const pair = (key: keyof SoakLook) => [mean(early, key), mean(late, key)]
  return {
    looks: looks.length,
    backlog: pair('backlog'),
    atBroker: pair('atBroker'),
    orchestratorsMb: pair('orchestratorsMb'),
  }
}
