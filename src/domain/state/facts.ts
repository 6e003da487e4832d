// The rows that decisions read, as stored in the database. Decisions change these objects in memory; src/db/state/changes.ts writes them.
import type { Json } from '../../base/text/json.ts'
import type { Gate } from '../runbook/model.ts'
import {
  type BatchStatus,
  type MemberStatus,
  OPEN_STEP_STATUSES,
  type PhaseStatus,
  STEP_STATUSES,
  type StepStatus,
} from './transitions.ts'

export type StepKind = 'init' | 'phase' | 'rollback' | 'removal' | 'undo'
/** Steps that take something back: the rollback of a failure, the cleanup of a removal, the undo of an effect. */
export const COMPENSATION_KINDS: readonly StepKind[] = ['rollback', 'removal', 'undo']
export const isCompensation = ({ kind }: Pick<Step, 'kind'>): boolean =>
  COMPENSATION_KINDS.includes(kind)
export type Variables = Readonly<Record<string, Json>>

export interface Batch {
  readonly id: number
  readonly runbookName: string
  runbookVersion: number
  /**
   * The active version, used for joiners and reopened steps. An unfinished batch upgrades to it before anything else is decided
   * (engine/version-upgrade.ts). The batch's own version when none is active.
   */
  readonly activeVersion: number
  /** The database's epoch when the batch was locked: part of every id that is sent. */
  readonly epoch: string
  readonly isManual: boolean
  startTime: Date | null
  status: BatchStatus
  failedInInit: boolean
  currentPhase: string | null
  initDispatchedAt: Date | null
  activatedAt: Date | null
  endedAt: Date | null
  /** When the personal data of its members was erased: nothing can be done with it any more. */
  readonly erasedAt: Date | null
  heldAt: Date | null
  heldBy: string | null
  heldReason: string | null
  /** Since when steps wait for a change window, as far as people were told. */
  windowClosedAt: Date | null
  windowOpensAt: Date | null
  /** Until then steps are sent outside the change windows. */
  windowOverrideUntil: Date | null
  windowOverrideBy: string | null
  windowOverrideReason: string | null
  /** Outputs of init steps: the batch's variables. */
  outputs: Variables
  membersActive: number
  membersFailed: number
  membersRemoved: number
  initOpen: number
  rollbackOpen: number
  removalOpen: number
  undoOpen: number
}

export type StepCounts = Record<StepStatus, number>

/** Where the members who have steps in a phase stand; the rest of `total` still have open steps. */
export const MEMBER_COUNTS = ['total', 'passed', 'failed', 'stopped', 'removed'] as const
export type MemberCounts = Record<(typeof MEMBER_COUNTS)[number], number>

const zeros = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
export const sumSteps = (steps: Readonly<StepCounts>, statuses: readonly StepStatus[]): number =>
  statuses.reduce((sum, status) => sum + steps[status], 0)
export const openSteps = ({ steps }: Phase): number => sumSteps(steps, OPEN_STEP_STATUSES)
export const noStepCounts = (): StepCounts => zeros(STEP_STATUSES)
export const noMemberCounts = (): MemberCounts => zeros(MEMBER_COUNTS)

/** What a phase is made with: nothing of it has begun, and it starts at its time, for everybody at once. */
export const UNBEGUN = {
  skippedBecause: null,
  dispatchedAt: null,
  expandedThrough: 0,
  expandedAt: null,
  completedAt: null,
  fuseAcknowledged: 0,
  gate: null,
  gatePassedAt: null,
  gateLookAt: null,
  rampPercents: null,
  rampShare: null,
  rampThrough: null,
  soakEndsAt: null,
} as const

export interface Phase {
  readonly id: number
  readonly name: string
  readonly index: number
  readonly offsetMinutes: number
  readonly runbookVersion: number
  dueAt: Date | null
  status: PhaseStatus
  skippedBecause: 'empty' | 'overdue' | null
  dispatchedAt: Date | null
  expandedThrough: number
  expandedAt: Date | null
  completedAt: Date | null
  /** Failures that an operator acknowledged by resuming; the fuse counts those beyond. */
  fuseAcknowledged: number
  /** What must be true before it starts; null: nothing. */
  readonly gate: Gate | null
  gatePassedAt: Date | null
  /** When its gate is looked at again: it is due, and the gate has not passed. */
  gateLookAt: Date | null
  /** The shares of its members that start one after the other; null: all at once. */
  readonly rampPercents: readonly number[] | null
  /** The share that has started, from 0. */
  rampShare: number | null
  /** Steps are written for members up to this id; null: for all. */
  rampThrough: number | null
  /** The share has ended, and the next one waits until then. */
  soakEndsAt: Date | null
  steps: StepCounts
  members: MemberCounts
}

export interface Member {
  readonly id: number
  readonly key: string
  status: MemberStatus
  data: Variables
  /** Outputs of the member's steps. */
  outputs: Variables
  failedAt: Date | null
  removedAt: Date | null
  /** `source` when the data source dropped the member, else the person. */
  removedBy: string | null
  removalNumber: number
  movedToBatchId: number | null
}

/** A step's settings from its version of the runbook, fixed when its row was created. */
export interface StepDefinition {
  readonly stepName: string
  readonly stepIndex: number
  readonly runbookVersion: number
  readonly workerId: string
  readonly onFailure: string | null
  readonly pollIntervalSec: number | null
  readonly pollTimeoutSec: number | null
  readonly maxRetries: number
  readonly retryIntervalSec: number
  readonly retryBackoff: 'fixed' | 'exponential'
  readonly retryMaxIntervalSec: number | null
  readonly timeoutSec: number
}

export interface Step {
  /** Negative until the database has given a new row its id. */
  readonly id: number
  readonly kind: StepKind
  readonly phaseId: number | null
  readonly memberId: number | null
  readonly originStepId: number | null
  readonly originAttempt: number | null
  readonly removalNumber: number | null
  definition: StepDefinition
  status: StepStatus
  attempt: number
  retryCount: number
  retryAfter: Date | null
  functionName: string | null
  params: Json
  jobId: string | null
  /** A job of this step may have had an effect: it ended neither withdrawn nor refused. Without one nothing is rolled back. */
  mayHaveEffect: boolean
  dispatchedAt: Date | null
  deadlineAt: Date | null
  completedAt: Date | null
  result: Json | undefined
  error: string | null
  pollStartedAt: Date | null
  lastPolledAt: Date | null
  pollCount: number
  pollTimeoutAt: Date | null
  /** What the last poll of this attempt said, as a text for people; null before the first and when it said nothing. */
  pollSaid: string | null
  /** How often the polls of this attempt said something else. Each time is recorded, the polls between are only counted. */
  pollChanges: number
  lateResult: Json | undefined
  /** The start time that this step told its member and that is no longer true: its next message corrects it. */
  correctsTime: Date | null
  /** When it was told: two corrections of the same time are two messages. */
  correctsSentAt: Date | null
  wait: Wait | null
}

export type Wait = { readonly since: Date } & (
  | { readonly kind: 'slot'; readonly wakeAt: Date | null }
  | { readonly kind: 'retry' | 'poll'; readonly wakeAt: Date }
  | { readonly kind: 'job'; readonly wakeAt: Date; readonly jobId: string }
)

/** Its job was sent, and no result, deadline or withdrawal is recorded. */
export const isUnsettled = (step: Step): boolean => step.wait?.kind === 'job'

/** A worker may have begun it. A withdrawn job did nothing. */
export const mayHaveRun = (step: Step): boolean => step.mayHaveEffect || isUnsettled(step)

/** Its members' steps are still being written, in chunks. */
export const isBeingExpanded = ({ status, expandedAt }: Phase): boolean =>
  status === 'dispatched' && expandedAt === null

/** A transaction has steps to write now: not between two shares of a ramp. */
export const hasStepsToWrite = (phase: Phase): boolean =>
  isBeingExpanded(phase) &&
  (phase.rampThrough === null || phase.expandedThrough < phase.rampThrough)

/** Every member of the share has its steps, and a further share follows. */
export const isShareWritten = (phase: Phase): boolean =>
  isBeingExpanded(phase) && phase.rampThrough !== null && !hasStepsToWrite(phase)

/** The member's share of the ramp has not started. */
export const isBeyondRamp = ({ rampThrough }: Phase, memberId: number): boolean =>
  rampThrough !== null && memberId > rampThrough
