// The table of every legal transition of every entity that has a status. Types, status sets, SQL lists and docs/reference/transitions.md are
// derived from it, CHECK constraints and partial indexes tested against it. A transition that is not in the table is refused.

export interface Transition {
  /** `none`: the entity does not exist yet. */
  readonly from: readonly string[]
  readonly to: string
}
type Table = Readonly<Record<string, Transition>>

const define = <const T extends Table>(table: T): T => table

const STEP_TRANSITIONS = define({
  dispatch: { from: ['pending'], to: 'dispatched' },
  succeed: { from: ['dispatched', 'polling'], to: 'succeeded' },
  incomplete: { from: ['dispatched', 'polling'], to: 'polling' },
  repoll: { from: ['polling'], to: 'polling' },
  lost: { from: ['polling'], to: 'polling' },
  retry: { from: ['dispatched', 'polling'], to: 'pending' },
  withdraw: { from: ['dispatched'], to: 'pending' },
  unresolved: { from: ['pending'], to: 'failed' },
  fail: { from: ['dispatched', 'polling'], to: 'failed' },
  time_out: { from: ['polling'], to: 'poll_timeout' },
  // By a person, of a step that passed, polls or waits for its retry. It ends no job: the last one is settled.
  begin_rollback: { from: ['pending', 'polling', 'succeeded'], to: 'failed' },
  // A person takes back what it changed: no failure, and it did pass.
  undo: { from: ['succeeded'], to: 'undone' },
  roll_back: { from: ['failed', 'poll_timeout'], to: 'rolled_back' },
  cancel: { from: ['pending', 'dispatched', 'polling'], to: 'cancelled' },
  reactivate: {
    from: ['failed', 'poll_timeout', 'rolled_back', 'undone', 'cancelled'],
    to: 'pending',
  },
  redo: { from: ['succeeded', 'skipped'], to: 'pending' },
  // What it told its member is no longer true, or is true again before the correction was sent.
  correct: { from: ['succeeded', 'skipped'], to: 'pending' },
  need_no_correction: { from: ['pending'], to: 'succeeded' },
  // A condition of its `when` does not hold for this member.
  leave_out: { from: ['pending'], to: 'skipped' },
  skip: {
    from: ['pending', 'failed', 'poll_timeout', 'rolled_back', 'undone', 'cancelled'],
    to: 'skipped',
  },
  mark_done: {
    from: ['pending', 'failed', 'poll_timeout', 'rolled_back', 'undone', 'cancelled'],
    to: 'succeeded',
  },
})

const MEMBER_TRANSITIONS = define({
  join: { from: ['none'], to: 'active' },
  fail: { from: ['active'], to: 'failed' },
  retry: { from: ['failed'], to: 'active' },
  remove: { from: ['active', 'failed'], to: 'removed' },
  rejoin: { from: ['removed'], to: 'active' },
  readd: { from: ['removed'], to: 'active' },
  move_out: { from: ['active'], to: 'removed' },
  move_in: { from: ['none', 'removed'], to: 'active' },
})

export const PHASE_TRANSITIONS = define({
  create: { from: ['none'], to: 'pending' },
  start: { from: ['pending'], to: 'dispatched' },
  complete: { from: ['dispatched'], to: 'completed' },
  fail: { from: ['dispatched'], to: 'failed' },
  create_overdue: { from: ['none'], to: 'skipped' },
  // No member is left to do it.
  empty: { from: ['pending', 'dispatched'], to: 'skipped' },
  // Of the skipped phases only the empty ones; the decision checks that half of the rule.
  reopen: { from: ['completed', 'failed', 'skipped'], to: 'dispatched' },
  // Skipped as empty before it started, with a gate or a ramp: it starts in the usual way once it has members.
  await: { from: ['skipped'], to: 'pending' },
  supersede: { from: ['pending'], to: 'superseded' },
  cancel: { from: ['pending', 'dispatched'], to: 'cancelled' },
  restart: { from: ['cancelled'], to: 'pending' },
})

export const BATCH_TRANSITIONS = define({
  create: { from: ['none'], to: 'detected' },
  dispatch_init: { from: ['detected'], to: 'init_dispatched' },
  activate: { from: ['detected', 'init_dispatched'], to: 'active' },
  complete: { from: ['active'], to: 'completed' },
  fail: { from: ['init_dispatched', 'active'], to: 'failed' },
  cancel: { from: ['detected', 'init_dispatched', 'active'], to: 'cancelled' },
  reopen: { from: ['completed', 'failed'], to: 'active' },
  restart: { from: ['failed'], to: 'init_dispatched' },
})

export const TRANSITIONS = {
  step: STEP_TRANSITIONS,
  member: MEMBER_TRANSITIONS,
  phase: PHASE_TRANSITIONS,
  batch: BATCH_TRANSITIONS,
} as const
export type Entity = keyof typeof TRANSITIONS

type FromOf<T extends Table> = Exclude<T[keyof T]['from'][number], 'none'>
type ToOf<T extends Table> = T[keyof T]['to']
type StatusOf<T extends Table> = FromOf<T> | ToOf<T>

export type StepStatus = StatusOf<typeof STEP_TRANSITIONS>
export type MemberStatus = StatusOf<typeof MEMBER_TRANSITIONS>
export type PhaseStatus = StatusOf<typeof PHASE_TRANSITIONS>
export type BatchStatus = StatusOf<typeof BATCH_TRANSITIONS>
export type StepEvent = keyof typeof STEP_TRANSITIONS
export type MemberEvent = keyof typeof MEMBER_TRANSITIONS
export type PhaseEvent = keyof typeof PHASE_TRANSITIONS
export type BatchEvent = keyof typeof BATCH_TRANSITIONS

export class IllegalTransition extends Error {
  override readonly name = 'IllegalTransition'
}

/**
 * Throws IllegalTransition. Every status of a draft comes from here. One statement writes a status without a draft: a cancelled batch
 * may have 100,000 open steps, so `cancelSteps` (src/db/state/steps.ts) applies `cancel` to them as a set, with an event each, and an
 * invariant compares every event with the table.
 */
export function statusAfter<T extends Entity>(
  entity: T,
  event: keyof (typeof TRANSITIONS)[T] & string,
  from: string,
): string {
  const table: Table = TRANSITIONS[entity]
  const transition = Object.hasOwn(table, event) ? table[event] : undefined
  if (!transition?.from.includes(from)) {
    throw new IllegalTransition(`a ${entity} that is ${from} cannot ${event}`)
  }
  return transition.to
}

type Statuses<S> = readonly [S, ...S[]]

/** In the order in which the table first names them, which is the order of the API's lists and of the counters. */
function statusesIn<T extends Table>(table: T): Statuses<StatusOf<T>> {
  const named = Object.values(table).flatMap(({ from, to }) => [...from, to])
  const statuses = new Set(named.filter((status) => status !== 'none'))
  return [...statuses] as unknown as Statuses<StatusOf<T>>
}

export const STEP_STATUSES = statusesIn(STEP_TRANSITIONS)
export const MEMBER_STATUSES = statusesIn(MEMBER_TRANSITIONS)
export const PHASE_STATUSES = statusesIn(PHASE_TRANSITIONS)
export const BATCH_STATUSES = statusesIn(BATCH_TRANSITIONS)

export const STATUSES: Readonly<Record<Entity, readonly string[]>> = {
  step: STEP_STATUSES,
  member: MEMBER_STATUSES,
  phase: PHASE_STATUSES,
  batch: BATCH_STATUSES,
}

const except = <S extends string>(all: readonly S[], left: readonly string[]): readonly S[] =>
  all.filter((status) => !left.includes(status))

export const OPEN_STEP_STATUSES: readonly StepStatus[] = STEP_TRANSITIONS.cancel.from
/** A job was sent and its result decides what comes next. */
export const SENT_STEP_STATUSES: readonly StepStatus[] = STEP_TRANSITIONS.succeed.from
/** Succeeded, left out by its `when`, or skipped by an operator. */
export const PASSED_STEP_STATUSES: readonly StepStatus[] = STEP_TRANSITIONS.redo.from
/** Ended by a failure of its own, not by a cancel. */
export const FAILED_STEP_STATUSES: readonly StepStatus[] = [
  ...STEP_TRANSITIONS.roll_back.from,
  STEP_TRANSITIONS.roll_back.to,
]
/** What a person may roll back, as far as it may have had an effect. */
export const STATUSES_TO_ROLL_BACK: readonly StepStatus[] = STEP_TRANSITIONS.begin_rollback.from
/** Passed, and maybe taken back later: who was through a phase stays counted there. */
export const ONCE_PASSED_STEP_STATUSES: readonly StepStatus[] = [
  ...PASSED_STEP_STATUSES,
  STEP_TRANSITIONS.undo.to,
]
export const OPEN_PHASE_STATUSES: readonly PhaseStatus[] = PHASE_TRANSITIONS.cancel.from
export const ENDED_PHASE_STATUSES = except(PHASE_STATUSES, OPEN_PHASE_STATUSES)
/** Members have steps here; emptied phases count as skipped. */
export const STARTED_PHASE_STATUSES: readonly PhaseStatus[] = [
  PHASE_TRANSITIONS.start.to,
  PHASE_TRANSITIONS.complete.to,
  PHASE_TRANSITIONS.fail.to,
]
export const UNFINISHED_BATCH_STATUSES: readonly BatchStatus[] = BATCH_TRANSITIONS.cancel.from
export const ENDED_BATCH_STATUSES = except(BATCH_STATUSES, UNFINISHED_BATCH_STATUSES)

export const isPassed = (status: StepStatus): boolean => PASSED_STEP_STATUSES.includes(status)
export const isOncePassed = (status: StepStatus): boolean =>
  ONCE_PASSED_STEP_STATUSES.includes(status)
export const isOpen = (status: StepStatus): boolean => OPEN_STEP_STATUSES.includes(status)
export const isFailed = (status: StepStatus): boolean => FAILED_STEP_STATUSES.includes(status)
export const isPhaseStarted = (status: PhaseStatus): boolean =>
  STARTED_PHASE_STATUSES.includes(status)
export const isPhaseEnded = (status: PhaseStatus): boolean => ENDED_PHASE_STATUSES.includes(status)
export const isBatchEnded = (status: BatchStatus): boolean => ENDED_BATCH_STATUSES.includes(status)
