// One seed on Service Bus from start to end: events and faults at random, then the faults stop and everything must end, with every
// invariant kept, nothing left at the broker, and no job run twice without a cause.
import { DUPLICATE_WINDOW_MS } from '../../../../src/bus/bus.ts'
import { cancelBatch, holdBatch, resumeBatch } from '../../../../src/engine/orders/batch-actions.ts'
import { createBatch } from '../../../../src/engine/orders/create.ts'
import { removeMembers, retryMembers } from '../../../../src/engine/orders/member-actions.ts'
import { publishRunbook } from '../../../../src/engine/orders/publish.ts'
import { runTimers } from '../../../../src/orchestrator/timers.ts'
import type { FaultName } from '../../../kit/broker/faults.ts'
import { brokenInvariants } from '../../../kit/invariants.ts'
import type { RenewableDb } from '../../../kit/renewable-pglite.ts'
import { drawShape, people, runbookText } from '../../simulation/runbooks.ts'
import { excuseAll, sayHello, takeJobs, work } from './worker.ts'
import { count, expectTransient, openSeededWorld, type SeededWorld } from './world.ts'

export interface SeededRun {
  readonly seed: number
  readonly events: number
  readonly jobs: number
  readonly repeated: number
  readonly occurred: ReadonlyMap<string, number>
  readonly found: readonly string[]
  readonly log: readonly string[]
}

const EVENTS = 60
const MEMBERS = 4
const ORDER = { actor: 'operator', reason: 'as agreed' }
/** A round turns the clock to the next due time. */
const HEAL_ROUNDS_MAX = 400
const HEAL_STEP_MS = 5_000

type Event = (world: SeededWorld) => Promise<unknown>

const orchestratorOf = ({ chance, orchestrators }: SeededWorld) => chance.pick(orchestrators)

const BROKER_FAULTS: readonly FaultName[] = [
  'busy-send',
  'busy-request',
  'lose-answer',
  'cut-after-send',
  'lose-lock',
  'refuse-token',
]

const FAULTS: Readonly<Record<string, Event>> = {
  ...Object.fromEntries(
    BROKER_FAULTS.map((fault) => [
      fault,
      async ({ broker, chance }: SeededWorld) => broker.faults.next(fault, chance.between(1, 3)),
    ]),
  ),
  'connections dropped': ({ broker }) => broker.dropConnections(),
  'links detached': async ({ broker }) => broker.detachConsumers(),
  'relay died between sending and marking': relayDies,
  'orchestrator died before the ack': orchestratorDies,
  'worker died': async (world) => {
    const place = world.chance.below(world.workers.length)
    excuseAll(world, world.workers[place]!)
    await world.replaceWorker(place)
    await sayHello(world, world.workers[place]!)
  },
  'locks expired': (world) => turn(world, 61_000),
}

const USUAL: Readonly<Record<string, Event>> = {
  forward: (world) => orchestratorOf(world).bus.capabilities.relay!.forward(),
  events: (world) => orchestratorOf(world).events.runOnce(),
  results: (world) => orchestratorOf(world).results.runOnce(),
  timers: (world) => runTimers(orchestratorOf(world).engine),
  take: (world) => takeJobs(world, world.chance.pick(world.workers)),
  work: (world) => work(world, world.chance.pick(world.workers)),
  clock: (world) => turn(world, world.chance.between(1, 90) * 1_000),
  operate: operate,
}

const WEIGHTS = {
  forward: 5,
  events: 3,
  results: 6,
  timers: 5,
  take: 6,
  work: 9,
  clock: 4,
  operate: 1.5,
}
const FAULT_SHARE = 0.15

async function turn({ clock, broker }: SeededWorld, ms: number): Promise<void> {
  await clock.advance(ms)
  broker.tick()
}

/** What it sent is sent again by the next relay, once its lease is over. */
async function relayDies(world: SeededWorld): Promise<void> {
  const { db, chance, clock, orchestrators } = world
  const place = chance.below(orchestrators.length)
  const stored = await db.query<{ ids: string }>(
    `select message_ids as ids from bundles where topic = 'worker-jobs'`,
  )
  const ids = stored.flatMap(({ ids: lines }) => lines.split('\n'))
  world.sentByTheDead.push({ ids, at: +clock.now() })
  const { bus, diesAt } = orchestrators[place]!
  diesAt('delete from bundles')
  await bus.capabilities.relay!.forward().catch((error: unknown) => expectTransient(world, error))
  await world.replaceOrchestrator(place)
}

/** Its transaction has committed; the message comes again. */
async function orchestratorDies(world: SeededWorld): Promise<void> {
  const place = world.chance.below(world.orchestrators.length)
  const { bus, results } = world.orchestrators[place]!
  Object.assign(bus, { ack: () => Promise.resolve([]) })
  await results.runOnce()
  await world.replaceOrchestrator(place)
}

async function operate(world: SeededWorld): Promise<void> {
  const { chance, db } = world
  const { engine } = orchestratorOf(world)
  const batches = await db.query<{ id: number; held: boolean }>(
    `select id, held_at is not null as held from batches where status in ('detected', 'init_dispatched', 'active') order by id`,
  )
  const members = await db.query<{ id: number; batchId: number; status: string }>(
    `select m.id, m.batch_id, m.status from batch_members m join batches b on b.id = m.batch_id
      where b.status <> 'cancelled' order by m.id`,
  )
  const batch = batches.length > 0 ? chance.pick(batches) : null
  const member = members.length > 0 ? chance.pick(members) : null
  const what = chance.pick(['hold', 'hold', 'hold', 'member', 'member', 'cancel'])
  if (what === 'member' && member) {
    const order = { ...ORDER, batchId: member.batchId, memberIds: [member.id] }
    if (member.status === 'failed') await retryMembers(engine, order)
    else if (member.status === 'active' && chance.happens(0.3)) await removeMembers(engine, order)
  } else if (batch && what === 'cancel' && chance.happens(0.3))
    await cancelBatch(engine, { ...ORDER, batchId: batch.id })
  else if (batch) {
    const act = batch.held ? resumeBatch : holdBatch
    await act(engine, { ...ORDER, batchId: batch.id })
  }
}

async function begin(world: SeededWorld): Promise<void> {
  const { chance, clock } = world
  const { engine } = world.orchestrators[0]!
  const shape = drawShape(chance, 'wave', { isDoomed: false, phasesMax: 2, night: null })
  const yaml = runbookText(chance, shape, 1)
  await publishRunbook(engine, { yaml, publishedBy: 'author' })
  for (const worker of world.workers) await sayHello(world, worker)
  for (const n of [0, 1])
    await createBatch(engine, {
      runbookName: 'wave',
      createdBy: 'operator',
      sourceTime: new Date(+clock.now() + (10 + n) * 60_000),
      members: people(chance, n * MEMBERS, MEMBERS),
    })
}

async function attempt(world: SeededWorld, event: Event): Promise<number> {
  try {
    return Number((await event(world)) ?? 0)
  } catch (error) {
    expectTransient(world, error)
    return 0
  }
}

export async function runOnServiceBus(seed: number, db: RenewableDb): Promise<SeededRun> {
  const world = await openSeededWorld(seed, db)
  const { chance, found, log, occurred } = world
  try {
    await begin(world)
    let events = 0
    for (; events < EVENTS && found.length === 0; events += 1) {
      chance.turnTo(events + 1)
      const isFault = chance.happens(FAULT_SHARE)
      const what = isFault ? chance.pick(Object.keys(FAULTS)) : chance.weighed(WEIGHTS)
      log.push(`${events} ${world.clock.now().toISOString()} ${what}`)
      count(world, what)
      await attempt(world, (isFault ? FAULTS : USUAL)[what]!)
    }
    if (found.length === 0) events += await heal(world)
    if (found.length === 0) await check(world)
    const jobs = new Set(world.effects).size
    const repeated = world.effects.length - jobs
    return { seed, events, jobs, repeated, occurred, found, log }
  } finally {
    await world.close()
  }
}

async function heal(world: SeededWorld): Promise<number> {
  world.broker.faults.clear()
  world.faults.isHealed = true
  for (let round = 1; round <= HEAL_ROUNDS_MAX; round += 1) {
    if (world.found.length > 0) return round
    await attempt(world, resumeAll)
    await attempt(world, settle)
    if (await isOver(world)) return round
    await turn(world, Math.max(HEAL_STEP_MS, await dueInMs(world)))
    await attempt(world, ({ orchestrators }) => orchestrators[0]!.bus.sweep())
  }
  world.found.push(`after ${HEAL_ROUNDS_MAX} rounds without a fault not everything has ended`)
  return HEAL_ROUNDS_MAX
}

async function resumeAll(world: SeededWorld): Promise<void> {
  const { engine } = world.orchestrators[0]!
  const held = await world.db.query<{ id: number }>(
    'select id from batches where held_at is not null',
  )
  for (const { id } of held) await resumeBatch(engine, { ...ORDER, batchId: id })
}

/** Until nobody has anything to do now. */
async function settle(world: SeededWorld): Promise<void> {
  const [first] = world.orchestrators
  for (;;) {
    let done = await first!.bus.capabilities.relay!.forward()
    done += await first!.events.runOnce()
    done += await first!.results.runOnce()
    done += await runTimers(first!.engine)
    for (const worker of world.workers) {
      done += await takeJobs(world, worker)
      done += await work(world, worker)
    }
    if (done === 0) return
  }
}

const isOver = async ({ db, workers, broker }: SeededWorld): Promise<boolean> => {
  const open = await db.query(
    `select from batches where status not in ('completed', 'failed', 'cancelled') union all select from bundles`,
  )
  const isIdle = workers.every(({ inHand }) => inHand.length === 0)
  return open.length === 0 && isIdle && leftAtBroker(broker).length === 0
}

/** What nobody took; what workers are told runs out by itself. */
const leftAtBroker = (broker: SeededWorld['broker']): string[] =>
  broker.namespace.topics.flatMap(({ subscriptions }) =>
    [...subscriptions].flatMap(([name, { queue }]) =>
      name.startsWith('control-') || queue.size + queue.deadLetters!.size === 0
        ? []
        : [`${queue.path}: ${queue.size} and ${queue.deadLetters!.size} dead`],
    ),
  )

async function dueInMs({ db, clock }: SeededWorld): Promise<number> {
  const [next] = await db.query<{ at: Date | null }>(
    `select min(at) as at from (select wake_at as at from waits where wake_at > $1
       union all select due_at from phase_executions where status = 'pending' and due_at > $1) due`,
    [clock.now()],
  )
  return next?.at ? Math.min(60_000, +next.at - +clock.now()) : 0
}

async function check(world: SeededWorld): Promise<void> {
  const { db, clock, found, effects, excused } = world
  found.push(...(await brokenInvariants(db, clock.now())))
  // After the window of duplicates a job that is sent again is delivered again.
  for (const { ids, at } of world.sentByTheDead)
    if (+clock.now() > at + DUPLICATE_WINDOW_MS) for (const id of ids) excused.add(id)
  for (const [jobId, runs] of Map.groupBy(effects, (id) => id))
    if (runs.length > 1 && !excused.has(jobId)) found.push(`${jobId} ran ${runs.length} times`)
  const done = new Set(effects)
  const passed = await db.query<{ id: string }>(
    `select job_id as id from attempts where outcome = 'succeeded'`,
  )
  for (const { id } of passed) if (!done.has(id)) found.push(`${id} succeeded, and nobody did it`)
  const lost = await db.query<{ id: string }>(
    `select job_id as id from attempts where outcome = 'lost'`,
  )
  for (const { id } of lost) found.push(`${id} was lost, and no message may be`)
  const letters = await db.query<{ said: string }>(
    `select topic || ' ' || message_id || ': ' || reason as said from dead_letters
      where topic <> 'worker-jobs' and replayed_at is null and discarded_at is null`,
  )
  for (const { said } of letters) found.push(`a dead letter of ${said}`)
  const unnoticed = await db.query<{ id: string }>(
    `select message_id as id from dead_letters where topic = 'worker-jobs' and noticed_at is null`,
  )
  for (const { id } of unnoticed) found.push(`${id} is a dead letter, and its step does not know`)
}
