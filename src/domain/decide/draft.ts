// The working set of one transaction: loaded facts, changed in memory by decisions, and the record of what changed. No I/O.
// Every status changes through `transition*`, which consults the table of transitions and records the event with its reason. The
// counters follow from the difference between what was loaded and what is there at the end (finish.ts).

import type { Json } from '../../base/text/json.ts'
import { type FactsOf, NO_FACTS } from '../runbook/function-facts.ts'
import type { Runbook } from '../runbook/read.ts'
import type { LedgerEffect } from '../state/effects.ts'
import { type EventRecord, type EventSubject, eventRecord } from '../state/event-record.ts'
import type { Batch, Member, Phase, Step, StepKind, Variables, Wait } from '../state/facts.ts'
import { type HoldsOnBatch, NO_HOLDS } from '../state/holds.ts'
import {
  type BatchEvent,
  type BatchStatus,
  isFailed,
  type MemberEvent,
  type MemberStatus,
  type PhaseEvent,
  type PhaseStatus,
  type StepEvent,
  type StepStatus,
  statusAfter,
} from '../state/transitions.ts'
import { ALWAYS_OPEN, type WindowState } from '../windows/change-windows.ts'
import type { GateFacts } from './gate.ts'
import type { KnownPerson } from './person-map.ts'

export interface AttemptRecord {
  readonly stepId: number
  readonly jobId: string
  readonly attempt: number
  readonly poll: number
  readonly workerId: string
  readonly sentAt: Date
  readonly outcome:
    | 'succeeded'
    | 'incomplete'
    | 'failed'
    | 'lost'
    | 'dead_lettered'
    | 'undelivered'
    | 'withdrawn'
    | 'refused'
  readonly result: Json | undefined
  readonly error: string | null
  readonly durationMs: number | null
  /** What it changed; null when nobody knows. */
  readonly effect?: LedgerEffect | null
  /** Its call was for several jobs, and takes so many. Not stored. */
  readonly togetherMax?: number
  /** A poll that changed nothing: the step counts it, and it leaves no row. */
  readonly isFolded?: boolean
  /** The trace context of the result. Not stored. */
  readonly traceparent?: string
}

export interface JobRecord {
  readonly jobId: string
  readonly step: Step
  readonly functionName: string
  readonly params: Json
  /** From the job's start; then the worker aborts it. */
  readonly timeoutSec: number
  /** No worker starts it later. */
  readonly notAfter: Date
  /** The bus keeps it until then. */
  readonly expiresAt: Date
}

export interface DraftFacts {
  readonly now: Date
  readonly actor: string
  readonly batch: Batch
  readonly phases: readonly Phase[]
  /** The published versions that the batch's rows refer to, by version number. */
  readonly runbooks: Map<number, Runbook>
  /** 0 ≤ random() < 1, from the seed in simulations; only for the jitter of retries. */
  /** What functions declare. Default: nothing is known, and everything counts as a change. */
  readonly factsOf?: FactsOf
  readonly random: () => number
  /** How long a job may wait in the queue, besides its timeout. */
  readonly queueLimitSec: number
}

/** Of a phase with a gate or a ramp. */
export interface StartFacts {
  /** Null without a gate. */
  readonly gate: GateFacts | null
  /** The share that starts next, and the id of its last member; null without a ramp. */
  readonly share: { readonly share: number; readonly through: number | null } | null
}

/** A step before this transaction changed it. */
interface Trace {
  /** Null for a row that this transaction inserts. */
  loaded: StepStatus | null
  /** The status that the counters include: at first the loaded one. */
  counted: StepStatus | null
  /** It was loaded with a row in `waits`. */
  hadWait: boolean
  /** It changed; false for a row that is only inserted. */
  isChanged: boolean
}

export class Draft {
  readonly now: Date
  readonly actor: string
  readonly batch: Batch
  /** Replaced, not changed, when a phase is added or superseded: next.ts caches the phases' order by list. */
  phases: readonly Phase[]
  readonly runbooks: Map<number, Runbook>
  readonly factsOf: FactsOf
  readonly random: () => number
  readonly queueLimitSec: number
  readonly members = new Map<number, Member>()
  readonly steps = new Map<number, Step>()
  readonly stepsOfMember = new Map<number | null, Step[]>()

  readonly events: EventRecord[] = []
  readonly attempts: AttemptRecord[] = []
  readonly jobs: JobRecord[] = []
  readonly newSteps: Step[] = []
  readonly changedSteps = new Set<Step>()
  readonly changedMembers = new Set<Member>()
  readonly changedPhases = new Set<Phase>()
  /** Steps whose row in `waits` is replaced by `step.wait`. */
  readonly changedWaits = new Set<Step>()
  /** Steps whose job has sent their member a message. */
  readonly sentMessages: Step[] = []
  /** Steps whose `correctsTime` changed. */
  readonly changedCorrections = new Set<Step>()
  /** Steps that took their definition from another version. */
  readonly changedDefinitions = new Set<Step>()
  isBatchChanged = false
  /** Transitions of steps into a failure or out of one. */
  failureChanges = 0
  /** Holds besides the batch's own. Read again under their lock before anything is sent. */
  holds: HoldsOnBatch = NO_HOLDS
  /** People of any batch whom the templates of queued steps name. Read before anything is sent. */
  knownPeople: readonly KnownPerson[] = []
  /** Of the change windows, at `now`. */
  window: WindowState = ALWAYS_OPEN
  /** What a phase with a gate or a ramp needs to know to start, by its id. Loaded only by transactions that may start one. */
  readonly starts = new Map<number, StartFacts>()
  /** Set by a hold: this transaction withdraws the jobs that no worker has taken. */
  wantsWithdrawal = false

  readonly #phaseById: Map<number, Phase>
  // Kept from the first change on: most of what is loaded never changes.
  readonly #traces = new Map<Step, Trace>()
  readonly #laters = new Map<number, Date>()
  readonly #memberStatusLoaded = new Map<Member, MemberStatus>()
  readonly #outputsLoaded = new Map<Member, Variables>()
  readonly #memberStatusCounted = new Map<Member, MemberStatus>()
  readonly batchStatusLoaded: BatchStatus
  readonly #phaseStatusLoaded: Map<number, PhaseStatus>
  #nextNewId = -1

  constructor(facts: DraftFacts) {
    this.now = facts.now
    this.actor = facts.actor
    this.batch = facts.batch
    this.phases = facts.phases
    this.runbooks = facts.runbooks
    this.random = facts.random
    this.factsOf = facts.factsOf ?? NO_FACTS
    this.queueLimitSec = facts.queueLimitSec
    this.batchStatusLoaded = facts.batch.status
    this.#phaseById = new Map(facts.phases.map((phase) => [phase.id, phase]))
    this.#phaseStatusLoaded = new Map(facts.phases.map((phase) => [phase.id, phase.status]))
  }

  addMembers(members: readonly Member[]): void {
    for (const member of members) {
      if (this.members.has(member.id)) continue
      this.members.set(member.id, member)
    }
  }

  addSteps(steps: readonly Step[], { isNew = false } = {}): void {
    for (const step of steps) this.addStep(step, isNew)
  }

  /** `isNew`: this transaction inserted the row, and no counter includes it yet. */
  addStep(step: Step, isNew: boolean): void {
    if (!this.steps.has(step.id)) this.#register(step, isNew)
  }

  #register(step: Step, isNew: boolean): void {
    this.steps.set(step.id, step)
    const siblings = this.stepsOfMember.get(step.memberId)
    if (siblings) siblings.push(step)
    else this.stepsOfMember.set(step.memberId, [step])
    if (!isNew) return
    this.#traces.set(step, { loaded: null, counted: null, hadWait: false, isChanged: false })
    this.changedSteps.add(step)
  }

  /** Call before a change: the first call keeps what was loaded. */
  #trace(step: Step): Trace {
    const known = this.#traces.get(step)
    if (known) return known
    const { status, wait } = step
    const trace = { loaded: status, counted: status, hadWait: wait !== null, isChanged: false }
    this.#traces.set(step, trace)
    return trace
  }

  /** A row that this decision creates. */
  newStep(step: Omit<Step, 'id'>): Step {
    const created: Step = { ...step, id: this.#nextNewId-- }
    this.newSteps.push(created)
    this.#register(created, true)
    return created
  }

  /** So many seconds from now. Cached: most steps of a chunk have the same deadline. */
  later(seconds: number): Date {
    const known = this.#laters.get(seconds)
    if (known) return known
    const at = new Date(+this.now + seconds * 1000)
    this.#laters.set(seconds, at)
    return at
  }

  phaseOf(step: Step): Phase | null {
    return step.phaseId === null ? null : this.phase(step.phaseId)
  }

  phase(id: number): Phase {
    const phase = this.#phaseById.get(id)
    if (!phase) throw new Error(`phase ${id} is not loaded in batch ${this.batch.id}`)
    return phase
  }

  member(id: number): Member {
    const member = this.members.get(id)
    if (!member) throw new Error(`member ${id} is not loaded in batch ${this.batch.id}`)
    return member
  }

  siblings(memberId: number | null, kind: StepKind): Step[] {
    return (this.stepsOfMember.get(memberId) ?? []).filter((step) => step.kind === kind)
  }

  /** Null for a row that this transaction inserts. */
  statusLoaded(step: Step): StepStatus | null {
    const trace = this.#traces.get(step)
    return trace ? trace.loaded : step.status
  }

  /** The status that the counters include; null when they do not include the step yet. */
  statusCounted(step: Step): StepStatus | null {
    const trace = this.#traces.get(step)
    return trace ? trace.counted : step.status
  }

  memberStatusCounted(member: Member): MemberStatus {
    return this.#memberStatusCounted.get(member) ?? this.memberStatusLoaded(member)
  }

  /** The counters now include the step's status. */
  noteStepCounted(step: Step): void {
    this.#trace(step).counted = step.status
  }

  noteMemberCounted(member: Member): void {
    this.#memberStatusCounted.set(member, member.status)
  }

  hadWait(step: Step): boolean {
    return this.#traces.get(step)?.hadWait ?? false
  }

  /** False for a row that is still as inserted. */
  isStepWritten(step: Step): boolean {
    return this.#traces.get(step)?.isChanged ?? false
  }

  memberStatusLoaded(member: Member): MemberStatus {
    return this.#memberStatusLoaded.get(member) ?? member.status
  }

  phaseStatusLoaded(phase: Phase): PhaseStatus {
    return this.#phaseStatusLoaded.get(phase.id)!
  }

  transitionStep(step: Step, event: StepEvent, because: string, change: Partial<Step> = {}): void {
    const from = step.status
    this.#advance(step, event, change)
    this.events.push(eventRecord('step', event, because, { step }, from, step.status))
  }

  /** A poll is sent, or said what the one before it said: the step counts it, and no event tells of it. */
  countPoll(step: Step, event: 'repoll' | 'incomplete', change: Partial<Step>): void {
    this.#advance(step, event, change)
  }

  #advance(step: Step, event: StepEvent, change: Partial<Step>): void {
    const from = step.status
    this.#touch(step)
    Object.assign(step, change)
    step.status = statusAfter('step', event, from) as StepStatus
    if (isFailed(from) || isFailed(step.status)) this.failureChanges += 1
  }

  transitionMember(
    member: Member,
    event: MemberEvent,
    because: string,
    change: Partial<Member> = {},
  ): void {
    const from = member.status
    if (!this.#memberStatusLoaded.has(member)) this.#memberStatusLoaded.set(member, from)
    this.#assignMember(member, change)
    member.status = statusAfter('member', event, from) as MemberStatus
    this.changedMembers.add(member)
    this.events.push(
      eventRecord('member', event, because, { memberId: member.id }, from, member.status),
    )
  }

  transitionPhase(
    phase: Phase,
    event: PhaseEvent,
    because: string,
    change: Partial<Phase> = {},
  ): void {
    const from = phase.status
    Object.assign(phase, change)
    phase.status = statusAfter('phase', event, from) as PhaseStatus
    this.changedPhases.add(phase)
    if (event === 'supersede') this.phases = [...this.phases]
    this.events.push(
      eventRecord('phase', event, because, { phaseId: phase.id }, from, phase.status),
    )
  }

  /** Adds a phase whose row this transaction inserted: pending, or skipped as overdue. */
  addPhase(phase: Phase, because: string): void {
    const event = phase.skippedBecause === 'overdue' ? 'create_overdue' : 'create'
    const status = statusAfter('phase', event, 'none')
    this.phases = [...this.phases, phase]
    this.#phaseById.set(phase.id, phase)
    this.#phaseStatusLoaded.set(phase.id, phase.status)
    this.events.push(eventRecord('phase', event, because, { phaseId: phase.id }, 'none', status))
  }

  transitionBatch(event: BatchEvent, because: string, change: Partial<Batch> = {}): void {
    const from = this.batch.status
    this.changeBatch(change)
    this.batch.status = statusAfter('batch', event, from) as BatchStatus
    this.events.push(eventRecord('batch', event, because, {}, from, this.batch.status))
  }

  /** Changes without a transition. */
  changeBatch(change: Partial<Batch>): void {
    Object.assign(this.batch, change)
    this.isBatchChanged = true
  }

  changeMember(member: Member, change: Partial<Member>): void {
    this.#assignMember(member, change)
    this.changedMembers.add(member)
  }

  #assignMember(member: Member, change: Partial<Member>): void {
    if (change.outputs && !this.#outputsLoaded.has(member))
      this.#outputsLoaded.set(member, member.outputs)
    Object.assign(member, change)
  }

  /** The outputs of the member that this draft has added or replaced. */
  newOutputs(member: Member): Json[] {
    const loaded = this.#outputsLoaded.get(member)
    if (!loaded) return []
    return Object.keys(member.outputs)
      .filter((name) => member.outputs[name] !== loaded[name])
      .map((name) => member.outputs[name]!)
  }

  /** Outputs go to the step's member, or to the batch for a step without one. */
  addOutputs(step: Step, found: Variables): void {
    if (step.memberId === null) {
      this.changeBatch({ outputs: { ...this.batch.outputs, ...found } })
    } else {
      const member = this.member(step.memberId)
      this.changeMember(member, { outputs: { ...member.outputs, ...found } })
    }
  }

  changeStep(step: Step, change: Partial<Step>): void {
    this.#touch(step)
    Object.assign(step, change)
  }

  /** Its next message corrects this start time; null: it is a first one. */
  setCorrection(
    step: Step,
    sent: { readonly startTime: Date; readonly sentAt: Date } | null,
  ): void {
    if (step.correctsTime === (sent?.startTime ?? null)) return
    step.correctsTime = sent?.startTime ?? null
    step.correctsSentAt = sent?.sentAt ?? null
    this.changedCorrections.add(step)
  }

  #touch(step: Step): void {
    this.#trace(step).isChanged = true
    this.changedSteps.add(step)
  }

  changePhase(phase: Phase, change: Partial<Phase>): void {
    Object.assign(phase, change)
    this.changedPhases.add(phase)
  }

  setWait(step: Step, wait: Wait | null): void {
    if (step.wait === null && wait === null) return
    this.#trace(step)
    step.wait = wait
    this.changedWaits.add(step)
  }

  /** An event without a transition. */
  note(event: string, because: string, subject: EventSubject = {}): void {
    const entity = subject.step
      ? 'step'
      : subject.memberId
        ? 'member'
        : subject.phaseId
          ? 'phase'
          : 'batch'
    this.events.push(eventRecord(entity, event, because, subject))
  }
}
