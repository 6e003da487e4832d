// The working set of one transaction: the facts that were loaded, changed in memory by decisions, and the record of what changed.
// Nothing here does I/O. Every change of a status goes through `move*`, which consults the table of moves and writes the event
// with its because-sentence; the counters follow from the difference between what was loaded and what is there at the end.
import type { Batch, Member, Phase, Step, StepKind, Variables, Wait } from '../facts.ts'
import type { Json } from '../json.ts'
import type { Runbook } from '../runbook/read.ts'
import {
  type BatchEvent,
  type BatchStatus,
  type Entity,
  isFailed,
  type MemberEvent,
  type MemberStatus,
  type PhaseEvent,
  type PhaseStatus,
  type StepEvent,
  type StepStatus,
  statusAfter,
} from '../transitions.ts'

export interface EventRecord {
  readonly entity: Entity | 'worker' | 'runbook'
  readonly event: string
  readonly from: string | null
  readonly to: string | null
  readonly memberId: number | null
  readonly phaseId: number | null
  readonly stepId: number | null
  readonly attempt: number | null
  readonly jobId: string | null
  readonly because: string
  readonly details: Json
}

export interface AttemptRecord {
  readonly stepId: number
  readonly jobId: string
  readonly attempt: number
  readonly poll: number
  readonly workerId: string
  readonly sentAt: Date
  readonly outcome: 'succeeded' | 'incomplete' | 'failed' | 'lost' | 'dead_lettered' | 'withdrawn'
  readonly result: Json | undefined
  readonly error: string | null
  readonly durationMs: number | null
}

export interface JobRecord {
  readonly jobId: string
  readonly step: Step
  readonly functionName: string
  readonly params: Json
  readonly notAfter: Date
}

export interface DraftFacts {
  readonly now: Date
  readonly actor: string
  readonly batch: Batch
  readonly phases: readonly Phase[]
  /** Published versions of the batch's runbook that its rows refer to, by version number. */
  readonly runbooks: Map<number, Runbook>
  /** 0 ≤ random() < 1, from the seed in simulations. For the jitter of retries only. */
  readonly random: () => number
}

/** What a step was before this transaction changed it. */
interface Trace {
  /** Null for a row that this transaction made. */
  loaded: StepStatus | null
  /** What the counters stand for so far: the loaded status at first, moved along by each count. */
  counted: StepStatus | null
  /** It had a row in the table of waits when it was loaded. */
  hadWait: boolean
  /** More of it changed than that this transaction inserted it. */
  isMoved: boolean
}

export class Draft {
  readonly now: Date
  readonly actor: string
  readonly batch: Batch
  /** Another list whenever a phase is added or superseded: the order of the phases is worked out once a list. */
  phases: readonly Phase[]
  readonly runbooks: Map<number, Runbook>
  readonly random: () => number
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
  /** Steps whose waiting changed; the database's row is replaced by `step.wait`. */
  readonly changedWaits = new Set<Step>()
  /** Steps that took the words of another version of the runbook. */
  readonly changedDefinitions = new Set<Step>()
  isBatchChanged = false
  /** How many steps came to a failure or went from one. */
  failureChanges = 0
  /** Set by a hold: the jobs that no worker has taken are to be called back in this transaction. */
  wantsWithdrawal = false

  readonly #phaseById: Map<number, Phase>
  // What things were is noted when they first change: most of what is loaded never does.
  readonly #traces = new Map<Step, Trace>()
  readonly #laters = new Map<number, Date>()
  readonly #memberStatusLoaded = new Map<Member, MemberStatus>()
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
    this.batchStatusLoaded = facts.batch.status
    this.#phaseById = new Map(facts.phases.map((phase) => [phase.id, phase]))
    this.#phaseStatusLoaded = new Map(facts.phases.map((phase) => [phase.id, phase.status]))
  }

  /** Takes loaded rows in. `isNew`: rows that this very transaction inserted, which no counter knows yet. */
  addMembers(members: readonly Member[]): void {
    for (const member of members) {
      if (this.members.has(member.id)) continue
      this.members.set(member.id, member)
    }
  }

  addSteps(steps: readonly Step[], { isNew = false } = {}): void {
    for (const step of steps) this.addStep(step, isNew)
  }

  addStep(step: Step, isNew: boolean): void {
    if (!this.steps.has(step.id)) this.#register(step, isNew)
  }

  #register(step: Step, isNew: boolean): void {
    this.steps.set(step.id, step)
    const siblings = this.stepsOfMember.get(step.memberId)
    if (siblings) siblings.push(step)
    else this.stepsOfMember.set(step.memberId, [step])
    if (!isNew) return
    this.#traces.set(step, { loaded: null, counted: null, hadWait: false, isMoved: false })
    this.changedSteps.add(step)
  }

  /** Before a change: the first one notes what was loaded. */
  #trace(step: Step): Trace {
    const known = this.#traces.get(step)
    if (known) return known
    const { status, wait } = step
    const trace = { loaded: status, counted: status, hadWait: wait !== null, isMoved: false }
    this.#traces.set(step, trace)
    return trace
  }

  /** A row that this decision makes. */
  newStep(step: Omit<Step, 'id'>): Step {
    const made: Step = { ...step, id: this.#nextNewId-- }
    this.newSteps.push(made)
    this.#register(made, true)
    return made
  }

  /** The moment that many seconds from now. One for all who ask: most steps of a chunk have the same deadline. */
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
    if (!phase) throw new Error(`phase ${id} is not among the facts of batch ${this.batch.id}`)
    return phase
  }

  member(id: number): Member {
    const member = this.members.get(id)
    if (!member) throw new Error(`member ${id} is not among the facts of batch ${this.batch.id}`)
    return member
  }

  siblings(memberId: number | null, kind: StepKind): Step[] {
    return (this.stepsOfMember.get(memberId) ?? []).filter((step) => step.kind === kind)
  }

  /** Null for a row that this transaction made. */
  statusLoaded(step: Step): StepStatus | null {
    const trace = this.#traces.get(step)
    return trace ? trace.loaded : step.status
  }

  /** What the counters stand for so far; null when they know nothing of the step yet. */
  statusCounted(step: Step): StepStatus | null {
    const trace = this.#traces.get(step)
    return trace ? trace.counted : step.status
  }

  memberStatusCounted(member: Member): MemberStatus {
    return this.#memberStatusCounted.get(member) ?? this.memberStatusLoaded(member)
  }

  /** Says that the counters are up to date with it. */
  noteStepCounted(step: Step): void {
    this.#trace(step).counted = step.status
  }

  noteMemberCounted(member: Member): void {
    this.#memberStatusCounted.set(member, member.status)
  }

  hadWait(step: Step): boolean {
    return this.#traces.get(step)?.hadWait ?? false
  }

  /** False for a row that is still just as it was inserted. */
  isStepWritten(step: Step): boolean {
    return this.#traces.get(step)?.isMoved ?? false
  }

  memberStatusLoaded(member: Member): MemberStatus {
    return this.#memberStatusLoaded.get(member) ?? member.status
  }

  phaseStatusLoaded(phase: Phase): PhaseStatus {
    return this.#phaseStatusLoaded.get(phase.id)!
  }

  transitionStep(step: Step, event: StepEvent, because: string, change: Partial<Step> = {}): void {
    const from = step.status
    this.#touch(step)
    Object.assign(step, change)
    step.status = statusAfter('step', event, from) as StepStatus
    if (isFailed(from) || isFailed(step.status)) this.failureChanges += 1
    this.#record('step', event, from, step.status, because, { step })
  }

  transitionMember(
    member: Member,
    event: MemberEvent,
    because: string,
    change: Partial<Member> = {},
  ): void {
    const from = member.status
    if (!this.#memberStatusLoaded.has(member)) this.#memberStatusLoaded.set(member, from)
    Object.assign(member, change)
    member.status = statusAfter('member', event, from) as MemberStatus
    this.changedMembers.add(member)
    this.#record('member', event, from, member.status, because, { memberId: member.id })
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
    this.#record('phase', event, from, phase.status, because, { phaseId: phase.id })
  }

  /** A phase whose row this transaction has inserted: pending, or skipped because it is overdue. */
  addPhase(phase: Phase, because: string): void {
    const event = phase.skippedBecause === 'overdue' ? 'create_overdue' : 'create'
    const status = statusAfter('phase', event, 'none')
    this.phases = [...this.phases, phase]
    this.#phaseById.set(phase.id, phase)
    this.#phaseStatusLoaded.set(phase.id, phase.status)
    this.#record('phase', event, 'none', status, because, { phaseId: phase.id })
  }

  transitionBatch(event: BatchEvent, because: string, change: Partial<Batch> = {}): void {
    const from = this.batch.status
    this.changeBatch(change)
    this.batch.status = statusAfter('batch', event, from) as BatchStatus
    this.#record('batch', event, from, this.batch.status, because, {})
  }

  /** Changes that are no move of status. */
  changeBatch(change: Partial<Batch>): void {
    Object.assign(this.batch, change)
    this.isBatchChanged = true
  }

  changeMember(member: Member, change: Partial<Member>): void {
    Object.assign(member, change)
    this.changedMembers.add(member)
  }

  /** What a step put out: for its member's later steps, or for all of the batch's when it has no member. */
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

  #touch(step: Step): void {
    this.#trace(step).isMoved = true
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

  /** Something worth telling that moved nothing. */
  note(
    event: string,
    because: string,
    about: {
      step?: Step
      memberId?: number
      phaseId?: number
      jobId?: string
      details?: Json
    } = {},
  ): void {
    const entity = about.step
      ? 'step'
      : about.memberId
        ? 'member'
        : about.phaseId
          ? 'phase'
          : 'batch'
    this.#record(entity, event, null, null, because, about)
  }

  #record(
    entity: Entity,
    event: string,
    from: string | null,
    to: string | null,
    because: string,
    about: { step?: Step; memberId?: number; phaseId?: number; jobId?: string; details?: Json },
  ): void {
    const { step } = about
    this.events.push({
      entity,
      event,
      from,
      to,
      memberId: step?.memberId ?? about.memberId ?? null,
      phaseId: step?.phaseId ?? about.phaseId ?? null,
      stepId: step?.id ?? null,
      attempt: step?.attempt ?? null,
      jobId: about.jobId ?? step?.jobId ?? null,
      because,
      details: about.details ?? null,
    })
  }
}
