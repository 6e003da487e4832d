// What a newly published version means for a batch that is under way: which of its phases are replaced, done again, left out or
// left alone, and what becomes of init. Decided by the names of the phases and as of the moment of publishing, whenever it is
// carried out: so the answer to the publisher is what will happen. Nothing that has begun is taken away from anybody.
import type { Batch, Phase } from '../facts.ts'
import type { Runbook } from '../runbook/read.ts'
import type { PhaseStatus } from '../transitions.ts'
import { dueAt } from './lifecycle.ts'
import { hasBegun } from './next.ts'

/** A version and what its publisher decided about batches that are under way. */
export interface Publication {
  readonly version: number
  readonly publishedAt: Date
  readonly publishedBy: string
  /** What becomes of phases whose time has passed: left as they are, or done (again). */
  readonly overdueBehavior: 'ignore' | 'rerun'
  readonly rerunInit: boolean
}

/**
 * A phase counts as overdue this long after its time. Timers start phases within two seconds: without this a version published
 * in the very second of a cut-over would leave that cut-over out.
 */
export const OVERDUE_AFTER_SEC = 30

/**
 * pending: to be done at its time, or at once when that has passed. skipped: overdue, left out. carried_over: it has begun and
 * stays as it is. rerun: it was done and is done again. dropped: the version has it no more and nobody began it.
 */
export type PhaseOutcome = 'pending' | 'skipped' | 'carried_over' | 'rerun' | 'dropped'

/** new: not begun, so it will be the new version's. carried_over: begun or done, and stays so. */
export type InitOutcome = 'none' | 'new' | 'carried_over' | 'rerun'

export interface PhaseToCreate {
  readonly name: string
  readonly index: number
  readonly offsetMinutes: number
  readonly dueAt: Date | null
  readonly isOverdue: boolean
}

export type PhaseSummary = Pick<
  Phase,
  'name' | 'index' | 'offsetMinutes' | 'runbookVersion' | 'dueAt' | 'status' | 'skippedBecause'
>

export interface PhaseUpgrade<P extends PhaseSummary = Phase> {
  readonly name: string
  readonly outcome: PhaseOutcome
  /** What it was before; null when the batch had no such phase. */
  readonly from: PhaseStatus | null
  /** When it is or was due; null in a manual batch. */
  readonly dueAt: Date | null
  readonly because: string
  /** The row, not begun, that no longer counts. */
  readonly supersedes: P | null
  readonly creates: PhaseToCreate | null
}

export interface VersionUpgrade<P extends PhaseSummary = Phase> {
  readonly publication: Publication
  /** In the order of the new version's file; then those that it has no more. */
  readonly phases: readonly PhaseUpgrade<P>[]
  readonly init: InitOutcome
}

type BatchLook = Pick<Batch, 'status' | 'isManual' | 'startTime'>

/** What taking the version means for the batch. `phases` are all of its rows. */
export function planUpgrade<P extends PhaseSummary>(
  batch: BatchLook,
  phases: readonly P[],
  runbook: Runbook,
  publication: Publication,
): VersionUpgrade<P> {
  const rows = Map.groupBy(
    phases.filter(({ status }) => status !== 'superseded'),
    ({ name }) => name.toLowerCase(),
  )
  const named = runbook.phases.map(({ name, offsetMinutes }, index) => {
    const due =
      batch.isManual || batch.startTime === null ? null : dueAt(batch.startTime, offsetMinutes)
    const planned = { name, index, offsetMinutes, dueAt: due, isOverdue: false }
    const isPast = due ? isOverdue(due, publication) : isBehindOthers(offsetMinutes, phases)
    return outcomeOf(rows.get(name.toLowerCase()) ?? [], planned, isPast, publication)
  })
  const names = new Set(runbook.phases.map(({ name }) => name.toLowerCase()))
  const gone = [...rows].filter(([name]) => !names.has(name))
  return {
    publication,
    phases: [...named, ...gone.flatMap(([, own]) => outcomeOfGone(own, publication))],
    init: initOutcome(batch, runbook, publication),
  }
}

const isOverdue = (due: Date, { publishedAt }: Publication): boolean =>
  +due + OVERDUE_AFTER_SEC * 1000 < +publishedAt

/** A manual batch has no times: there a phase is overdue when a later one has begun. Left pending it would stop everybody. */
const isBehindOthers = (offsetMinutes: number, phases: readonly PhaseSummary[]): boolean =>
  phases.some((phase) => hasBegun(phase) && phase.offsetMinutes < offsetMinutes)

/** Of the rows of one name: the newest that has begun, and the newest that has not. */
function split<P extends PhaseSummary>(rows: readonly P[]): { begun: P | null; waiting: P | null } {
  const newest = (some: readonly P[]) =>
    some.reduce<P | null>(
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
    const because = `it is ${begun.status} and stays as it is`
    return { ...about, outcome: 'carried_over', dueAt: begun.dueAt, because, creates: null }
  }
  const made = { ...about, dueAt: planned.dueAt }
  if (begun) {
    const because = `it is ${begun.status} and is done again by the active members, ${when}`
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

/** What the new version has no more: done by those who began it, by nobody else. */
function outcomeOfGone<P extends PhaseSummary>(
  rows: readonly P[],
  { version }: Publication,
): PhaseUpgrade<P>[] {
  const { begun, waiting } = split(rows)
  const supersedes = pendingOf(waiting)
  const row = begun ?? supersedes
  if (!row) return []
  const { name, status: from, dueAt: due } = row
  const about = { name, from, dueAt: due, supersedes, creates: null }
  const missing = `version ${version} has it no more`
  return begun
    ? [
        {
          ...about,
          outcome: 'carried_over',
          because: `${missing}; it is ${from} and stays as it is`,
        },
      ]
    : [{ ...about, outcome: 'dropped', because: missing }]
}

function initOutcome(
  { status }: BatchLook,
  { init }: Runbook,
  { rerunInit }: Publication,
): InitOutcome {
  if (status === 'detected') return init.length > 0 ? 'new' : 'none'
  return rerunInit && init.length > 0 ? 'rerun' : 'carried_over'
}

/** One sentence for the timeline: what the batch took up, from whom, and what became of each phase. */
export function describeUpgrade(
  from: number,
  { publication, phases, init }: VersionUpgrade<PhaseSummary>,
): string {
  const { version, publishedBy } = publication
  const said = phases.map(({ name, outcome }) => `${name} ${outcome.replace('_', ' ')}`)
  const again = init === 'rerun' ? ['init rerun'] : []
  return `from version ${from} to ${version}, published by ${publishedBy}: ${[...again, ...said].join(', ')}`
}

const sayTime = (time: Date): string => time.toISOString()
