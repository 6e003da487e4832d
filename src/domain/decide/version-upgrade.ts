// What a published version means for an unfinished batch: which phases are replaced, rerun, skipped or kept, and whether init reruns.
// Decided by phase names and as of the time of publishing, so that the publisher's answer is what happens later. Nothing that has begun
// is taken away.

import type { Gate, Runbook } from '../runbook/read.ts'
import type { Batch, Phase } from '../state/facts.ts'
import type { PhaseStatus } from '../state/transitions.ts'
import { dueAt } from './lifecycle.ts'
import { hasBegun } from './next.ts'

/** A version, and what its publisher decided about unfinished batches. */
export interface Publication {
  readonly version: number
  readonly publishedAt: Date
  readonly publishedBy: string
  /** Phases whose time has passed stay as they are, or run (again). */
  readonly overdueBehavior: 'ignore' | 'rerun'
  readonly rerunInit: boolean
}

/** Timers start phases within two seconds. Without this margin a version published in the second of a cut-over would skip it. */
export const OVERDUE_AFTER_SEC = 30

/**
 * pending: starts at its time, or at once when that has passed. skipped: overdue. carried_over: has begun and is kept. rerun: has
 * ended and runs again. dropped: had not begun, and the version no longer has it.
 */
export type PhaseOutcome = 'pending' | 'skipped' | 'carried_over' | 'rerun' | 'dropped'

/** new: has not begun and will be the new version's. carried_over: has begun or ended and is kept. */
export type InitOutcome = 'none' | 'new' | 'carried_over' | 'rerun'

export interface PhaseToCreate {
  readonly name: string
  readonly index: number
  readonly offsetMinutes: number
  readonly dueAt: Date | null
  readonly isOverdue: boolean
  readonly gate: Gate | null
  readonly rampPercents: readonly number[] | null
}

export type PhaseSummary = Pick<
  Phase,
  | 'name'
  | 'index'
  | 'offsetMinutes'
  | 'runbookVersion'
  | 'dueAt'
  | 'status'
  | 'skippedBecause'
  | 'gate'
  | 'rampPercents'
  | 'dispatchedAt'
>

export interface PhaseUpgrade<P extends PhaseSummary = Phase> {
  readonly name: string
  readonly outcome: PhaseOutcome
  /** Its status before; null when the batch had no such phase. */
  readonly from: PhaseStatus | null
  /** When it is or was due; null in a manual batch. */
  readonly dueAt: Date | null
  readonly because: string
  /** The pending row that it replaces. */
  readonly supersedes: P | null
  readonly creates: PhaseToCreate | null
}

export interface VersionUpgrade<P extends PhaseSummary = Phase> {
  readonly publication: Publication
  /** In the order of the new version's file; then those that it dropped. */
  readonly phases: readonly PhaseUpgrade<P>[]
  readonly init: InitOutcome
}

type BatchSummary = Pick<Batch, 'status' | 'isManual' | 'startTime'>

/** What the upgrade will do to the batch. `phases` are all of its rows. */
export function planUpgrade<P extends PhaseSummary>(
  batch: BatchSummary,
  phases: readonly P[],
  runbook: Runbook,
  publication: Publication,
): VersionUpgrade<P> {
  const rows = Map.groupBy(
    phases.filter(({ status }) => status !== 'superseded'),
    ({ name }) => name.toLowerCase(),
  )
  const named = runbook.phases.map(({ name, offsetMinutes, gate, ramp }, index) => {
    const due =
      batch.isManual || batch.startTime === null ? null : dueAt(batch.startTime, offsetMinutes)
    const guards = { gate, rampPercents: ramp?.percents ?? null }
    const planned = { name, index, offsetMinutes, dueAt: due, isOverdue: false, ...guards }
    const isPast = due ? isOverdue(due, publication) : isBehindOthers(offsetMinutes, phases)
    return outcomeOf(rows.get(name.toLowerCase()) ?? [], planned, isPast, publication)
  })
  const names = new Set(runbook.phases.map(({ name }) => name.toLowerCase()))
  const dropped = [...rows].filter(([name]) => !names.has(name))
  return {
    publication,
    phases: [
      ...named,
      ...dropped.flatMap(([, sameName]) => outcomeOfDropped(sameName, publication)),
    ],
    init: initOutcome(batch, runbook, publication),
  }
}

const isOverdue = (due: Date, { publishedAt }: Publication): boolean =>
  +due + OVERDUE_AFTER_SEC * 1000 < +publishedAt

/** A manual batch has no times: a phase is overdue when a later one has begun. Left pending it would block every member. */
const isBehindOthers = (offsetMinutes: number, phases: readonly PhaseSummary[]): boolean =>
  phases.some((phase) => hasBegun(phase) && phase.offsetMinutes < offsetMinutes)

/** The newest row that has begun, and the newest that has not. */
function split<P extends PhaseSummary>(rows: readonly P[]): { begun: P | null; waiting: P | null } {
  const newest = (phases: readonly P[]) =>
    phases.reduce<P | null>(
      (a, b) => (a === null || a.runbookVersion < b.runbookVersion ? b : a),
      null,
    )
  return {
    begun: newest(rows.filter((phase) => hasBegun(phase))),
    waiting: newest(rows.filter((phase) => !hasBegun(phase))),
  }
}

const pendingOf = <P extends PhaseSummary>(phase: P | null): P | null =>
  phase?.status === 'pending' ? phase : null

function outcomeOf<P extends PhaseSummary>(
  rows: readonly P[],
  planned: PhaseToCreate,
  isPast: boolean,
  { overdueBehavior }: Publication,
): PhaseUpgrade<P> {
  const { begun, waiting } = split(rows)
  const supersedes = pendingOf(waiting)
  const when = planned.dueAt === null ? 'advanced by hand' : `due at ${sayTime(planned.dueAt)}`
  const about = { name: planned.name, from: (begun ?? waiting)?.status ?? null, supersedes }
  if (begun && (begun.status === 'dispatched' || overdueBehavior === 'ignore')) {
    const because = `it is ${begun.status} and is kept`
    return { ...about, outcome: 'carried_over', dueAt: begun.dueAt, because, creates: null }
  }
  const made = { ...about, dueAt: planned.dueAt }
  if (begun) {
    const because = `it is ${begun.status} and runs again for the active members, ${when}`
    return { ...made, outcome: 'rerun', because, creates: planned }
  }
  if (!isPast || overdueBehavior === 'rerun') {
    const late = isPast && planned.dueAt ? ' and starts late' : ''
    return { ...made, outcome: 'pending', because: `${when}${late}`, creates: planned }
  }
  const isOutAlready = waiting?.skippedBecause === 'overdue'
  const because =
    planned.dueAt === null ? 'a later phase has begun' : `it was ${when} and has not begun`
  const creates = isOutAlready ? null : { ...planned, isOverdue: true }
  return { ...made, outcome: 'skipped', because, creates }
}

/** A phase that the version dropped: kept if it has begun. */
function outcomeOfDropped<P extends PhaseSummary>(
  rows: readonly P[],
  { version }: Publication,
): PhaseUpgrade<P>[] {
  const { begun, waiting } = split(rows)
  const supersedes = pendingOf(waiting)
  const row = begun ?? supersedes
  if (!row) return []
  const { name, status: from, dueAt: due } = row
  const about = { name, from, dueAt: due, supersedes, creates: null }
  const missing = `version ${version} no longer has it`
  return begun
    ? [{ ...about, outcome: 'carried_over', because: `${missing}; it is ${from} and is kept` }]
    : [{ ...about, outcome: 'dropped', because: missing }]
}

function initOutcome(
  { status }: BatchSummary,
  { init }: Runbook,
  { rerunInit }: Publication,
): InitOutcome {
  if (status === 'detected') return init.length > 0 ? 'new' : 'none'
  return rerunInit && init.length > 0 ? 'rerun' : 'carried_over'
}

/** The event's sentence: both versions, the publisher, and each phase's outcome. */
export function describeUpgrade(
  from: number,
  { publication, phases, init }: VersionUpgrade<PhaseSummary>,
): string {
  const { version, publishedBy } = publication
  const outcomes = phases.map(({ name, outcome }) => `${name} ${outcome.replace('_', ' ')}`)
  const again = init === 'rerun' ? ['init rerun'] : []
  return `from version ${from} to ${version}, published by ${publishedBy}: ${[...again, ...outcomes].join(', ')}`
}

const sayTime = (time: Date): string => time.toISOString()
