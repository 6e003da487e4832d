// Sabotage by size: the same members in many batches, a giant next to small ones, and large results for orchestrators with the least heap
// they accept. Everybody must end, nothing may be done twice, and no process may die. How long it takes is a figure: `npm run bench`
// compares it on a quiet machine.
import { leastHeapMb } from '../../../src/app/memory.ts'
import { realClock } from '../../../src/clock.ts'
import {
  missingAcknowledged,
  missingEffects,
  outOfOrder,
  repeatedJobs,
  unhealthy,
} from '../checks.ts'
import { Fleet } from '../fleet.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import type { Part } from '../process.ts'
import { brokenInvariantsOf, makeWatcher } from '../watcher.ts'
import {
  type ChaosOptions,
  type ChaosSetup,
  createLarge,
  givenUp,
  heal,
  LEASE_MS,
  openSetup,
  patiently,
  settle,
  type Verdict,
} from '../world.ts'

const clock = realClock()
const MANY = 30
const SMALL_MEMBERS = 10
const SMALL_BATCHES = 3
const RESULT_BYTES = 200_000

interface Size {
  readonly name: string
  /** For a minute. */
  readonly members: number
  readonly sabotage: string
  /** Sizes of the batches for so many members. */
  sizes(members: number): number[]
  readonly orchestrator?: Partial<Part>
  readonly worker?: Partial<Part>
}

const HOLDS =
  'everybody ends, no job repeats without a cause, order, every acknowledged result is stored, all invariants, no process dies, no dead letter'

const spread = (members: number, batches: number): number[] =>
  Array.from({ length: batches }, (_, at) => Math.floor((members + at) / batches)).filter(Boolean)

const fleetOf = ({ partOf }: ChaosSetup, { orchestrator, worker }: Size): Fleet =>
  new Fleet(
    [1, 2].flatMap((number) => [
      partOf(`orchestrator-${number}`, ['orchestrator'], orchestrator),
      partOf(`worker-${number}`, ['worker'], worker),
    ]),
  )

async function runSize(size: Size, options: ChaosOptions): Promise<Verdict> {
  const setup = await openSetup(options.seed)
  const fleet = fleetOf(setup, size)
  try {
    await fleet.start()
    return await Promise.race([grow(size, options, setup, fleet), givenUp(options.giveUp)])
  } finally {
    await fleet.killAll()
    await setup.close()
  }
}

async function grow(
  size: Size,
  options: ChaosOptions,
  setup: ChaosSetup,
  fleet: Fleet,
): Promise<Verdict> {
  const { members, minutes, seed, say } = options
  const { db, folder } = setup
  const startedAt = Date.now()
  const watcher = makeWatcher(db, fleet, clock)
  const findings: string[] = []
  const took: number[] = []
  const sizes = size.sizes(members)
  while (took.length === 0 || Date.now() < startedAt + minutes * 60_000) {
    const beganAt = Date.now()
    const batchIds: number[] = []
    for (const count of sizes) batchIds.push(await patiently(() => createLarge(db, count)))
    for (const batchId of batchIds) findings.push(...(await heal(fleet, watcher, batchId, db)))
    took.push(Date.now() - beganAt)
    say(`${members} members in ${sizes.length} batches ended after ${took.at(-1)} ms`)
    if (findings.length > 0) break
  }
  const effects = readJournals(folder, 'effects')
  const noticed = readJournals(folder, 'noticed')
  findings.push(
    ...(await settle(fleet, db)),
    ...fleet.findings,
    ...(await brokenInvariantsOf(db, clock.now)),
    ...(await missingAcknowledged(db, folder)),
    ...(await missingEffects(db, effects)),
    ...outOfOrder(effects),
    ...repeatedJobs({ effects, happened: fleet.happened, noticed }, LEASE_MS).found,
    ...(await unhealthy(db)),
    ...noticed
      .filter(({ what }) => what === 'unexpected')
      .map(({ name, message }) => `${name}: ${message}`),
  )
  const figures = {
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    batches: took.length * sizes.length,
    members: took.length * members,
    jobsRun: effects.filter(({ what }) => what === 'begin').length,
    slowestRoundMs: Math.max(...took),
    ...(await latenessOf(db)),
    restarts: fleet.restarts,
  }
  const again = `npm run chaos -- --mode ${size.name} --seed ${seed} --minutes ${minutes} --members ${members}`
  return { figures, findings, report: [...findings, 'again:', `  ${again}`].join('\n') }
}

/** From a phase's due time to its start, the latest of all; and how long the smallest batches took. */
async function latenessOf(db: ChaosSetup['db']) {
  const [row] = await db.query<{ late: number; smallest: number }>(
    `select (select max(extract(epoch from p.dispatched_at - greatest(p.due_at, b.activated_at)) * 1000)::int
               from phase_executions p join batches b on b.id = p.batch_id where p.phase_name = 'prepare') as late,
            (select max(extract(epoch from ended_at - detected_at) * 1000)::int from batches
              where members_active = (select min(members_active) from batches)) as smallest`,
  )
  return { phaseStartedLateMaxMs: row!.late, smallestBatchMaxMs: row!.smallest }
}

const sizeMode = (size: Size): ChaosMode => ({
  ...{ name: size.name, sabotage: size.sabotage, holds: HOLDS },
  defaults: { minutes: 1, members: size.members },
  run: (options) => runSize(size, options),
})

export const manyBatchesMode = sizeMode({
  ...{ name: 'many-batches', members: 600 },
  sabotage: `the members of one batch in ${MANY} batches that are due at once`,
  sizes: (members) => spread(members, MANY),
})

export const giantMode = sizeMode({
  ...{ name: 'giant', members: 1_000 },
  sabotage: `one batch with all members, and ${SMALL_BATCHES} of ${SMALL_MEMBERS} members next to it`,
  sizes: (members) => [members, ...Array<number>(SMALL_BATCHES).fill(SMALL_MEMBERS)],
})

export const memoryMode = sizeMode({
  ...{ name: 'memory', members: 200 },
  sabotage: `results of ${RESULT_BYTES / 1_000} KB, for orchestrators with the least heap that the program accepts`,
  sizes: (members) => [members],
  orchestrator: { heapMb: leastHeapMb(['orchestrator']) },
  worker: { resultBytes: RESULT_BYTES },
})
