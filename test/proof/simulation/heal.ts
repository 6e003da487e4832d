// Heals the world: faults stop, operators resume what they hold, replay dead letters and advance what waits for a person. From here
// on everything must end within a bounded number of rounds.

import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { ORCHESTRATOR_EVENTS, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { sweepBus } from '../../../src/bus/postgres/sweep.ts'
import { advanceBatch, resumeBatch } from '../../../src/engine/orders/batch-actions.ts'
import { resumeScope } from '../../../src/engine/orders/holds.ts'
import { runTimers } from '../../../src/orchestrator/timers.ts'
import { lookForBroken, lookOutside } from './checks.ts'
import { moodOf, nextDueMs, type Usual } from './events.ts'
import { approveWaiting } from './night-operators.ts'
import { asOrchestrator } from './orchestrator.ts'
import { heldShift, holdsOf } from './promises.ts'
import { finishInHand, sayHello, workOffAll } from './worker.ts'
import type { World } from './world.ts'

/** A round advances to the next due time. Seeds need 10 to 120. */
const ROUNDS_MAX = 300
const LOOK_EVERY = 5
/** People act on the guards for so many rounds. */
const ASKED_ROUNDS = 12
/** Returns the number of rounds. */
export async function heal(
  world: World,
  askAtNight: () => Promise<void> = async () => {},
): Promise<number> {
  world.frozen = 0
  for (const worker of world.workers) {
    await sayHello(world, worker)
    await finishInHand(world, worker)
  }
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    world.log.push(`heal ${round} ${world.clock.now().toISOString()}`)
    if (round <= ASKED_ROUNDS) await askAtNight()
    await lookAfter(world)
    await settleDown(world, false)
    await lookForUnnoticed(world)
    if (round % LOOK_EVERY === 0) {
      await lookForBroken(world, null)
      await lookOutside(world)
    }
    if (world.found.length > 0) return round
    const dueMs = await nextDueMs(world)
    const isDueLater = dueMs !== null && dueMs > world.clock.nowMs()
    if (!isDueLater && (await settleDown(world, true)) > 0) continue
    if (dueMs === null && (await isQuiet(world))) return round
    world.clock.turn(Math.max(1_000, (dueMs ?? 0) - world.clock.nowMs()))
    await sweepBus(world.db, world.clock.now())
  }
  world.found.push(`P6: after ${ROUNDS_MAX} rounds without a fault not everything has ended`)
  return ROUNDS_MAX
}

/** Runs timers until they find nothing to do. */
async function lookForUnnoticed({ db, found }: World): Promise<void> {
  const letters = await db.query<{ id: string }>(
    `select message_id as id from dead_letters where topic = 'worker-jobs' and noticed_at is null`,
  )
  for (const { id } of letters)
    found.push(`R24: job ${id} is a dead letter, and its step does not know`)
}

const isQuiet = async ({ db }: World): Promise<boolean> => {
  const rows = await db.query(
    `select id from batches where status not in ('completed', 'failed', 'cancelled')`,
  )
  return rows.length === 0
}

/** What people do once the faults are over. */
async function lookAfter(world: World): Promise<void> {
  const { db, bus, office } = world
  const order = { actor: 'operator', reason: 'the trouble is over' }
  const held = await db.query<{ id: number }>(
    'select id from batches where held_at is not null order by id',
  )
  for (const { id } of held) {
    const check = await heldShift(world, { scope: 'batch', target: `${id}` })
    await resumeBatch(office.engine, { ...order, batchId: id })
    await check()
  }
  for (const { scope, target } of await holdsOf(world)) {
    const check = await heldShift(world, { scope, target })
    await resumeScope(office.engine, { ...order, scope, target })
    await check()
  }
  for (const subscription of [ORCHESTRATOR_EVENTS, WORKER_RESULTS]) {
    const { items } = await bus.deadLetters.list(subscription, 100)
    for (const { id, reason } of items) {
      if (reason === 'Simulated') await bus.deadLetters.replay(id, 'operator')
      else await bus.deadLetters.discard(id, 'operator')
    }
  }
  if (world.night) await approveWaiting(world)
  const manual = await db.query<{ id: number; status: string; next: string | null }>(
    `select b.id, b.status, (select phase_name from phase_executions p where p.batch_id = b.id and p.status = 'pending'
                              order by offset_minutes desc, phase_index limit 1) as next
       from batches b where is_manual and status in ('detected', 'active') order by id`,
  )
  for (const { id, status, next } of manual) {
    for (const expectedPhase of status === 'detected' ? ['init', next] : [next]) {
      if (expectedPhase !== null) await advance(world, id, expectedPhase)
    }
  }
}

async function advance({ office }: World, batchId: number, expectedPhase: string): Promise<void> {
  const how = { allowStragglers: true, actor: 'operator' }
  try {
    await advanceBatch(office.engine, { ...how, batchId, expectedPhase })
  } catch (error) {
    if (!(error instanceof MatoolkitError)) throw error
  }
}

/** Does everything possible at this moment and returns the amount. Without `asksAll`, parts that seem idle are left out. */
async function settleDown(world: World, asksAll: boolean): Promise<number> {
  const place = world.chance.below(world.orchestrators.length)
  let all = 0
  for (let done = 1; done > 0 && world.found.length === 0; all += done) {
    done = 0
    const { idle } = await moodOf(world)
    const asks = (what: Usual) => asksAll || !idle.has(what)
    await asOrchestrator(world, place, async ({ events, results, engine }) => {
      if (asks('deliver events')) done += await events.runOnce()
      if (asks('deliver results')) done += await results.runOnce()
      if (asks('timer')) done += await runTimers(engine)
    })
    for (const workerId of await jobsWaiting(world)) {
      const worker = world.workers.find((one) => one.workerId === workerId)
      if (worker) done += await workOffAll(world, worker)
    }
  }
  return all
}

/** Workers that may have a job: asking the others was half of all work. */
async function jobsWaiting({ db, broker }: World): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ id: string }>(
    `select distinct worker_id as id from messages where topic = 'worker-jobs'`,
  )
  const copied = broker.copies.map(({ message }) => message.properties.WorkerId ?? '')
  return new Set([...rows.map(({ id }) => id), ...copied].sort())
}
