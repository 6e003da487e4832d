// Two of everything on several processes: schedulers that read a file, orchestrators, APIs, workers, and operators who speak HTTP; on
// PostgreSQL alone or over Service Bus, where every process with a database is also a relay. Processes are killed in random order, and now
// and then all of one kind at once: no death may stop the system for good.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../../../src/base/run/clock.ts'
import { LEASE_MS as LOCK_MS } from '../../../../src/bus/bus.ts'
import { setAutomation } from '../../../../src/engine/orders/automation.ts'
import type { Broker } from '../../../kit/broker/broker.ts'
import { openNamespace } from '../../../kit/namespace.ts'
import { freePort } from '../../../kit/postgres-server.ts'
import { seeded } from '../../../kit/seeded.ts'
import { missingEffects, missingResults, outOfOrder, repeatedJobs } from '../checks.ts'
import { Fleet } from '../fleet.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import { chaosDoor, type Part, type Role } from '../process.ts'
import { LARGE, WORKER_ID } from '../runbooks.ts'
import { brokenInvariantsOf } from '../watcher.ts'
import {
  type ChaosOptions,
  type ChaosSetup,
  givenUp,
  harmOf,
  LEASE_MS,
  openSetup,
  patiently,
  type Verdict,
} from '../world.ts'

type Transport = 'postgres' | 'servicebus'

const clock = realClock()
const ROLES: readonly Role[] = ['orchestrator', 'worker', 'scheduler', 'api']
const EACH = 2
const SOURCE_INTERVAL_MS = 2_000
const PAUSE_MIN_MS = 700
const PAUSE_MAX_MS = 2_500
/** Every so many kills all processes of one kind die at once. */
const ALL_EVERY = 6
const ORDER_PAUSE_MS = 300
const LOOK_MS = 250
const TICK_MS = 500
/** After the harm: a lock of a minute, started again by a delivery that dies, and a busy machine. */
const HEAL_MAX_MS = 300_000

interface World {
  readonly options: ChaosOptions
  readonly transport: Transport
  readonly setup: ChaosSetup
  readonly fleet: Fleet
  readonly broker: Broker | null
  readonly apiPorts: readonly number[]
  readonly people: string[]
}

async function open(options: ChaosOptions, transport: Transport): Promise<World> {
  const setup = await openSetup(options.seed)
  const namespace = transport === 'servicebus' ? await openNamespace(clock, [WORKER_ID]) : null
  const folder = join(setup.folder, 'sources')
  mkdirSync(folder)
  const apiPorts = [await freePort(), await freePort()]
  const sources = { folder, connections: {}, intervalMs: SOURCE_INTERVAL_MS, timeoutMs: 10_000 }
  const over = (role: Role, at: number): Partial<Part> => ({
    ...(namespace && { serviceBus: namespace.connectionString }),
    ...(role === 'scheduler' && { sources: { ...sources, lanes: 2 } }),
    ...(role === 'api' && { apiPort: apiPorts[at]! }),
  })
  const parts = ROLES.flatMap((role) =>
    Array.from({ length: EACH }, (_, at) =>
      setup.partOf(`${role}-${at + 1}`, [role], over(role, at)),
    ),
  )
  const engine = chaosDoor(setup.db, clock)
  await setAutomation(engine, { runbookName: LARGE, isEnabled: true, actor: 'chaos' })
  const broker = namespace?.broker ?? null
  const world = { options, transport, setup, fleet: new Fleet(parts), broker, apiPorts, people: [] }
  addToSource(world)
  return world
}

/** A wave of new people in the schedulers' file, due now. */
function addToSource({ setup, people, options }: World): string {
  const at = clock.now().toISOString()
  for (let n = 0; n < options.members; n += 1)
    people.push(`p${people.length}@contoso.example,${at}`)
  const place = join(setup.folder, 'sources', 'm.csv')
  writeFileSync(`${place}.new`, ['Upn,When', ...people, ''].join('\n'))
  renameSync(`${place}.new`, place)
  return at
}

async function harm({ options, fleet, broker }: World, over: AbortSignal): Promise<void> {
  const pick = seeded(options.seed)
  for (let turn = 1; !over.aborted; turn += 1) {
    await clock.wait(PAUSE_MIN_MS + pick(PAUSE_MAX_MS - PAUSE_MIN_MS), over)
    if (over.aborted) return
    const role = ROLES[pick(ROLES.length)]!
    const atWork = fleet.atWork(role)
    const victims =
      turn % ALL_EVERY === 0 ? atWork : atWork.slice(pick(atWork.length || 1)).slice(0, 1)
    for (const name of victims) fleet.kill(name)
    if (!broker || pick(4) > 0) continue
    fleet.happened.push({ at: Date.now(), what: 'cut all connections', who: 'broker' })
    await broker.dropConnections()
  }
}

/** Holds and resumes through whichever API answers. Returns the orders that were acknowledged, by their reason. */
async function operate(world: World, over: AbortSignal): Promise<string[]> {
  const { setup, options } = world
  const pick = seeded(options.seed + 1)
  const acknowledged: string[] = []
  for (let number = 1; !over.aborted; number += 1) {
    await clock.wait(ORDER_PAUSE_MS, over)
    const batches = await patiently(() =>
      setup.db.query<{ id: number; held: boolean }>(
        'select id, held_at is not null as held from batches where ended_at is null',
      ),
    )
    const batch = batches[pick(batches.length || 1)]
    if (!batch || over.aborted) continue
    const reason = `order ${number}`
    const isDone = await ask(world, pick(EACH), batch, reason)
    if (isDone) acknowledged.push(reason)
  }
  return acknowledged
}

async function ask(
  { setup, apiPorts }: World,
  at: number,
  batch: { readonly id: number; readonly held: boolean },
  reason: string,
): Promise<boolean> {
  try {
    const token = readFileSync(join(setup.folder, `api-${at + 1}.token`), 'utf8')
    const path = batch.held ? '/api/holds/resume' : '/api/holds'
    const response = await fetch(`http://127.0.0.1:${apiPorts[at]}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scope: 'batch', target: String(batch.id), reason }),
      signal: AbortSignal.timeout(5_000),
    })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    // Killed, or not started yet.
    return false
  }
}

async function resumeAll(world: World): Promise<void> {
  const held = await world.setup.db.query<{ id: number }>(
    'select id from batches where held_at is not null and ended_at is null',
  )
  for (const { id } of held)
    for (let at = 0; !(await ask(world, at % EACH, { id, held: true }, 'going home')); at += 1)
      await clock.wait(LOOK_MS)
}

/** Waits until everybody in the file has been taken in and every batch has ended; false if the time is over first. */
async function untilAllEnded({ setup, people }: World, giveUp: AbortSignal): Promise<boolean> {
  for (; !giveUp.aborted; await clock.wait(LOOK_MS)) {
    const [row] = await patiently(() =>
      setup.db.query<{ members: number; open: number }>(
        `select (select count(*)::int from batch_members) as members,
                (select count(*)::int from batches where ended_at is null) as open`,
      ),
    )
    if (row!.members === people.length && row!.open === 0) return true
  }
  return false
}

async function run(options: ChaosOptions, transport: Transport): Promise<Verdict> {
  const world = await open(options, transport)
  const over = new AbortController()
  const ticking = tick(world.broker, over.signal)
  try {
    await world.fleet.start()
    return await Promise.race([harmAndHeal(world), givenUp(options.giveUp)])
  } finally {
    over.abort()
    await ticking
    await world.fleet.killAll()
    await world.broker?.close()
    await world.setup.close()
  }
}

async function tick(broker: Broker | null, over: AbortSignal): Promise<void> {
  while (broker && !over.aborted) {
    await clock.wait(TICK_MS, over)
    broker.tick()
  }
}

async function harmAndHeal(world: World): Promise<Verdict> {
  const { options, fleet } = world
  const startedAt = Date.now()
  const harmOver = new AbortController()
  const harming = harm(world, harmOver.signal)
  const operating = operate(world, harmOver.signal)
  const endsAt = startedAt + options.minutes * 60_000
  while (Date.now() < endsAt) {
    const isEnded = await untilAllEnded(
      world,
      AbortSignal.timeout(Math.max(1, endsAt - Date.now())),
    )
    if (isEnded) addToSource(world)
  }
  harmOver.abort()
  await harming
  const orders = await operating
  options.say('the harm is over; healing')
  await fleet.allReady()
  await resumeAll(world)
  const isEnded = await untilAllEnded(world, AbortSignal.timeout(HEAL_MAX_MS))
  const findings = isEnded
    ? []
    : [`not everything ended within ${HEAL_MAX_MS / 1_000} s of healing`]
  for (const [name, code] of await fleet.stop())
    if (code !== 0) findings.push(`${name} was asked to stop and ended with ${code}`)
  return verdictOf(world, startedAt, orders, findings)
}

async function verdictOf(
  world: World,
  startedAt: number,
  orders: readonly string[],
  found: readonly string[],
): Promise<Verdict> {
  const { setup, fleet, people, transport, options } = world
  const { db, folder } = setup
  const [effects, noticed] = [readJournals(folder, 'effects'), readJournals(folder, 'noticed')]
  const leaseMs = transport === 'servicebus' ? LOCK_MS : LEASE_MS
  const repeated = repeatedJobs({ effects, happened: fleet.happened, noticed }, leaseMs)
  const unexpected = noticed.filter(({ what }) => what === 'unexpected')
  const findings = [
    ...found,
    ...fleet.findings,
    ...(await brokenInvariantsOf(db, clock.now)),
    ...(await missingOrders(setup, orders)),
    ...(await missingResults(db, folder)),
    ...(await missingEffects(db, effects)),
    ...outOfOrder(effects),
    ...repeated.found,
    ...(await notPassed(setup)),
    ...unexpected.map(({ name, message }) => `${name}: ${message}`),
  ]
  const figures = {
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    members: people.length,
    jobsRun: effects.filter(({ what }) => what === 'begin').length,
    jobsRepeated: repeated.jobs,
    ordersAcknowledged: orders.length,
    harm: harmOf(fleet.happened),
    restarts: fleet.restarts,
  }
  const again = `npm run chaos -- --mode ${modeOf(transport)} --seed ${options.seed} --minutes ${options.minutes} --members ${options.members}`
  return { figures, findings, report: [...findings, again].join('\n') }
}

/** An answered order is in the audit. */
async function missingOrders({ db }: ChaosSetup, orders: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ reason: string }>(
    'select reason from audit where reason is not null',
  )
  const there = new Set(rows.map(({ reason }) => reason))
  // Orders to an endpoint that had gone were all refused, and the run found nothing to complain about.
  if (orders.length === 0) return ['no order of an operator was answered']
  return orders
    .filter((one) => !there.has(one))
    .map((one) => `"${one}" was answered and is not there`)
}

async function notPassed({ db }: ChaosSetup): Promise<string[]> {
  const rows = await db.query<{ said: string }>(
    `select 'batch ' || id || ' is ' || status || ' with ' || members_failed || ' failed members' as said from batches
      where status <> 'completed' or members_failed > 0
     union all
     select 'dead letter on ' || topic || ': ' || message_id || ', ' || reason from dead_letters
      where replayed_at is null and discarded_at is null and (topic <> 'worker-jobs' or noticed_at is null)`,
  )
  return rows.map(({ said }) => said)
}

const modeOf = (transport: Transport): string =>
  transport === 'servicebus' ? 'cluster-servicebus' : 'cluster'

const clusterMode = (transport: Transport, minutes: number): ChaosMode => ({
  name: modeOf(transport),
  sabotage: `two schedulers, orchestrators, APIs and workers ${
    transport === 'servicebus' ? 'over Service Bus' : 'on PostgreSQL'
  }: killed in random order, sometimes all of one kind; operators over HTTP`,
  holds:
    'everybody in the source is taken in once and finishes, every answered order is in the audit, no result is lost, no job repeats without a cause, order, all invariants',
  defaults: { minutes, members: 100 },
  run: (options) => run(options, transport),
})

export const clusterOnPostgres = clusterMode('postgres', 2)
export const clusterOnServiceBus = clusterMode('servicebus', 3)
