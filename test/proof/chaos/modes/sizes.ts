// Sabotage by size: the same members in many batches, a giant next to small ones, and large results for orchestrators with the least heap
// they accept. Everybody must end, nothing may be done twice, and no process may die. Times are compared within one run, in turns, so
// that a busy machine slows both sides down; `npm run bench` has the figures of a quiet one.
import { leastHeapMb } from '../../../../src/app/roles/memory.ts'
import { realClock } from '../../../../src/base/run/clock.ts'
import { holdScope, resumeScope } from '../../../../src/engine/orders/holds.ts'
import {
  missingAcknowledged,
  missingEffects,
  outOfOrder,
  repeatedJobs,
  tooLate,
  tooSlow,
  unhealthy,
} from '../checks.ts'
import { Fleet } from '../fleet.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import { chaosDoor, type Part } from '../process.ts'
import { LARGE } from '../runbooks.ts'
import { brokenInvariantsOf, makeWatcher, type Watcher } from '../watcher.ts'
import {
  type ChaosOptions,
  type ChaosSetup,
  createLarge,
  type Figures,
  givenUp,
  heal,
  LEASE_MS,
  openSetup,
  patiently,
  settle,
  type Verdict,
} from '../world.ts'

const clock = realClock()
const MANY_MAX = 300
const MEMBERS_OF_MANY = 50
const MANY_RATIO_MAX = 1.5
const START_LATE_MAX_MS = 2_000
const SMALL_MEMBERS = 10
const SMALL_BATCHES = 3
const GIANT_RATIO_MAX = 2
const RESULT_BYTES = 200_000
/** So fast that the orchestrators are what takes the time. */
const FAST = { workMs: 2, slots: 64 }
/** So slow that the slots are. */
const SLOW = { workMs: 400, slots: 8 }

interface SizeWorld extends ChaosSetup {
  readonly fleet: Fleet
  readonly watcher: Watcher
  readonly members: number
  readonly say: (line: string) => void
  /** The time given is over. */
  isOver(): boolean
}

interface Measured {
  readonly findings: readonly string[]
  readonly figures: Figures
}

interface Size {
  readonly name: string
  /** For a minute. */
  readonly members: number
  readonly sabotage: string
  /** What must hold besides what every size checks. */
  readonly holds?: string
  readonly orchestrator?: Partial<Part>
  readonly worker?: Partial<Part>
  run(world: SizeWorld): Promise<Measured>
}

const HOLDS =
  'everybody ends, no job repeats without a cause, order, every acknowledged result is stored, all invariants, no process dies, no dead letter'

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
  const isOver = () => Date.now() >= startedAt + minutes * 60_000
  const measured = await size.run({ ...setup, fleet, watcher, members, say, isOver })
  const settled = await settle(fleet, db)
  const effects = readJournals(folder, 'effects')
  const noticed = readJournals(folder, 'noticed')
  const findings = [
    ...measured.findings,
    ...settled,
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
  ]
  const [count] = await db.query<{ batches: number; members: number }>(
    'select count(*)::int as batches, sum(members_active)::int as members from batches',
  )
  const figures = {
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    ...count!,
    jobsRun: effects.filter(({ what }) => what === 'begin').length,
    ...measured.figures,
    restarts: fleet.restarts,
  }
  const again = `npm run chaos -- --mode ${size.name} --seed ${seed} --minutes ${minutes} --members ${members}`
  return { figures, findings, report: [...findings, 'again:', `  ${again}`].join('\n') }
}

interface Round {
  readonly findings: readonly string[]
  /** From the moment all may begin to the end of the last. */
  readonly ms: number
  /** From a phase's due time to its start, the latest of all. */
  readonly lateMs: number
}

/** Batches of these sizes. All are held until the last is there; then they begin at once. */
async function runTogether(world: SizeWorld, sizes: readonly number[]): Promise<Round> {
  const { db, fleet, watcher, say } = world
  const engine = chaosDoor(db, clock)
  const order = {
    scope: 'runbook',
    target: LARGE,
    actor: 'chaos',
    reason: 'batches are being created',
  } as const
  await holdScope(engine, order)
  const ids: number[] = []
  for (const size of sizes) ids.push(await patiently(() => createLarge(db, size)))
  const beganAt = clock.now()
  await resumeScope(engine, order)
  const findings: string[] = []
  for (const id of ids) findings.push(...(await heal(fleet, watcher, id, db)))
  const [row] = await db.query<Pick<Round, 'ms' | 'lateMs'>>(
    `select (select extract(epoch from max(ended_at) - $2) * 1000 from batches where id = any($1::bigint[]))::int as ms,
            (select extract(epoch from max(p.dispatched_at - greatest(p.due_at, b.activated_at, $2))) * 1000
               from phase_executions p join batches b on b.id = p.batch_id
              where b.id = any($1::bigint[]) and p.phase_name = 'prepare')::int as late_ms`,
    [ids, beganAt],
  )
  const { ms, lateMs } = row!
  say(
    `${world.members} members in ${ids.length} batches: ${ms} ms, phases at most ${lateMs} ms late`,
  )
  return { findings, ms, lateMs }
}

const manyOf = (members: number): number[] => {
  const batches = Math.min(MANY_MAX, Math.ceil(members / MEMBERS_OF_MANY))
  return Array.from({ length: batches }, (_, at) => Math.floor((members + at) / batches))
}

/** One batch and many in turns, twice at least: the first of both also warm the processes up. */
async function runMany(world: SizeWorld): Promise<Measured> {
  const one: Round[] = []
  const many: Round[] = []
  do {
    one.push(await runTogether(world, [world.members]))
    many.push(await runTogether(world, manyOf(world.members)))
  } while (one.length < 2 || !world.isOver())
  const timesOf = (rounds: readonly Round[]) => rounds.map(({ ms }) => ms)
  // Of the better round, as with the times: a neighbour that takes the machine for seconds makes anybody late.
  const startedLateMs = Math.min(...many.map(({ lateMs }) => lateMs))
  const slow = tooSlow('many batches', timesOf(many), 'one', timesOf(one), MANY_RATIO_MAX)
  return {
    findings: [
      ...[...one, ...many].flatMap(({ findings }) => findings),
      ...slow.findings,
      ...tooLate('a phase', startedLateMs, START_LATE_MAX_MS),
    ],
    figures: {
      oneBatchMs: slow.baselineMs,
      manyBatchesMs: slow.ms,
      ratio: slow.ratio,
      startedLateMs,
    },
  }
}

/** Small batches one after another, each from its creation to its end, as long as `counts` says so after it. */
async function runSmall(
  { db, fleet, watcher }: SizeWorld,
  counts: () => Promise<boolean> = async () => true,
): Promise<{ ms: number[]; findings: string[] }> {
  const ms: number[] = []
  const findings: string[] = []
  for (let batch = 0; batch < SMALL_BATCHES; batch++) {
    const id = await patiently(() => createLarge(db, SMALL_MEMBERS))
    findings.push(...(await heal(fleet, watcher, id, db)))
    if (!(await counts())) break
    const [row] = await db.query<{ ms: number }>(
      'select extract(epoch from ended_at - detected_at)::float8 * 1000 as ms from batches where id = $1',
      [id],
    )
    ms.push(Math.round(row!.ms))
  }
  return { ms, findings }
}

/** Small batches alone, then next to a giant. The slowest of both are compared: each must be done soon. */
async function runGiant(world: SizeWorld): Promise<Measured> {
  const { db, fleet, watcher, say } = world
  const warmUp = await runSmall(world)
  const alone = await runSmall(world)
  const giant = await patiently(() => createLarge(db, world.members))
  const has = async (what: string) => (await db.query(`select ${what} limit 1`, [giant])).length > 0
  const isOut = `from waits where batch_id = $1 and batch_member_id is not null and kind = 'job'`
  while (!(await has(isOut))) await clock.wait(100)
  const beside = await runSmall(world, () => has('from batches where id = $1 and ended_at is null'))
  const healed = await heal(fleet, watcher, giant, db)
  const findings = [...[warmUp, alone, beside].flatMap((run) => run.findings), ...healed]
  say(
    `small batches: ${alone.ms.join(', ')} ms alone, ${beside.ms.join(', ')} ms next to ${world.members} members`,
  )
  if (beside.ms.length === 0) {
    findings.push(
      'the first small batch ended after the giant: it waited for all of it, or --members is too small',
    )
    return { findings, figures: {} }
  }
  const slowest = [[Math.max(...beside.ms)], [Math.max(...alone.ms)]] as const
  const slow = tooSlow('a small batch', slowest[0], 'alone', slowest[1], GIANT_RATIO_MAX)
  return {
    findings: [...findings, ...slow.findings],
    figures: { aloneMaxMs: slow.baselineMs, besideMaxMs: slow.ms, ratio: slow.ratio },
  }
}

/** One batch after another. */
async function runLarge({
  db,
  fleet,
  watcher,
  members,
  say,
  isOver,
}: SizeWorld): Promise<Measured> {
  const findings: string[] = []
  const took: number[] = []
  do {
    const beganAt = Date.now()
    const id = await patiently(() => createLarge(db, members))
    findings.push(...(await heal(fleet, watcher, id, db)))
    took.push(Date.now() - beganAt)
    say(`${members} members ended after ${took.at(-1)} ms`)
  } while (findings.length === 0 && !isOver())
  return { findings, figures: { slowestRoundMs: Math.max(...took) } }
}

const sizeMode = (size: Size): ChaosMode => ({
  name: size.name,
  sabotage: size.sabotage,
  holds: size.holds ? `${size.holds}, ${HOLDS}` : HOLDS,
  defaults: { minutes: 1, members: size.members },
  run: (options) => runSize(size, options),
})

export const manyBatchesMode = sizeMode({
  name: 'many-batches',
  members: 2_000,
  sabotage: `the members of one batch in batches of ${MEMBERS_OF_MANY}, up to ${MANY_MAX}, that are due at once`,
  holds: `at most ${MANY_RATIO_MAX} times the time of one batch, every phase starts within ${START_LATE_MAX_MS / 1_000} s`,
  worker: FAST,
  run: runMany,
})

const GIANT = {
  holds: `a small batch takes at most ${GIANT_RATIO_MAX} times as long as alone`,
  run: runGiant,
}

export const giantMode = sizeMode({
  ...GIANT,
  name: 'giant',
  members: 3_000,
  sabotage: `one batch with all members, and ${SMALL_BATCHES} of ${SMALL_MEMBERS} members next to it, one after another`,
  worker: FAST,
})

export const giantSlowMode = sizeMode({
  ...GIANT,
  name: 'giant-slow',
  members: 300,
  sabotage: 'the same with slow functions on few slots',
  worker: SLOW,
})

export const memoryMode = sizeMode({
  name: 'memory',
  members: 200,
  sabotage: `results of ${RESULT_BYTES / 1_000} KB, for orchestrators with the least heap that the program accepts`,
  orchestrator: { heapMb: leastHeapMb(['orchestrator']) },
  worker: { resultBytes: RESULT_BYTES },
  run: runLarge,
})
