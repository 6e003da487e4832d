// One seed from start to end: random events under faults, one at a time, each followed by the invariants of the batches it touched;
// then the world is healed, and everything must end.

import type { RenewableDb } from '../../kit/renewable-pglite.ts'
import { lookAtEnd, lookForBroken, lookOutside } from './checks.ts'
import { moodOf, STRIKES, type Strike, USUAL, type Usual } from './events.ts'
import type { Fault } from './faults.ts'
import { heal } from './heal.ts'
import { makeWorld } from './make-world.ts'
import { ask, askAnything, askAtNight, type OperatorState } from './operators.ts'
import { drawShape } from './runbooks.ts'
import type { Programme } from './scheduler.ts'
import { hasSource } from './source.ts'
import {
  beginProgramme,
  comeToRest,
  isSourceEvent,
  sourceEvent,
  sourceWeights,
} from './source-events.ts'
import { sayHello } from './worker.ts'
import { fingerprint, type World } from './world.ts'

export interface Run {
  readonly seed: number
  readonly events: number
  readonly fingerprint: string
  readonly faults: ReadonlyMap<Fault, number>
  /** The kinds of fault of this seed, with their rates. */
  readonly drawn: ReadonlyMap<Fault, number>
  /** Counts by name: operations, events of the log, outcomes of attempts. */
  readonly occurred: ReadonlyMap<string, number>
  readonly found: readonly string[]
  readonly log: readonly string[]
}

export interface RunOptions {
  readonly db: RenewableDb
  readonly seed: number
  readonly only?: ReadonlySet<Fault>
}

/** Most defects show in short runs, some need long ones. */
const EVENTS_MIN = 20
const EVENTS_MAX = 70
/** Seeds in which nearly all members fail, for the fuse. */
const DOOMED_SHARE = 0.12
const LOOK_AT_ALL_EVERY = 15

/** Weights of the next event. Faults that are events add their own rates. */
const WEIGHTS: Readonly<Record<Usual | 'operate', number>> = {
  'deliver events': 4,
  'deliver results': 7,
  timer: 6,
  'take jobs': 7,
  work: 9,
  operate: 2.5,
  'turn the clock': 3,
}
/** Events that would find nothing to do are tried now and then. */
const IDLE = 0.03
/** Operators interrupt often. */
const BETWEEN = 3
/** When everything waits for a time, the clock advances. */
const AT_REST = 4

export async function runSeed({ db, seed, only }: RunOptions): Promise<Run> {
  const world = makeWorld({ db, seed, ...(only && { only }) })
  await db.renew()
  const operators = await begin(world)
  const programme = await beginProgramme(world, operators)
  const operations = new Map<string, number>()
  const lasts = world.chance.between(EVENTS_MIN, EVENTS_MAX)
  let events = 0
  while (events < lasts && world.found.length === 0) {
    events += 1
    await oneEvent({ world, operators, programme }, events, operations)
  }
  if (world.found.length === 0) {
    world.faults.heal()
    if (programme) events += await comeToRest(world, programme)
    if (world.found.length === 0) events += await heal(world, () => askAtNight(world, operators))
  }
  if (world.found.length === 0) await lookAtAll(world)
  if (world.found.length === 0) await lookAtEnd(world, operators.takenIn)
  return {
    seed,
    events,
    fingerprint: await fingerprint(world),
    faults: world.faults.fired,
    drawn: world.faults.drawn,
    occurred: new Map([
      ...operations,
      ...(programme?.source.occurred ?? []),
      ...(await whatOccurred(world)),
    ]),
    found: world.found,
    log: world.log,
  }
}

async function begin(world: World): Promise<OperatorState> {
  const { seed, chance } = world
  const isSourced = hasSource(seed)
  const isDoomed = chance.happens(DOOMED_SHARE)
  const shape = drawShape(chance, 'wave', {
    isDoomed,
    phasesMax: isSourced ? 2 : 3,
    night: world.night,
  })
  const operators: OperatorState = {
    shape,
    wider: chance.stream('holds'),
    version: 0,
    peopleMade: 0,
    takenIn: [],
  }
  for (const worker of world.workers) await sayHello(world, worker)
  while (operators.version === 0 && world.found.length === 0) await ask(world, operators, 'publish')
  const batches = isDoomed || isSourced ? 1 : chance.between(1, 3)
  for (let made = 0; made < batches && world.found.length === 0; ) {
    const { end } = await ask(world, operators, 'create a batch')
    if (end === 'done') made += 1
  }
  return operators
}

interface Stage {
  readonly world: World
  readonly operators: OperatorState
  readonly programme: Programme | null
}

async function oneEvent(
  { world, operators, programme }: Stage,
  number: number,
  operations: Map<string, number>,
): Promise<void> {
  const { chance, clock, faults } = world
  world.turnTo(number)
  programme?.source.chance.turnTo(number)
  const usual = await usualWeights(world)
  const weights = { ...usual, ...strikeWeights(world, usual) }
  if (world.frozen > 0) world.frozen -= 1
  const what = programme
    ? chance.weighed({ ...weights, ...(await sourceWeights(world)) })
    : chance.weighed(weights)
  world.log.push(`${number} ${clock.now().toISOString()} ${what}`)
  const struck = faultsSoFar(world)
  if (isStrike(what)) {
    faults.note(what)
    await STRIKES[what](world)
  } else if (what === 'operate') {
    const { operation, end } = await askAnything(world, operators)
    const key = `operator: ${operation} ${end}`
    operations.set(key, (operations.get(key) ?? 0) + 1)
  } else if (isSourceEvent(what)) await sourceEvent(world, programme!, what)
  else await USUAL[what](world)
  await look(world, number % LOOK_AT_ALL_EVERY === 0, faultsSoFar(world) > struck)
}

const faultsSoFar = ({ faults }: World): number =>
  [...faults.fired.values()].reduce((sum, times) => sum + times, 0)

const isStrike = (what: string): what is Strike => Object.hasOwn(STRIKES, what)

async function usualWeights(world: World): Promise<typeof WEIGHTS> {
  const { idle, isAtRest, isBetween } = await moodOf(world)
  const factor = (what: string): number => {
    if (what === 'turn the clock') return world.frozen > 0 ? 0 : isAtRest ? AT_REST : 1
    if (what === 'operate') return isBetween ? BETWEEN : 1
    return idle.has(what) ? IDLE : 1
  }
  const pairs = Object.entries(WEIGHTS).map(([what, weight]) => [what, weight * factor(what)])
  return Object.fromEntries(pairs) as typeof WEIGHTS
}

/** Their rates do not depend on what else could happen. */
function strikeWeights({ faults }: World, usual: typeof WEIGHTS): Record<Strike, number> {
  const total = Object.values(usual).reduce((sum, weight) => sum + weight, 0)
  const kinds = Object.keys(STRIKES) as Strike[]
  return Object.fromEntries(kinds.map((kind) => [kind, faults.rate(kind) * total])) as Record<
    Strike,
    number
  >
}

/** The batches that the event touched; sometimes all of them, and after a fault everything outside batches too. */
async function look(world: World, isAll: boolean, hasStruck: boolean): Promise<void> {
  const [news] = await world.db.query<{ last: number | null; batches: number[] | null }>(
    'select max(id) as last, array_agg(distinct batch_id) as batches from events where id > $1',
    [world.lastLooked],
  )
  world.lastLooked = news?.last ?? world.lastLooked
  if (isAll) return lookAtAll(world)
  if (hasStruck) await lookOutside(world)
  const touched = news?.batches ?? []
  if (touched.length > 0) await lookForBroken(world, touched)
}

async function lookAtAll(world: World): Promise<void> {
  await lookOutside(world)
  await lookForBroken(world, null)
}

async function whatOccurred({ db }: World): Promise<[string, number][]> {
  const rows = await db.query<{ what: string; times: number }>(
    `select entity || ' ' || event as what, count(*) as times from events group by 1
     union all
     select 'job ' || outcome, count(*) from attempts group by 1
     order by 1`,
  )
  return rows.map(({ what, times }) => [what, times])
}
