// A server database is backed up in the middle of a run, the fleet and the tenant continue, and then the backup takes the place of the
// database: as a new database, under running processes, or while they are stopped and a person says so. Everything must be on hold
// then, and after the resume every person has one account, the own one.
import { randomUUID } from 'node:crypto'
import { realClock } from '../../../../src/base/run/clock.ts'
import { WORKER_RESULTS } from '../../../../src/bus/bus.ts'
import { enqueue } from '../../../../src/bus/outbox.ts'
import { openPostgresBus } from '../../../../src/bus/postgres/postgres-bus.ts'
import type { Db } from '../../../../src/db/connection/db.ts'
import { countJobsOut, readEpoch } from '../../../../src/db/state/epochs.ts'
import { findHold } from '../../../../src/db/state/holds.ts'
import { messageIdOf } from '../../../../src/domain/messages/messages.ts'
import { SYSTEM } from '../../../../src/domain/state/holds.ts'
import { resumeScope } from '../../../../src/engine/orders/holds.ts'
import { beginEpoch } from '../../../../src/engine/orders/restores.ts'
import { handleChunk } from '../../../../src/orchestrator/orchestrator.ts'
import { onServer } from '../../../kit/postgres-server.ts'
import { missingResults, unhealthy } from '../checks.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import { chaosDoor } from '../process.ts'
import { WORKER_ID } from '../runbooks.ts'
import {
  changesOf,
  createTenantBatch,
  inTenantWorld,
  newNicks,
  type TenantWorld,
  wrongInTenant,
} from '../tenant-world.ts'
import { brokenInvariantsOf, makeWatcher } from '../watcher.ts'
import { type ChaosOptions, harmOf, heal, patiently, settle, type Verdict } from '../world.ts'

const clock = realClock()
const LOOK_MS = 100
const BEFORE_MAX_MS = 60_000
const RESULTS_MAX = 500
const NOTICED_MAX_MS = 20_000
/** Long enough for late answers, and for what the workers remember. */
const ON_HOLD_MS = 3_000

/** How the backup takes the place of the database, and who notices. */
const WAYS = ['as a new database', 'under running processes', 'while all was stopped'] as const
type Way = (typeof WAYS)[number]

interface Round {
  readonly world: TenantWorld
  readonly way: Way
  readonly members: number
  readonly findings: string[]
  readonly say: (line: string) => void
}

const adminUrl = (url: string): string => url.replace(/\/postgres$/, '/template1')

/** Nobody but this process reaches the database meanwhile. */
async function alone<T>({ setup }: TenantWorld, work: () => Promise<T>): Promise<T> {
  setup.proxy.become('reset')
  try {
    return await work()
  } finally {
    setup.proxy.become('pass')
  }
}

/** A copy of the whole server or of its database, and the jobs that had succeeded by then. */
function backUp({ world, way }: Round): Promise<Set<string>> {
  const { server, db } = world.setup
  return alone(world, async () => {
    if (way === 'as a new database') {
      await onServer(
        adminUrl(server.url),
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'postgres'`,
      )
      await onServer(adminUrl(server.url), 'drop database if exists backup')
      await onServer(adminUrl(server.url), 'create database backup template postgres')
    } else {
      server.stop()
      server.backUp()
      server.start()
    }
    return patiently(() => succeededJobs(db))
  })
}

/** The time after the backup is lost; the tenant and the workers keep it. */
async function restore({ world, way, findings }: Round): Promise<void> {
  const { server, db } = world.setup
  const happened = { at: Date.now(), what: `restored ${way}`, who: 'database', until: 0 }
  world.fleet.happened.push(happened)
  await alone(world, async () => {
    if (way === 'as a new database') {
      await onServer(adminUrl(server.url), 'drop database postgres with (force)')
      await onServer(adminUrl(server.url), 'alter database backup rename to postgres')
    } else {
      server.stop()
      server.restore()
      server.start()
    }
    if ((await patiently(() => answerOldJobs(db))) === 0)
      findings.push('no job was out at the backup, so nothing is proven')
    if (way !== 'while all was stopped') return
    // Its successors have seen nothing, and PostgreSQL shows nothing: only a person knows.
    for (const name of world.fleet.atWork('orchestrator')) world.fleet.kill(name)
    const order = { actor: 'chaos', because: 'the disk was lost' }
    await patiently(() => beginEpoch(chaosDoor(db, clock), order))
    await readOldAnswers(db)
  })
  happened.until = Date.now()
}

/**
 * Answers to the jobs that are out in the backup wait on the bus before anybody looks at it, and tell of accounts that nobody has: one
 * that is booked shows. The workers alone answer too late for that, when the jobs are given back. Returns how many.
 */
async function answerOldJobs(db: Db): Promise<number> {
  const jobs = await db.query<{ jobId: string; batchId: number }>(
    `select job_id, batch_id from waits where kind = 'job'`,
  )
  const timestamp = clock.now().toISOString()
  const answers = jobs.map(({ jobId, batchId }) => ({
    topic: 'worker-results' as const,
    messageId: `old-${messageIdOf.workerResult(jobId)}`,
    type: 'worker-result' as const,
    body: {
      jobId,
      batchId,
      workerId: WORKER_ID,
      functionName: 'F',
      status: 'Success' as const,
      resultType: 'Object' as const,
      result: { Id: `nobody-${jobId}` },
      error: null,
      durationMs: 1,
      timestamp,
      correlationData: null,
    },
  }))
  await db.transaction((tx) => enqueue(tx, answers, clock.now()))
  return jobs.length
}

/** The first process that comes back reads the answers before its timers give any job back. */
async function readOldAnswers(db: Db): Promise<void> {
  const bus = openPostgresBus({ db, clock, newToken: randomUUID })
  const received = await bus.receive(WORKER_RESULTS, RESULTS_MAX)
  const outcomes = await handleChunk(chaosDoor(db, clock), received)
  await bus.ack(received.filter((_, at) => outcomes[at] === 'ack'))
  await bus.close()
}

async function succeededJobs(db: Db): Promise<Set<string>> {
  const rows = await db.query<{ jobId: string }>(
    `select job_id from attempts where outcome = 'succeeded'`,
  )
  return new Set(rows.map(({ jobId }) => jobId))
}

async function until(isDone: () => Promise<boolean> | boolean, maxMs: number): Promise<boolean> {
  const giveUp = AbortSignal.timeout(maxMs)
  while (!giveUp.aborted) {
    if (await isDone()) return true
    await clock.wait(LOOK_MS)
  }
  return false
}

/** One backup, the lost time, one restore, and the resume. Returns the batches that must complete. */
async function loseAndResume(round: Round): Promise<number[]> {
  const { world, members, findings } = round
  const { db } = world.setup
  const first = await createTenantBatch(db, newNicks(members))
  const changesAtStart = changesOf(world.sandbox).length
  const changed = (count: number) => changesOf(world.sandbox).length - changesAtStart >= count
  const doneAtStart = (await succeededJobs(db)).size
  const isUnderWay = async () =>
    (await succeededJobs(db)).size >= doneAtStart + members && (await countJobsOut(db)) > 0
  if (!(await until(isUnderWay, BEFORE_MAX_MS))) findings.push('nothing began')
  const backedUp = await backUp(round)
  round.say(`backed up with ${backedUp.size} steps done`)
  const changesAtBackup = changesOf(world.sandbox).length - changesAtStart
  const lost = newNicks(members)
  const lostBatch = await patiently(() => createTenantBatch(db, lost))
  const workers = world.fleet.atWork('worker')
  if (workers.length > 1) world.fleet.kill(workers[0]!)
  if (!(await until(() => changed(changesAtBackup + members), BEFORE_MAX_MS)))
    findings.push('nothing happened in the time that is lost')
  await restore(round)
  round.say(`restored ${round.way}`)
  findings.push(...(await wrongOnHold(round, backedUp)))
  await patiently(() =>
    resumeScope(chaosDoor(db, clock), { ...SYSTEM, scope: 'system', actor: 'chaos', reason: 'ok' }),
  )
  // As the next tick would: the source still has the people of the lost batch.
  const again = await patiently(() => createTenantBatch(db, lost))
  if (again <= lostBatch) findings.push(`batch ${again} has a number that batch ${lostBatch} had`)
  return [first, again]
}

/** Somebody notices; then nothing is sent, and no result of the lost time is booked. */
async function wrongOnHold({ world, way }: Round, backedUp: Set<string>): Promise<string[]> {
  const { db } = world.setup
  const isHeld = () => patiently(async () => (await findHold(db, SYSTEM)) !== null)
  if (!(await until(isHeld, NOTICED_MAX_MS)))
    return [`nobody noticed in ${NOTICED_MAX_MS} ms that the database was restored ${way}`]
  await clock.wait(ON_HOLD_MS)
  const booked = [...(await succeededJobs(db))].filter((jobId) => !backedUp.has(jobId))
  const out = await db.query<{ jobId: string }>(
    `select message_id as job_id from messages where message_type = 'worker-job' limit 10`,
  )
  return [
    ...booked.slice(0, 10).map((jobId) => `${jobId} was booked after the restore, on hold`),
    ...out.map(({ jobId }) => `${jobId} was sent on hold`),
    ...(await brokenInvariantsOf(db, clock.now)),
  ]
}

const run = (options: ChaosOptions): Promise<Verdict> =>
  inTenantWorld(options, (world) => roundAfterRound(options, world))

async function roundAfterRound(options: ChaosOptions, world: TenantWorld): Promise<Verdict> {
  const { seed, minutes, members, say } = options
  const { setup, fleet, sandbox } = world
  const { db, folder } = setup
  const startedAt = Date.now()
  const watcher = makeWatcher(db, fleet, clock)
  const findings: string[] = []
  const ways: Way[] = []
  while (ways.length === 0 || Date.now() < startedAt + minutes * 60_000) {
    const way = WAYS[(seed + ways.length) % WAYS.length]!
    ways.push(way)
    for (const batchId of await loseAndResume({ world, way, members, findings, say }))
      findings.push(...(await heal(fleet, watcher, batchId, db)))
    say('resumed and ended')
  }
  const epoch = await readEpoch(db)
  const isUnexpected = ({ what }: { what: string }) => what === 'unexpected'
  findings.push(
    ...(await settle(fleet, db)),
    ...fleet.findings,
    ...(await brokenInvariantsOf(db, clock.now)),
    ...(await missingResults(db, folder, `~${epoch}`)),
    ...(await unhealthy(db)),
    ...(await wrongInTenant(db, sandbox)),
    ...readJournals(folder, 'noticed')
      .filter(isUnexpected)
      .map(({ name, message }) => `${name}: ${message}`),
  )
  const figures = {
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    restores: ways.length,
    members: 2 * ways.length * members,
    changes: changesOf(sandbox).length,
    requests: sandbox.journal.requestsMade,
    resultsOfLostTime: await countEvents(db, 'result_before_restore'),
    harm: harmOf(fleet.happened),
    restarts: fleet.restarts,
  }
  const again = `npm run chaos -- --mode restore --seed ${seed} --minutes ${minutes} --members ${members}`
  return { figures, findings, report: [...findings, 'again:', `  ${again}`].join('\n') }
}

async function countEvents(db: Db, event: string): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) from events where event = $1', [
    event,
  ])
  return row!.count
}

export const restoreMode: ChaosMode = {
  name: 'restore',
  sabotage:
    'a database backed up in the middle of a run and restored later, while the tenant and the workers continued: as a new database, under running processes, or while all was stopped',
  holds:
    'the restore is noticed, nothing is sent and nothing of the lost time is booked on hold, no number repeats, every member completes with the own account, the tenant has every change exactly once, all invariants, no dead letter',
  defaults: { minutes: 1, members: 10 },
  run,
}
