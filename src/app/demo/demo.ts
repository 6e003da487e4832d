// `matoolkit demo`, and so `npm start`: the whole system in this process, on a database in memory that is thrown away, running
// an example migration on a clock that goes twenty times as fast and runs ahead through the days in which nothing happens. Engine,
// bus, orchestrator, workers and functions are the real ones; only the tenants are a sandbox. What is shown comes from rows and
// events.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import type { Bus } from '../../bus/bus.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { Screen } from '../../cli/terminal/screen.ts'
import { acceleratedClock, type Clock, MACHINE, realClock } from '../../clock.ts'
import { findMembersByKey } from '../../db/batches.ts'
import type { Db } from '../../db/db.ts'
import { findBroken, INVARIANTS } from '../../db/invariants/invariants.ts'
import { migrate } from '../../db/migrate.ts'
import { openPglite } from '../../db/pglite.ts'
import { markDisposable, requireClockFits } from '../../db/time.ts'
import { findQuietUntil, listProgressEvents, loadProgress } from '../../db/views/progress.ts'
import type { Progress } from '../../domain/progress.ts'
import { type Runbook, readRunbook } from '../../domain/runbook/read.ts'
import { isBatchEnded } from '../../domain/transitions.ts'
import { addMembers, createBatch } from '../../engine/create.ts'
import type { Engine } from '../../engine/engine.ts'
import { removeMembers } from '../../engine/member-actions.ts'
import { publishRunbook } from '../../engine/publish.ts'
import { RunbookCache } from '../../engine/runbook-cache.ts'
import { EXIT, MatoolkitError, messageOf } from '../../errors.ts'
import { makeOrchestrator } from '../../orchestrator/orchestrator.ts'
import type { Service } from '../../service.ts'
import { STANDARD_FUNCTIONS } from '../../worker/functions/standard.ts'
import type { Tenant } from '../../worker/m365/api.ts'
import { Worker } from '../../worker/worker.ts'
import { openTransport } from '../transports.ts'
import { type MemberRow, type MemberRowProblem, readMembers } from './members.ts'
import { interruptedLines, summaryLines, unexpectedOutcomes } from './summary.ts'
import { type DemoTenants, type DemoUser, openDemoTenants, TROUBLED_COUNT } from './tenants.ts'
import { DemoWatcher } from './watch.ts'

const EXAMPLES = join(import.meta.dirname, '../../../examples')
const RUNBOOK_FILE = join(EXAMPLES, 'full-migration.yaml')
const MEMBERS_FILE = join(EXAMPLES, 'full-migration.csv')

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** The clock begins this long before the first phase: time for the init step, and to look. */
const LEAD_MS = 5 * MINUTE_MS
const TARGET_WORKER = 'contoso-worker'
const SOURCE_WORKER = 'fabrikam-worker'
const WORKER_SLOTS = 60
/** Answers wait so long for each other: a database inside the process is at its best with larger pieces. */
const GATHER_REAL_MS = 200
const CHUNK = 500
/** On the watcher's clock: a busy machine may well stand still for some seconds. */
const LEASE_REAL_MS = 20_000
const ACTOR = 'demo'

/** How the demonstration goes: to be watched, or to be over soon. */
interface Pace {
  /** Seconds of the migration in one second of the person who watches. */
  readonly clockFactor: number
  readonly frameMs: number
  /** How far the clock runs ahead between two frames when there is nothing to do. */
  readonly strideMs: number
  /** It is stuck if it takes longer. */
  readonly limitMs: number
}
const WATCHED: Pace = {
  clockFactor: 20,
  frameMs: 200,
  strideMs: 8 * 60 * MINUTE_MS,
  limitMs: 600_000,
}
const FAST: Pace = {
  clockFactor: 10,
  frameMs: 100,
  strideMs: 30 * DAY_MS,
  limitMs: 600_000,
}

export interface RunDemoOptions {
  readonly screen: Screen | null
  readonly interrupted: AbortSignal
  /** When it has ended well the tenants are still there to be looked at, until somebody interrupts. */
  readonly staysUp: boolean
}

/** Joins two days before the cut-over, when the first phase is long over. */
const LATE_JOINER = {
  UserPrincipalName: 'late.larsen@fabrikam.example',
  SourceObjectId: '3a5e8f10-7c4d-4b29-8e6f-1d2c3b4a5968',
  DisplayName: 'Late Larsen',
  Department: 'Sales',
  MailNickname: 'late.larsen',
  TargetUpn: 'late.larsen@contoso.example',
  ExchangeGuid: '9b8a7c6d-5e4f-4a3b-9c2d-1e0f9a8b7c6d',
  ArchiveGuid: '',
  LegacyExchangeDn: '/o=ExchangeLabs/ou=Fabrikam/cn=Recipients/cn=late',
}
/** Which row of the file leaves half a day before the cut-over. */
const LEAVER_ROW = 1

/** Everything set up and nothing started. */
export function openDemo(io: Io, { isFast = false } = {}): Promise<Demo> {
  return openSystem(readSample(), isFast ? FAST : WATCHED, io)
}

export async function runDemo(demo: Demo, options: RunDemoOptions, io: Io): Promise<void> {
  const watch = watchOf(demo, options, io)
  try {
    for (const service of demo.services) service.start()
    await follow(demo, watch, options.interrupted)
  } finally {
    options.screen?.end()
    await Promise.all(demo.services.map((service) => service.stop()))
  }
  if (options.interrupted.aborted) sayInterrupted(watch, io)
  else {
    await sayEnding(demo, watch, options, io)
    if (options.staysUp) await stayUp(demo, options.interrupted, io)
  }
  await demo.close()
}

async function stayUp({ tenants }: Demo, interrupted: AbortSignal, io: Io): Promise<void> {
  io.out('')
  io.out(
    `Both tenants stay up for you to look at: ${tenants.url}/_sandbox/state, and what was done`,
  )
  io.out(`to them: ${tenants.url}/_sandbox/journal. Ctrl-C ends it.`)
  const ended = Promise.withResolvers<void>()
  if (interrupted.aborted) return
  interrupted.addEventListener('abort', () => ended.resolve(), { once: true })
  await ended.promise
}

interface Sample {
  readonly yaml: string
  readonly runbook: Runbook
  readonly members: readonly MemberRow[]
  readonly startTime: Date
}

function readSample(): Sample {
  const yaml = readFileSync(RUNBOOK_FILE, 'utf8')
  const { runbook, problems } = readRunbook(yaml)
  if (!runbook) {
    const { line, column, message } = problems[0]!
    const first = `line ${line}, column ${column}: ${message}`
    throw new MatoolkitError('RUNBOOK_INVALID', { count: problems.length, first })
  }
  const { primaryKey, batchTimeColumn } = runbook.dataSource
  const columns = { primaryKey, batchTimeColumn: batchTimeColumn ?? '' }
  const read = readMembers(readFileSync(MEMBERS_FILE, 'utf8'), columns)
  if ('problems' in read) throw rowsInvalid(read.problems)
  const { members } = read
  const { startTime } = members[0]!
  const others = members.flatMap((member, index) =>
    +member.startTime === +startTime
      ? []
      : [
          {
            row: index + 2,
            column: columns.batchTimeColumn,
            message: 'the demo has one wave only',
          },
        ],
  )
  if (others.length > 0) throw rowsInvalid(others)
  return { yaml, runbook, members, startTime }
}

function rowsInvalid(problems: readonly MemberRowProblem[]): MatoolkitError {
  const { row, column, message } = problems[0]!
  return new MatoolkitError('MEMBER_ROWS_INVALID', {
    file: MEMBERS_FILE,
    count: problems.length,
    row,
    column,
    reason: message,
  })
}

/** An accelerated clock that can also be moved on. */
interface DemoClock extends Clock {
  skip(ms: number): void
}

function demoClock(startAt: Date, factor: number): DemoClock {
  let skippedMs = 0
  const steadyMs = () => MACHINE.steadyMs() + skippedMs / factor
  return {
    ...acceleratedClock({ factor, startAt, machine: { ...MACHINE, steadyMs } }),
    skip: (ms) => {
      skippedMs += ms
    },
  }
}

/** Something that people do while the migration runs. */
interface Beat {
  readonly at: Date
  play(): Promise<unknown>
}

export interface Demo {
  readonly pace: Pace
  readonly db: Db
  readonly bus: Bus
  readonly clock: DemoClock
  readonly beganAt: Date
  readonly batchId: number
  readonly membersExpected: number
  readonly services: readonly Service[]
  readonly tenants: DemoTenants
  readonly beats: Beat[]
  readonly errors: string[]
  close(): Promise<void>
}

async function openSystem(sample: Sample, pace: Pace, io: Io): Promise<Demo> {
  const { runbook, members, startTime } = sample
  const firstOffset = Math.max(...runbook.phases.map(({ offsetMinutes }) => offsetMinutes))
  const beganAt = new Date(+startTime - firstOffset * MINUTE_MS - LEAD_MS)
  io.out('Starting a throw-away PostgreSQL inside this process …')
  const db = await openPglite()
  await markDisposable(db)
  await migrate(db, beganAt)
  const clock = demoClock(beganAt, pace.clockFactor)
  await requireClockFits(db, clock)
  const leaseMs = LEASE_REAL_MS * pace.clockFactor
  const bus = openTransport({ transport: 'postgres' }, { db, clock, newToken: randomUUID, leaseMs })
  const engine: Engine = {
    db,
    bus,
    clock,
    runbooks: new RunbookCache(),
    // No jitter, so that two runs are alike.
    random: () => 0.5,
    maxOutstanding: 1_000,
  }
  const batchId = await createSampleBatch(engine, sample, io)
  io.out('Starting two sandbox tenants, an orchestrator, and a worker for each tenant.')
  const tenants = await openDemoTenants([...members.map(moverOf), LATE_JOINER], clock)
  const errors: string[] = []
  return {
    pace,
    db,
    bus,
    clock,
    beganAt,
    batchId,
    membersExpected: members.length + 1,
    services: servicesOf(
      engine,
      bus,
      clock,
      tenants,
      (error) => void errors.push(messageOf(error)),
    ),
    tenants,
    beats: beatsOf(engine, batchId, sample),
    errors,
    close: async () => {
      await tenants.close()
      await bus.close()
      await db.close()
    },
  }
}

async function createSampleBatch(engine: Engine, sample: Sample, io: Io): Promise<number> {
  const { yaml, runbook, members, startTime } = sample
  const { version } = await publishRunbook(engine, { yaml, publishedBy: ACTOR })
  io.out(`Published ${basename(RUNBOOK_FILE)} as version ${version}.`)
  const { batchId } = await createBatch(engine, {
    runbookName: runbook.name,
    sourceTime: startTime,
    members,
    createdBy: ACTOR,
  })
  io.out(
    `Created batch ${batchId} with the ${members.length} members of ${basename(MEMBERS_FILE)}.`,
  )
  return batchId
}

const moverOf = ({ data }: MemberRow): DemoUser => data as unknown as DemoUser

function servicesOf(
  engine: Engine,
  bus: Bus,
  clock: Clock,
  { target, source }: DemoTenants,
  onError: (error: unknown) => void,
): Service[] {
  const gathering = gatheringBus(bus)
  const workerFor = (workerId: string, tenant: Tenant) =>
    new Worker({
      workerId,
      version: manifest.version,
      bus: gathering,
      clock,
      tenant,
      functions: STANDARD_FUNCTIONS,
      maxParallelism: WORKER_SLOTS,
      // Whoever stops the demonstration wants it to stop.
      drainMs: 0,
      onError,
    })
  return [
    makeOrchestrator({ engine, bus, clock, chunk: CHUNK, onError }),
    workerFor(TARGET_WORKER, target),
    workerFor(SOURCE_WORKER, source),
  ]
}

/** A worker sends what it has when it may send again; making it wait makes that more. */
function gatheringBus(bus: Bus): Bus {
  const own = realClock()
  return {
    ...bus,
    publish: async (messages) => {
      await own.wait(GATHER_REAL_MS)
      await bus.publish(messages)
    },
  }
}

function beatsOf(engine: Engine, batchId: number, { startTime, members }: Sample): Beat[] {
  const key = LATE_JOINER.UserPrincipalName
  return [
    {
      at: new Date(+startTime - 2 * DAY_MS),
      play: () => addMembers(engine, batchId, [{ key, data: LATE_JOINER }], ACTOR),
    },
    {
      at: new Date(+startTime - DAY_MS / 2),
      play: async () => {
        const found = await findMembersByKey(engine.db, batchId, [members[LEAVER_ROW]!.key])
        await removeMembers(engine, {
          batchId,
          actor: ACTOR,
          by: 'source',
          reason: 'no longer in the member list',
          memberIds: found.map(({ id }) => id),
        })
      },
    },
  ]
}

function watchOf({ db, batchId }: Demo, { screen }: RunDemoOptions, io: Io): DemoWatcher {
  const source = {
    progress: async () => (await loadProgress(db, batchId))!,
    events: (after: number, limit: number) => listProgressEvents(db, batchId, after, limit),
  }
  return new DemoWatcher(source, io, screen)
}

/** Looks, shows and moves the clock on until the batch has ended, is stuck, or somebody stops it. */
async function follow(demo: Demo, watch: DemoWatcher, interrupted: AbortSignal): Promise<void> {
  const { pace, clock } = demo
  const own = realClock()
  const beganMs = +own.now()
  while (!interrupted.aborted) {
    const progress = await watch.refresh()
    const isSkipping = await moveOn(demo, progress)
    const realMs = +own.now() - beganMs
    watch.show(clock.now(), realMs, pace.clockFactor, isSkipping)
    const isOver = isBatchEnded(progress.batch.status) || progress.batch.heldReason !== null
    if (isOver || realMs > pace.limitMs) return
    await own.wait(pace.frameMs, interrupted)
  }
}

/** Plays what is due of the story; when nothing at all is to be done, moves the clock towards the next thing. */
async function moveOn(demo: Demo, progress: Progress): Promise<boolean> {
  const { clock, beats, pace } = demo
  if (beats[0] && beats[0].at <= clock.now()) {
    await beats.shift()!.play()
    return false
  }
  const quietUntil = await quietUntilOf(demo)
  if (quietUntil === null || isBatchEnded(progress.batch.status)) return false
  const next = Math.min(+quietUntil, +(beats[0]?.at ?? quietUntil))
  const skipMs = Math.min(next - +clock.now(), pace.strideMs)
  if (skipMs > 0) clock.skip(skipMs)
  return skipMs > 0
}

/** The bus is asked first: a message handled in between leaves a wait behind, which the second query then finds. */
async function quietUntilOf({ bus, db }: Demo): Promise<Date | null> {
  const { messages } = await bus.depth()
  return messages.every(({ count }) => count === 0) ? findQuietUntil(db) : null
}

async function sayEnding(
  demo: Demo,
  watch: DemoWatcher,
  { screen }: RunDemoOptions,
  io: Io,
): Promise<void> {
  const { db, clock, batchId, beganAt, errors, membersExpected, tenants } = demo
  const virtualMs = +clock.now() - +beganAt
  const broken = await findBroken(db, clock.now(), batchId)
  const ending = {
    progress: await watch.refresh(),
    tally: watch.tally,
    failures: watch.failures,
    membersExpected,
    failuresExpected: TROUBLED_COUNT,
    leaversExpected: 1,
    faultReport: tenants.faultReport(),
    invariantsChecked: INVARIANTS.length,
    invariantsBroken: broken.map(({ id, sentence, found }) => `${id} ${sentence}: ${found}`),
    errors,
    realMs: MACHINE.steadyMs(),
    virtualMs,
  }
  io.out('')
  for (const line of summaryLines(ending, screen?.width ?? SUMMARY_WIDTH, io.paint)) io.out(line)
  io.exitCode = unexpectedOutcomes(ending).length === 0 ? EXIT.ok : EXIT.failed
}

const SUMMARY_WIDTH = 120

function sayInterrupted({ progress, tally }: DemoWatcher, io: Io): void {
  io.out('')
  for (const line of interruptedLines(progress, tally)) io.out(line)
  io.exitCode = EXIT.failed
}
