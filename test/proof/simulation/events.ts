// The events of the simulated world, one function each: a chunk is delivered, a timer runs, a worker advances, the clock turns, the
// broker delays or dead-letters a message, a hint comes at the wrong time.
import {
  ORCHESTRATOR_EVENTS,
  type OutgoingMessage,
  WORKER_RESULTS,
  workerJobs,
} from '../../../src/bus/bus.ts'
import { bundleOf, splitBundles } from '../../../src/bus/postgres/bundle-rows.ts'
import { sweepBus } from '../../../src/bus/postgres/sweep.ts'
import { BATCH_IS_FREE, WAIT_IS_FREE } from '../../../src/db/state/holds.ts'
import { listUnexpandedPhases } from '../../../src/db/state/phases.ts'
import { listWorkerIds } from '../../../src/db/state/workers.ts'
import { listWorkerFacts } from '../../../src/db/views/workers.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { expandLarge } from '../../../src/engine/transactions/expand.ts'
import { orHoldBatch } from '../../../src/engine/transactions/hold-on-failure.ts'
import { WorkerPace } from '../../../src/engine/transactions/worker-pace.ts'
import {
  expandPhases,
  fillWorkers,
  runTimers,
  settleDeadJobs,
  settleLostJobs,
  startDuePhases,
  wakeWaits,
} from '../../../src/orchestrator/timers.ts'
import { asOrchestrator } from './orchestrator.ts'
import { WORKERS } from './runbooks.ts'
import { type SimulatedWorker, takeJobs, workOn } from './worker.ts'
import type { World } from './world.ts'

type Happening = (world: World) => Promise<unknown>

const SUBSCRIPTIONS = [ORCHESTRATOR_EVENTS, WORKER_RESULTS, ...WORKERS.map(workerJobs)]
/** The parts of `runTimers`; each may run long before the others. */
const TIMERS: readonly ((engine: Engine, world: World) => Promise<unknown>)[] = [
  startDuePhases,
  startDuePhases,
  raceAhead,
  raceAhead,
  expandPhases,
  settleDeadJobs,
  settleLostJobs,
  wakeWaits,
  (engine) => fillWorkers(engine),
]

const WHOLE_TIMERS_SHARE = 0.35

/** One process starts what is due, writes the steps of one phase and sends them; the other phases are still untouched. */
async function raceAhead(engine: Engine, { chance }: World): Promise<void> {
  await startDuePhases(engine)
  const phases = await listUnexpandedPhases(engine.db, PHASES_MAX)
  if (phases.length === 0) return
  const { id, batchId } = chance.pick(phases)
  await orHoldBatch(engine, batchId, 'timer', () => expandLarge(engine, { batchId, id }, 'timer'))
  await fillWorkers(engine)
}
const PHASES_MAX = 100

const somePlace = ({ chance, orchestrators }: World) => chance.below(orchestrators.length)

/** A worker with a job, if there is one. */
function busyWorker({ chance, workers }: World): SimulatedWorker {
  const busy = workers.filter(({ inHand }) => inHand.length > 0)
  return chance.pick(busy.length > 0 ? busy : workers)
}

/** Events without a fault. */
export const USUAL = {
  'deliver events': (world) =>
    asOrchestrator(world, somePlace(world), ({ events }) => events.runOnce()),
  'deliver results': (world) =>
    asOrchestrator(world, somePlace(world), ({ results }) => results.runOnce()),
  timer: (world) =>
    asOrchestrator(world, somePlace(world), ({ engine }) => {
      const isWhole = world.chance.happens(WHOLE_TIMERS_SHARE)
      return isWhole ? runTimers(engine) : world.chance.pick(TIMERS)(engine, world)
    }),
  'take jobs': async (world) => {
    for (const worker of world.chance.shuffled(world.workers)) {
      if (world.chance.happens(0.6)) await takeJobs(world, worker)
    }
  },
  work: async (world) => {
    const worker = busyWorker(world)
    for (let left = world.chance.between(1, 5); left > 0; left--) await workOn(world, worker)
  },
  'turn the clock': turnClock,
} as const satisfies Record<string, Happening>

export type Usual = keyof typeof USUAL

/** Faults that are events. */
export const STRIKES = {
  'message delayed': delayMessage,
  'message dead-lettered': giveUpMessage,
  'hint out of time': giveHint,
  'clock jumped': async ({ clock, chance }) => clock.turn(chance.between(600, 20_000) * 1_000),
  'clock frozen': async (world) => {
    world.frozen = world.chance.between(5, 25)
  },
  burst,
} as const satisfies Record<string, Happening>

export type Strike = keyof typeof STRIKES

/** All ordinary events but the clock. */
const DUTIES = Object.keys(USUAL).length - 1

export interface Mood {
  /** Ordinary events that would find nothing to do now. */
  readonly idle: ReadonlySet<string>
  /** Nothing can be done now: everything waits for a time or a person. */
  readonly isAtRest: boolean
  /** A phase has begun and its steps are not written: a good moment for interruptions. */
  readonly isBetween: boolean
}

async function jobLimits({ db, maxOutstanding }: World) {
  const pace = new WorkerPace(maxOutstanding)
  const facts = await listWorkerFacts(db, await listWorkerIds(db))
  return facts.map((worker) => ({ id: worker.workerId, jobs: pace.jobLimitOf(worker) }))
}

export async function moodOf(world: World): Promise<Mood> {
  const { db, clock, broker, workers } = world
  const limits = await jobLimits(world)
  const [ready] = await db.query<{ topics: string[]; hasTimers: boolean; isBetween: boolean }>(
    `select array(select distinct topic from messages
                   where visible_at <= $1 and (leased_until is null or leased_until <= $1)) as topics,
            exists (select from phase_executions where status = 'dispatched' and expanded_at is null) as is_between,
            exists (select from waits w join batches b on b.id = w.batch_id
                     where (w.wake_at <= $1 and (w.kind = 'job' or ${WAIT_IS_FREE}))
                        or (w.kind = 'slot' and ${WAIT_IS_FREE} and (b.window_opens_at is null or b.window_opens_at <= $1)
                            and (select count(*) from waits o where o.worker_id = w.worker_id and o.kind = 'job') <
                                (select l.jobs from unnest($2::text[], $3::int[]) as l (worker_id, jobs)
                                  where l.worker_id = w.worker_id)))
            or exists (select from phase_executions p join batches b on b.id = p.batch_id
                        where (p.status = 'pending' and coalesce(p.gate_look_at, p.due_at) <= $1 and b.status = 'active' and ${BATCH_IS_FREE})
                           or (p.soak_ends_at <= $1 and b.status = 'active' and ${BATCH_IS_FREE})
                           or (p.status = 'dispatched' and p.expanded_at is null
                               and (p.ramp_through is null or p.expanded_through < p.ramp_through)))
            or exists (select from batches where window_opens_at <= $1)
            or exists (select from holds where withdrawn_at is null)
            or exists (select from dead_letters where topic = 'worker-jobs' and noticed_at is null) as has_timers`,
    [clock.now(), limits.map(({ id }) => id), limits.map(({ jobs }) => jobs)],
  )
  const topics = new Set(ready!.topics)
  for (const { message, atMs } of broker.copies)
    if (atMs <= clock.nowMs()) topics.add(message.topic)
  const idle = new Set<Usual>()
  if (!topics.has('orchestrator-events')) idle.add('deliver events')
  if (!topics.has('worker-results')) idle.add('deliver results')
  if (!topics.has('worker-jobs')) idle.add('take jobs')
  if (!ready!.hasTimers) idle.add('timer')
  if (workers.every(({ inHand }) => inHand.length === 0)) idle.add('work')
  return { idle, isAtRest: idle.size === DUTIES, isBetween: ready!.isBetween }
}

/** By a little, to the next due time, or by much. */
async function turnClock(world: World): Promise<void> {
  const { clock, chance, db } = world
  if (world.frozen > 0) return
  const { isAtRest } = await moodOf(world)
  const how = chance.weighed({ little: 4, due: isAtRest ? 20 : 4, more: 1 })
  const dueMs = how === 'due' ? ((await nextDueMs(world)) ?? 0) - clock.nowMs() : 0
  if (dueMs > 0) clock.turn(dueMs)
  else clock.turn(chance.between(1, how === 'more' ? 400 : 15) * 1_000)
  if (chance.happens(0.3)) await sweepBus(db, clock.now())
}

/** The next due time of anything; null if nothing is due. */
export async function nextDueMs({ db, broker }: World): Promise<number | null> {
  const rows = await db.query<{ at: Date | null }>(
    `select min(at) as at from (
       select wake_at as at from waits w join batches b on b.id = w.batch_id where w.kind = 'job' or ${WAIT_IS_FREE}
       union all
       select case when p.status = 'pending' then coalesce(p.gate_look_at, p.due_at) else p.soak_ends_at end
         from phase_executions p join batches b on b.id = p.batch_id
        where p.status in ('pending', 'dispatched') and b.status = 'active' and ${BATCH_IS_FREE}
       union all
       select window_opens_at from batches
       union all
       select greatest(visible_at, coalesce(leased_until, visible_at)) from messages) as due`,
  )
  const times = broker.copies.map(({ atMs }) => atMs)
  if (rows[0]?.at) times.push(+rows[0].at)
  return times.length > 0 ? Math.min(...times) : null
}

/** Any message, or a result: one after its deadline does most harm. */
async function someMessage({ db, chance }: World): Promise<number | null> {
  const rows = await db.query<{ id: number; isResult: boolean }>(
    `select id, topic = 'worker-results' as is_result from messages where lease_token is null order by id`,
  )
  const results = rows.filter(({ isResult }) => isResult)
  const from = results.length > 0 && chance.happens(0.7) ? results : rows
  return from.length === 0 ? null : chance.pick(from).id
}

async function delayMessage(world: World): Promise<void> {
  const id = await someMessage(world)
  const until = new Date(world.clock.nowMs() + world.chance.between(10, 1_200) * 1_000)
  if (id === null) return
  // Without the other messages of its bundle.
  await splitBundles(world.db, [bundleOf(id)], { unleased: true })
  await world.db.query('update bundles set visible_at = $2 where id = $1', [id, until])
}

async function giveUpMessage({ bus, chance }: World): Promise<void> {
  const taken = await bus.receive(chance.pick(SUBSCRIPTIONS), 1)
  await bus.deadLetter(taken, 'Simulated', 'The broker gave up.')
}

interface PhaseHinted {
  readonly id: number
  readonly batchId: number
  readonly name: string
  readonly offset: number
  /** Its hint may come before that of an earlier phase that is due too. */
  readonly isDue: boolean
}

/** Hints may come at any time and for anything: they only cause a look. */
async function giveHint({ db, bus, chance, clock }: World): Promise<void> {
  const steps = await db.query<{ id: number; batchId: number }>(
    'select id, batch_id from step_executions order by id',
  )
  const phases = await db.query<PhaseHinted>(
    `select id, batch_id, phase_name as name, offset_minutes as "offset",
            coalesce(status = 'pending' and due_at <= $1, false) as is_due
       from phase_executions order by id`,
    [clock.now()],
  )
  const due = phases.filter(({ isDue }) => isDue)
  const common = { runbookName: 'wave', runbookVersion: 1 }
  const hint = { topic: 'orchestrator-events' as const, messageId: `hint-${chance.uuid()}` }
  const sends: OutgoingMessage[] = []
  if (phases.length > 0) {
    const { id, batchId, name, offset } = chance.pick(due.length > 0 ? due : phases)
    const phase = { phaseExecutionId: id, phaseName: name, offsetMinutes: offset, dueAt: null }
    sends.push({ ...hint, type: 'phase-due', body: { ...common, ...phase, batchId } })
  }
  if (steps.length > 0) {
    const { id, batchId } = chance.pick(steps)
    const body = { ...common, batchId, stepExecutionId: id, isInitStep: false }
    sends.push({ ...hint, type: 'retry-check', body })
    sends.push({ ...hint, type: 'poll-check', body: { ...body, stepName: 'x', pollCount: 0 } })
  }
  if (sends.length > 0) await bus.publish([chance.pick(sends)])
}

/** A burst: much is taken, run, answered and delivered without a pause. */
async function burst(world: World): Promise<void> {
  for (const worker of world.workers) {
    await takeJobs(world, worker)
    for (let left = worker.inHand.length; left > 0; left--) await workOn(world, worker)
  }
  for (const place of world.orchestrators.keys()) {
    await asOrchestrator(world, place, ({ results }) => results.runOnce())
    await asOrchestrator(world, place, ({ engine }) => runTimers(engine))
  }
}
