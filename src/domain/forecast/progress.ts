// A batch's progress, from stored counters and from events as they are read. Nothing here counts rows.
import { type Batch, openSteps, type Phase, type StepKind, sumSteps } from '../state/facts.ts'
import { STEP_STATUSES } from '../state/transitions.ts'

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
  /** In order of time. */
  readonly phases: readonly Phase[]
  /** Estimated ends of running phases, by id. */
  readonly ends: ReadonlyMap<number, Date>
}

/** An event, with the names of its member, phase and step. */
export interface ProgressEvent {
  readonly id: number
  readonly at: Date
  readonly entity: string
  readonly event: string
  readonly because: string
  readonly actor: string
  readonly memberKey: string | null
  readonly phaseName: string | null
  readonly stepName: string | null
  readonly stepKind: StepKind | null
}

export const membersOf = ({ batch }: Progress): number =>
  batch.membersActive + batch.membersFailed + batch.membersRemoved

/** Members who are not done with the phase. */
export const openIn = ({ members }: Phase): number =>
  members.total - members.passed - members.failed - members.stopped - members.removed

export function stepsIn(phase: Phase): { readonly total: number; readonly ended: number } {
  const total = sumSteps(phase.steps, STEP_STATUSES)
  return { total, ended: total - openSteps(phase) }
}

export interface Tally {
  /** Without polls. */
  readonly jobs: number
  readonly retries: number
  /** Counted in the steps: most leave no event. */
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

export function tallyEvents(before: Tally, added: readonly ProgressEvent[]): Tally {
  const of = (...events: readonly string[]) =>
    added.filter(({ entity, event }) => entity === 'step' && events.includes(event)).length
  return {
    ...before,
    jobs: before.jobs + of('dispatch'),
    retries: before.retries + of('retry'),
    rollbacksBegun: before.rollbacksBegun + of('rollback_begun'),
    rolledBack: before.rolledBack + of('roll_back'),
  }
}
