// One tick of one runbook: query its source, compare, apply the changes. One scheduler has the lease, and every transaction
// proves it; after a crash the lease expires and the next tick computes its changes afresh. A failing source fails alone: its
// reason shows on the runbook until a good tick, and no membership changes.

import { type ErrorCode, MatoolkitError } from '../base/errors/errors.ts'
import { safeReasonOf } from '../base/log/redact.ts'
import { countText } from '../base/text/count-text.ts'
import type { Tx } from '../db/connection/db.ts'
import {
  endTick,
  forgetOldTicks,
  insertTick,
  isStillAutomated,
  releaseLease,
  renewLease,
  type TickEnd,
  type TickLease,
  takeLease,
} from '../db/sources/ticks.ts'
import { insertEvents } from '../db/state/changes.ts'
import { findActiveRunbook } from '../db/state/runbooks.ts'
import { listWaiting } from '../db/views/waiting.ts'
import { needEvent, sourceNeed } from '../domain/needs/from-sources.ts'
import { batchIdOf, type Need, newNeeds } from '../domain/needs/needs.ts'
import type { IssueList } from '../domain/sources/row-collector.ts'
import type { TickReport } from '../domain/sources/tick-report.ts'
import { eventRecord } from '../domain/state/event-record.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import { fencedEngine } from '../engine/transactions/engine.ts'
import { type Detection, detect } from './detection.ts'
import type { SourceAccess } from './sources/source.ts'
import { type AppliedChanges, applyChanges, failureText, recordTick } from './tick-changes.ts'

/** On top of the query's timeout, for applying its result; each of those transactions renews the lease. */
const LEASE_MARGIN_MS = 2 * 60_000
const ACTOR = 'scheduler'

export interface TickOptions {
  readonly engine: Engine
  readonly sources: SourceAccess
  readonly intervalMs: number
  /** A unique token for this tick's lease. */
  readonly newToken: () => string
  /** The scheduler or a person. */
  readonly startedBy: string
  /** True for a person, who need not wait until it is due. */
  readonly evenIfNotDue: boolean
}

interface StartedTick {
  readonly tickId: number
  readonly name: string
  readonly version: number
  readonly startedAt: Date
  readonly lease: TickLease
  /** What waited for a person before the tick. */
  readonly needs: readonly Need[]
}

/** Null when another scheduler has the lease, or when it is no longer due. */
export async function tick(
  options: TickOptions,
  runbookName: string,
  stopping: AbortSignal,
): Promise<TickReport | null> {
  const started = await begin(options, runbookName)
  if (!started) return null
  const end = await detectAndApply(options, started, stopping).catch((error: unknown) => {
    if (hasCode(error, 'TICK_TAKEN_OVER')) throw error
    return failedEnd(error, stopping)
  })
  const needs = await finish(options, started, end, stopping)
  return reportOf(started, end, needs)
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
    error: isAbandoned ? null : safeReasonOf(error),
  }
}

const reportOf = (
  { name, needs: before }: StartedTick,
  { outcome, counts, error }: TickEnd,
  after: readonly Need[],
): TickReport => ({
  runbookName: name,
  outcome,
  counts: counts as TickReport['counts'],
  error,
  needs: after,
  news: newNeeds(before, after),
})

const leaseEnd = ({ engine, sources }: TickOptions): Date =>
  new Date(+engine.clock.now() + sources.settings.timeoutMs + LEASE_MARGIN_MS)

async function begin(options: TickOptions, runbookName: string): Promise<StartedTick | null> {
  const { engine, newToken, startedBy, evenIfNotDue } = options
  const startedAt = engine.clock.now()
  const lease = { runbookName, token: newToken(), until: leaseEnd(options) }
  return engine.db.transaction(async (tx) => {
    const published = await findActiveRunbook(tx, runbookName)
    if (!published) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: runbookName })
    const { name, version } = published
    if (!(await isStillAutomated(tx, name, version)))
      throw new MatoolkitError('AUTOMATION_OFF', { name })
    if (!(await takeLease(tx, lease, startedAt, { evenIfNotDue }))) return null
    const tickId = await insertTick(tx, { runbookName: name, version, startedBy }, startedAt)
    const needs = await needsOf(tx, name, startedAt)
    return { tickId, name, version, startedAt, lease, needs }
  })
}

async function detectAndApply(
  options: TickOptions,
  started: StartedTick,
  stopping: AbortSignal,
): Promise<TickEnd> {
  const { engine, sources } = options
  const { name, version, tickId, startedAt } = started
  const runbook = await engine.runbooks.get(engine.db, name, version)
  const detection = await detect({ db: engine.db, sources, runbook, now: startedAt, stopping })
  const { reading, changes, absences } = detection
  const fencedByLease = fence(options, started)
  const issues = issuesOf(detection)
  const { texts } = reading
  const work = { runbookName: name, tickId, changes, texts, absences, issues: issues.first }
  await recordTick(fencedByLease, work)
  const applied = await applyChanges(fencedByLease, work)
  const failures = applied.failures.length
  return {
    outcome: failures === 0 ? 'good' : 'failed',
    rowCount: reading.rowCount,
    groupCount: reading.found.groups.size,
    counts: countsOf(detection, applied, issues.total),
    error:
      failures === 0
        ? null
        : `${countText(failures, 'change')} failed: ${failureText(applied.failures)}`,
  }
}

/** Throws when the lease is lost or the runbook no longer wants this tick: then its result must not be used. */
function fence(options: TickOptions, { lease, name, version }: StartedTick): Engine {
  return fencedEngine(options.engine, async (tx) => {
    if (!(await renewLease(tx, { ...lease, until: leaseEnd(options) })))
      throw new MatoolkitError('TICK_TAKEN_OVER', { name })
    if (!(await isStillAutomated(tx, name, version)))
      throw new MatoolkitError('TICK_OUTDATED', { name })
  })
}

function issuesOf({ reading, changes }: Detection): IssueList {
  reading.issues.addAll(changes.issues)
  return reading.issues
}

function countsOf(
  { changes }: Detection,
  applied: AppliedChanges,
  issues: number,
): Record<string, number> {
  const { failures, ...counts } = applied
  const missing = [...changes.absences.values()].filter((missed) => missed === 1).length
  const all = { ...counts, missing, failures: failures.length, issues }
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0))
}

/** A stopped tick is due again at once, for another scheduler. */
async function finish(
  options: TickOptions,
  started: StartedTick,
  end: TickEnd,
  stopping: AbortSignal,
): Promise<readonly Need[]> {
  const { engine, intervalMs } = options
  const now = engine.clock.now()
  const { lease, tickId, name, startedAt } = started
  return engine.db.transaction(async (tx) => {
    if (!(await renewLease(tx, lease))) throw new MatoolkitError('TICK_TAKEN_OVER', { name })
    await endTick(tx, tickId, name, end, now)
    await forgetOldTicks(tx, name, now)
    const dueAt = stopping.aborted ? now : new Date(+startedAt + intervalMs)
    await releaseLease(tx, lease, dueAt)
    const needs = await needsOf(tx, name, now)
    await recordNews(tx, started, needs, now)
    return needs
  })
}

/** Reviews, a failing source, rows left out. */
const needsOf = async (tx: Tx, runbookName: string, now: Date): Promise<Need[]> =>
  (await listWaiting(tx, { runbookName })).map((item) => sourceNeed(item, now))

/** One event per change, on the batch it concerns, so that nothing waits unseen. */
async function recordNews(
  tx: Tx,
  { name, needs: before }: StartedTick,
  after: readonly Need[],
  now: Date,
): Promise<void> {
  for (const need of newNeeds(before, after))
    await insertEvents(tx, batchIdOf(need), now, ACTOR, [needEvent(need)])
  const isFailing = (items: readonly Need[]) => items.some(({ kind }) => kind === 'source_failing')
  if (!isFailing(before) || isFailing(after)) return
  const because = `The source of ${name} answers again`
  await insertEvents(tx, null, now, ACTOR, [eventRecord('runbook', 'source_recovered', because)])
}
