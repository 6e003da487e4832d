// One tick of one runbook: ask its source, compare, do. However many schedulers run, one of them has the lease and every
// transaction proves it; one that dies leaves a lease that runs out and a changes that the next tick makes again. A source that fails
// fails alone: its sentence stands at the runbook until a good tick, and nobody's membership changes.
import { findActiveRunbook } from '../db/runbooks.ts'
import {
  endTick,
  forgetOldTicks,
  insertTick,
  isStillAsked,
  releaseLease,
  renewLease,
  type TickEnd,
  type TickLease,
  takeLease,
} from '../db/ticks.ts'
import type { IssueList } from '../domain/detection/rows.ts'
import type { Engine } from '../engine/engine.ts'
import { fencedEngine } from '../engine/engine.ts'
import {
  type AppliedChanges,
  applyChanges,
  failureText,
  recordTick,
} from '../engine/tick-changes.ts'
import { type ErrorCode, MatoolkitError, messageOf } from '../errors.ts'
import { type Detection, detect } from './detection.ts'
import type { SourceAccess } from './reading.ts'

/** On top of what the query may take: for what is done with its result, renewed by every transaction of that. */
const LEASE_MARGIN_MS = 2 * 60_000

export interface TickOptions {
  readonly engine: Engine
  readonly sources: SourceAccess
  readonly intervalMs: number
  /** A name for this tick that nobody else has. */
  readonly newToken: () => string
  /** Who asked: the scheduler's clock, or a person. */
  readonly startedBy: string
  /** A person need not wait until it is due. */
  readonly evenIfNotDue: boolean
}

export interface TickReport {
  readonly runbookName: string
  readonly outcome: 'good' | 'failed' | 'abandoned'
  readonly counts: Readonly<Record<string, number>>
  readonly error: string | null
}

interface Begun {
  readonly tickId: number
  readonly name: string
  readonly version: number
  readonly startedAt: Date
  readonly lease: TickLease
}

/** Null when another scheduler is at it, or when it is not due any more. */
export async function tick(
  options: TickOptions,
  runbookName: string,
  stopping: AbortSignal,
): Promise<TickReport | null> {
  const begun = await begin(options, runbookName)
  if (!begun) return null
  const end = await askAndDo(options, begun, stopping).catch((error: unknown) => {
    if (hasCode(error, 'TICK_TAKEN_OVER')) throw error
    return failedEnd(error, stopping)
  })
  await finish(options, begun, end, stopping)
  return reportOf(begun, end)
}

const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof MatoolkitError && error.code === code

function failedEnd(error: unknown, stopping: AbortSignal): TickEnd {
  const isAbandoned = stopping.aborted || hasCode(error, 'TICK_OUTDATED')
  return {
    outcome: isAbandoned ? 'abandoned' : 'failed',
    rowCount: null,
    groupCount: null,
    counts: {},
    error: isAbandoned ? null : messageOf(error),
  }
}

const reportOf = ({ name }: Begun, { outcome, counts, error }: TickEnd): TickReport => ({
  runbookName: name,
  outcome,
  counts: counts as TickReport['counts'],
  error,
})

const leaseEnd = ({ engine, sources }: TickOptions): Date =>
  new Date(+engine.clock.now() + sources.settings.timeoutMs + LEASE_MARGIN_MS)

async function begin(options: TickOptions, runbookName: string): Promise<Begun | null> {
  const { engine, newToken, startedBy, evenIfNotDue } = options
  const startedAt = engine.clock.now()
  const lease = { runbookName, token: newToken(), until: leaseEnd(options) }
  return engine.db.transaction(async (tx) => {
    const published = await findActiveRunbook(tx, runbookName)
    if (!published) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: runbookName })
    const { name, version } = published
    if (!(await isStillAsked(tx, name, version)))
      throw new MatoolkitError('AUTOMATION_OFF', { name })
    if (!(await takeLease(tx, lease, startedAt, { evenIfNotDue }))) return null
    const tickId = await insertTick(tx, { runbookName: name, version, startedBy }, startedAt)
    return { tickId, name, version, startedAt, lease }
  })
}

async function askAndDo(
  options: TickOptions,
  begun: Begun,
  stopping: AbortSignal,
): Promise<TickEnd> {
  const { engine, sources } = options
  const { name, version, tickId, startedAt } = begun
  const runbook = await engine.runbooks.get(engine.db, name, version)
  const detection = await detect({ db: engine.db, sources, runbook, now: startedAt, stopping })
  const { reading, changes, absences } = detection
  const ours = fence(options, begun)
  const issues = issuesOf(detection)
  const { dataOf } = reading
  const work = { runbookName: name, tickId, changes, dataOf, absences, issues: issues.first }
  await recordTick(ours, work)
  const done = await applyChanges(ours, work)
  const failures = done.failures.length
  return {
    outcome: failures === 0 ? 'good' : 'failed',
    rowCount: reading.rowCount,
    groupCount: reading.found.groups.size,
    counts: countsOf(detection, done, issues.total),
    error: failures === 0 ? null : `${failures} change(s) failed: ${failureText(done.failures)}`,
  }
}

/** The lease is still ours, and what we were told to ask is still what is asked for: else the result is nobody's. */
function fence(options: TickOptions, { lease, name, version }: Begun): Engine {
  return fencedEngine(options.engine, async (tx) => {
    if (!(await renewLease(tx, { ...lease, until: leaseEnd(options) })))
      throw new MatoolkitError('TICK_TAKEN_OVER', { name })
    if (!(await isStillAsked(tx, name, version)))
      throw new MatoolkitError('TICK_OUTDATED', { name })
  })
}

function issuesOf({ reading, changes }: Detection): IssueList {
  reading.issues.addAll(changes.issues)
  return reading.issues
}

function countsOf(
  { changes }: Detection,
  done: AppliedChanges,
  issues: number,
): Record<string, number> {
  const { failures, ...did } = done
  const missing = [...changes.absences.values()].filter((missed) => missed === 1).length
  const all = { ...did, missing, failures: failures.length, issues }
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0))
}

/** One that was stopped is due again at once: another scheduler may be there to make it. */
async function finish(
  options: TickOptions,
  begun: Begun,
  end: TickEnd,
  stopping: AbortSignal,
): Promise<void> {
  const { engine, intervalMs } = options
  const now = engine.clock.now()
  const { lease, tickId, name, startedAt } = begun
  await engine.db.transaction(async (tx) => {
    if (!(await renewLease(tx, lease))) throw new MatoolkitError('TICK_TAKEN_OVER', { name })
    await endTick(tx, tickId, name, end, now)
    await forgetOldTicks(tx, name, now)
    const dueAt = stopping.aborted ? now : new Date(+startedAt + intervalMs)
    await releaseLease(tx, lease, dueAt)
  })
}
