// Every legal move of every entity that has a status, once. Types, terminal sets, SQL guards, CHECK constraints and the picture
// in docs/transitions.md come from here or are tested against it. A move that is not in the table is refused.

export interface Transition {
  /** `none` is the state of a entity that does not exist yet. */
  readonly from: readonly string[]
  readonly to: string
}
type Table = Readonly<Record<string, Transition>>

const define = <const T extends Table>(table: T): T => table

export const STEP_TRANSITIONS = define({
  dispatch: { from: ['pending'], to: 'dispatched' },
  unresolved: { from: ['pending'], to: 'failed' },
  succeed: { from: ['dispatched', 'polling'], to: 'succeeded' },
  incomplete: { from: ['dispatched', 'polling'], to: 'polling' },
  repoll: { from: ['polling'], to: 'polling' },
  lost: { from: ['polling'], to: 'polling' },
  retry: { from: ['dispatched', 'polling'], to: 'pending' },
  withdraw: { from: ['dispatched'], to: 'pending' },
  fail: { from: ['dispatched', 'polling'], to: 'failed' },
  time_out: { from: ['polling'], to: 'poll_timeout' },
  cancel: { from: ['pending', 'dispatched', 'polling'], to: 'cancelled' },
  undone: { from: ['failed', 'poll_timeout'], to: 'rolled_back' },
  reactivate: { from: ['failed', 'poll_timeout', 'rolled_back', 'cancelled'], to: 'pending' },
  redo: { from: ['succeeded', 'skipped'], to: 'pending' },
  skip: { from: ['pending', 'failed', 'poll_timeout', 'rolled_back', 'cancelled'], to: 'skipped' },
  mark_done: {
    from: ['pending', 'failed', 'poll_timeout', 'rolled_back', 'cancelled'],
    to: 'succeeded',
  },
})

export const MEMBER_TRANSITIONS = define({
  join: { from: ['none'], to: 'active' },
  move_in: { from: ['none', 'removed'], to: 'active' },
  fail: { from: ['active'], to: 'failed' },
  remove: { from: ['active', 'failed'], to: 'removed' },
  move_out: { from: ['active'], to: 'removed' },
  retry: { from: ['failed'], to: 'active' },
  rejoin: { from: ['removed'], to: 'active' },
  readd: { from: ['removed'], to: 'active' },
})

export const PHASE_TRANSITIONS = define({
  create: { from: ['none'], to: 'pending' },
  create_overdue: { from: ['none'], to: 'skipped' },
  start: { from: ['pending'], to: 'dispatched' },
  // From pending or dispatched: nobody is left to do it.
  empty: { from: ['pending', 'dispatched'], to: 'skipped' },
  complete: { from: ['dispatched'], to: 'completed' },
  fail: { from: ['dispatched'], to: 'failed' },
  // Of the skipped ones only those that were empty; that half of the rule is checked where it is decided.
  reopen: { from: ['completed', 'failed', 'skipped'], to: 'dispatched' },
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
  override readonly name = 'IllegalMove'
}

/** The status after the event, or an IllegalMove: nothing may write a status that did not come from here. */
export function statusAfter<T extends Entity>(
  entity: T,
  event: keyof (typeof TRANSITIONS)[T] & string,
  from: string,
): string {
  const table: Table = TRANSITIONS[entity]
  const move = Object.hasOwn(table, event) ? table[event] : undefined
  if (!move?.from.includes(from)) {
    throw new IllegalTransition(`a ${entity} that is ${from} cannot ${event}`)
  }
  return move.to
}

export function statusesOf(entity: Entity): string[] {
  const all = Object.values(TRANSITIONS[entity] as Table).flatMap(({ from, to }) => [...from, to])
  return [...new Set(all)].filter((status) => status !== 'none').sort()
}

/** Passed: done, or an operator said that it need not be done. */
export const isPassed = (status: StepStatus): boolean =>
  status === 'succeeded' || status === 'skipped'
export const isOpen = (status: StepStatus): boolean =>
  status === 'pending' || status === 'dispatched' || status === 'polling'
/** Ended without passing, by its own failure and not by somebody's cancel. */
export const isFailed = (status: StepStatus): boolean =>
  status === 'failed' || status === 'poll_timeout' || status === 'rolled_back'
export const isPhaseStarted = (status: PhaseStatus): boolean =>
  status === 'dispatched' || status === 'completed' || status === 'failed'
export const isPhaseEnded = (status: PhaseStatus): boolean =>
  status !== 'pending' && status !== 'dispatched'
export const isBatchEnded = (status: BatchStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'
