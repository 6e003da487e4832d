// How far a batch has come, for whoever watches: the stored counters, and the events as they are read one after the other.
// Nothing here counts rows: what is not a counter is added up from events that have been seen.
import { type Batch, countSteps, openSteps, type Phase, type StepKind } from './facts.ts'
import { STEP_STATUSES } from './transitions.ts'

export interface Progress {
  readonly batch: Pick<
    Batch,
    | 'id'
    | 'runbookName'
    | 'status'
    | 'startTime'
    | 'heldReason'
    | 'membersActive'
    | 'membersFailed'
    | 'membersRemoved'
  >
  /** In the order of their time. */
  readonly phases: readonly Phase[]
}

/** An event, with the names of what it is about. */
export interface ProgressEvent {
  readonly id: number
  readonly at: Date
  readonly entity: string
  readonly event: string
  readonly because: string
  readonly memberKey: string | null
  readonly phaseName: string | null
  readonly stepName: string | null
  readonly stepKind: StepKind | null
}

export const membersOf = ({ batch }: Progress): number =>
  batch.membersActive + batch.membersFailed + batch.membersRemoved

/** Members of a phase who are still at it. */
export const openIn = ({ members }: Phase): number =>
  members.total - members.passed - members.failed - members.stopped - members.removed

export function stepsIn(phase: Phase): { readonly total: number; readonly ended: number } {
  const total = countSteps(phase.steps, STEP_STATUSES)
  return { total, ended: total - openSteps(phase) }
}

/** With less than this share of the steps ended, or open, any guess would be wrong: the last few are the slow ones. */
const ESTIMATE_FROM_SHARE = 0.05

/** How long the phase will take from now if its steps go on ending as they did so far; null when that cannot be said. */
export function secondsLeft(phase: Phase, now: Date): number | null {
  const { total, ended } = stepsIn(phase)
  if (phase.dispatchedAt === null || phase.expandedAt === null || ended === 0) return null
  if (Math.min(ended, total - ended) < total * ESTIMATE_FROM_SHARE) return null
  const elapsedSec = (+now - +phase.dispatchedAt) / 1_000
  return (elapsedSec / ended) * (total - ended)
}

export interface Tally {
  readonly jobs: number
  readonly retries: number
  readonly polls: number
  readonly rollbacksBegun: number
  readonly rolledBack: number
}

export const EMPTY_TALLY: Tally = {
  jobs: 0,
  retries: 0,
  polls: 0,
  rollbacksBegun: 0,
  rolledBack: 0,
}

export function tallyEvents(before: Tally, happenings: readonly ProgressEvent[]): Tally {
  const of = (...events: readonly string[]) =>
    happenings.filter(({ entity, event }) => entity === 'step' && events.includes(event)).length
  return {
    jobs: before.jobs + of('dispatch', 'repoll'),
    retries: before.retries + of('retry'),
    polls: before.polls + of('repoll'),
    rollbacksBegun: before.rollbacksBegun + of('rollback_begun'),
    rolledBack: before.rolledBack + of('undone'),
  }
}
