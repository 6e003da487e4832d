// Schedulers of the simulated world: the real tick over a faulty database and a faulty source. During the query and between any two
// transactions others interrupt: a new version, the automation switch, an operator, the other scheduler; or the scheduler itself
// pauses past its lease without noticing.

import { type ErrorCode, MatoolkitError, messageOf } from '../../../src/base/errors/errors.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import type { SourceRow } from '../../../src/domain/sources/source-values.ts'
import type { TickReport } from '../../../src/domain/sources/tick-report.ts'
import { setAutomation } from '../../../src/engine/orders/automation.ts'
import { type SchedulerOptions, tickDueRunbooks } from '../../../src/scheduler/scheduler.ts'
import type { OpenSource } from '../../../src/scheduler/sources/source.ts'
import { tick } from '../../../src/scheduler/tick.ts'
import { startOffice } from './office.ts'
import { ask, askAnything, type OperatorState } from './operators.ts'
import { makeProcess, type Process } from './process.ts'
import { type Answer, answerOf, COLUMNS, note, rowsNow, type SimulatedSource } from './source.ts'
import { lookAtChanges } from './source-checks.ts'
import { attempt, connect, type World } from './world.ts'

export interface Scheduler {
  readonly process: Process
  readonly options: SchedulerOptions
  /** Read to its end, and not recorded yet. */
  unbooked: Answer | null
  /** The answer that this tick uses. */
  answer: Answer | null
}

/** The source, and its schedulers. */
export interface Programme {
  readonly source: SimulatedSource
  readonly operators: OperatorState
  readonly schedulers: Scheduler[]
  readonly reports: TickReport[]
  /** The engine's last event whose cause was checked. */
  lastLooked: number
  /** Set during an interruption, which is not interrupted itself. */
  isInterrupted: boolean
}

const SCHEDULERS = 2
export const INTERVAL_MS = 5 * 60_000
const TIMEOUT_MS = 60_000
/** Longer than the source's time limit plus the margin for applying its result. */
export const PAST_LEASE_MS = 4 * 60_000

/** What a healthy tick may report. */
const EXPECTED: readonly ErrorCode[] = ['TICK_TAKEN_OVER', 'AUTOMATION_OFF']
const SIMULATED = /simulated/

export function startSchedulers(
  world: World,
  source: SimulatedSource,
  operators: OperatorState,
): Programme {
  const programme: Programme = {
    source,
    operators,
    schedulers: [],
    reports: [],
    lastLooked: 0,
    isInterrupted: false,
  }
  for (let place = 0; place < SCHEDULERS; place++)
    programme.schedulers.push(startScheduler(world, programme, place))
  return programme
}

function startScheduler(world: World, programme: Programme, place: number): Scheduler {
  const process = makeProcess(`scheduler ${place + 1}`)
  const { clock, chance } = world
  const watched = { ...world, processDb: watchedDb(world, programme, () => scheduler) }
  const { engine } = connect(watched, process)
  const settings = {
    connection: () => undefined,
    clock,
    tokens: { get: () => Promise.reject(new Error('a simulated source needs no token')) },
    folder: null,
    timeoutMs: TIMEOUT_MS,
  }
  const options: SchedulerOptions = {
    engine,
    clock,
    sources: { settings, open: openFor(world, programme, () => scheduler) },
    intervalMs: INTERVAL_MS,
    lanes: 1,
    newToken: chance.uuid,
    onTick: (report) => takeReport(world, programme, process, report),
    onError: (error) => {
      if (!isExpected(error)) throw error
      world.log.push(`  ${process.name}: ${messageOf(error)}`)
    },
  }
  const scheduler: Scheduler = { process, options, unbooked: null, answer: null }
  return scheduler
}

const isExpected = (error: unknown): boolean =>
  SIMULATED.test(messageOf(error)) ||
  (error instanceof MatoolkitError && EXPECTED.includes(error.code))

function takeReport(
  { log, found }: World,
  { reports, source }: Programme,
  { name }: Process,
  report: TickReport,
): void {
  const { outcome, counts, error } = report
  reports.push(report)
  for (const what of [outcome, ...Object.keys(counts)]) note(source, `tick: ${what}`)
  log.push(`  ${name}: ${outcome} ${JSON.stringify(counts)} ${error ?? ''}`)
  if (error !== null && !SIMULATED.test(error)) found.push(`R17: a tick failed: ${error}`)
}

/** Sees what is committed, whatever answer the process gets. */
function watchedDb(world: World, programme: Programme, self: () => Scheduler): Db {
  const { db } = world
  return {
    ...db,
    transaction: async (work) => {
      const scheduler = self()
      await betweenTransactions(world, programme, scheduler)
      const { unbooked } = scheduler
      scheduler.unbooked = null
      // The first transaction after the answer records it. If that fails, or the tick failed earlier and only reports so, the
      // answer is unused.
      const result = await world.processDb.transaction(work)
      if (unbooked && !(await hasTickEnded(db))) {
        scheduler.answer = unbooked
        programme.source.answers.push(unbooked)
      }
      await lookAtChanges(world, programme, scheduler)
      return result
    },
  }
}

async function hasTickEnded(db: Db): Promise<boolean> {
  const [last] = await db.query<{ outcome: string }>(
    'select outcome from source_ticks order by id desc limit 1',
  )
  return last!.outcome !== 'running'
}

async function betweenTransactions(
  world: World,
  programme: Programme,
  scheduler: Scheduler,
): Promise<void> {
  if (!scheduler.unbooked && !scheduler.answer) return
  await interrupt(programme, async () => {
    if (world.faults.strikes('scheduler stalled past its lease')) {
      world.clock.turn(PAST_LEASE_MS)
      await tickAs(world, programme, other(programme, scheduler), 'by hand')
    }
    if (world.faults.strikes('operator between two transactions of a tick'))
      await askAnything(world, programme.operators)
  })
}

async function interrupt(programme: Programme, work: () => Promise<void>): Promise<void> {
  if (programme.isInterrupted) return
  programme.isInterrupted = true
  try {
    await work()
  } finally {
    programme.isInterrupted = false
  }
}

const other = ({ schedulers }: Programme, one: Scheduler): number =>
  schedulers.findIndex((scheduler) => scheduler !== one)

function openFor(world: World, programme: Programme, self: () => Scheduler): OpenSource {
  return async () => {
    const { faults, clock } = world
    const scheduler = self()
    const rows = whatItSays(world, programme)
    await interrupt(programme, () => meanwhile(world, programme, scheduler))
    const source = 'simulated source'
    if (faults.strikes('source failed'))
      throw new MatoolkitError('SOURCE_UNREACHABLE', {
        source,
        reason: 'it is down',
        reach: 'its network',
      })
    if (faults.strikes('source past its time limit')) {
      clock.turn(TIMEOUT_MS)
      throw new MatoolkitError('SOURCE_TIMED_OUT', { source, seconds: TIMEOUT_MS / 1_000 })
    }
    const isCut = faults.strikes('source result cut short')
    return {
      columns: COLUMNS.map((name) => ({ name, type: 'text' as const })),
      rows: (async function* () {
        const half = Math.floor(rows.length / 2)
        yield rows.slice(0, half)
        if (isCut)
          throw new MatoolkitError('SOURCE_DROPPED', { source, rows: half, reason: 'it was cut' })
        yield rows.slice(half)
        scheduler.unbooked = answerOf(rows)
      })(),
      close: async () => {},
    }
  }
}

function whatItSays({ faults }: World, { source }: Programme): SourceRow[] {
  const rows = rowsNow(source)
  if (faults.strikes('source empty')) return []
  if (!faults.strikes('source flickered')) return rows
  const left = source.chance.fraction()
  return rows.filter(() => source.chance.happens(left))
}

/** Interruptions while a query runs. */
async function meanwhile(world: World, programme: Programme, scheduler: Scheduler): Promise<void> {
  const { faults } = world
  if (faults.strikes('version published while the source was asked'))
    await ask(world, programme.operators, 'publish')
  if (faults.strikes('automation switched while the source was asked'))
    await switchAutomation(world, programme.source.chance.happens(0.5))
  if (!faults.strikes('second scheduler while the source was asked')) return
  const before = programme.reports.length
  await tickAs(world, programme, other(programme, scheduler), 'by hand')
  if (programme.reports.length > before)
    world.found.push('R16: two schedulers ticked the same runbook at once')
}

/** One tick as the scheduler of that place, which is replaced when it crashes. */
export async function tickAs(
  world: World,
  programme: Programme,
  place: number,
  how: 'by hand' | 'when due',
): Promise<void> {
  const scheduler = programme.schedulers[place]!
  const { process, options } = scheduler
  scheduler.unbooked = null
  scheduler.answer = null
  const { signal } = new AbortController()
  const end = await attempt(world, process, async () => {
    if (how === 'when due') return tickDueRunbooks(options, signal)
    const byHand = { ...options, startedBy: 'operator', evenIfNotDue: true }
    try {
      const report = await tick(byHand, programme.operators.shape.name, signal)
      if (report) options.onTick(report)
    } catch (error) {
      options.onError(error)
    }
  })
  if (end === 'crashed') programme.schedulers[place] = startScheduler(world, programme, place)
}

export async function switchAutomation(world: World, isEnabled: boolean): Promise<boolean> {
  const { process, engine } = world.office
  const order = { runbookName: 'wave', isEnabled, actor: 'operator' }
  const end = await attempt(world, process, () => setAutomation(engine, order))
  if (end === 'crashed') startOffice(world)
  if (end === 'done') world.log.push(`  automation ${isEnabled ? 'on' : 'off'}`)
  return end === 'done'
}
