// A batch whose rows live in memory, and random decisions on it: each in its own draft, like a transaction, and ended as the engine
// ends it (count, fuse, withdrawal, send, count, close). New rows get their real ids afterwards.

import { cancelStep } from '../../../src/domain/decide/cancel.ts'
import { definitionsOfPhase, pendingStep } from '../../../src/domain/decide/definitions.ts'
import { Draft } from '../../../src/domain/decide/draft.ts'
import { checkFuse, closeFinished, updateCounters } from '../../../src/domain/decide/finish.ts'
import { hold, onPhaseDue, resume } from '../../../src/domain/decide/lifecycle.ts'
import {
  moveMemberOut,
  readmitMember,
  removeMember,
} from '../../../src/domain/decide/membership.ts'
import { hasBegun, isEffective, queueNextOfMember } from '../../../src/domain/decide/next.ts'
import {
  acceptLateResult,
  markDone,
  redoMember,
  retryMember,
  skipStep,
} from '../../../src/domain/decide/repair.ts'
import { sendQueued } from '../../../src/domain/decide/send.ts'
import { onDeadLetter, onLost, onResult, onWithdrawn } from '../../../src/domain/decide/settle.ts'
import { onWake } from '../../../src/domain/decide/wake.ts'
import type { Batch, Member, Phase, Step } from '../../../src/domain/state/facts.ts'
import { isUnsettled } from '../../../src/domain/state/facts.ts'
import { isOpen, isPhaseEnded } from '../../../src/domain/state/transitions.ts'
import { seeded } from '../../kit/seeded.ts'
import { DEMO, draftOf, NOW } from './builders.ts'

/** Returns the refusal: then, as in the engine, nothing is kept. */
type Action = (course: Course, draft: Draft) => unknown

export class Course {
  readonly pick: (limit: number) => number
  batch: Batch
  phases: readonly Phase[]
  members: Member[]
  steps: Step[] = []
  now = NOW
  #nextStepId = 1000

  constructor(seed: number) {
    this.pick = seeded(seed)
    const facts = draftOf({
      batch: 'active',
      phases: { prepare: 'pending', cutover: 'pending', after: 'pending' },
      members: { 1: 'active', 2: 'active', 3: 'active' },
    })
    this.batch = facts.batch
    this.phases = facts.phases
    this.members = [...facts.members.values()]
  }

  draft(): Draft {
    const draft = new Draft({
      now: this.now,
      actor: 'olga',
      batch: this.batch,
      phases: this.phases,
      runbooks: new Map([[1, DEMO]]),
      random: () => this.pick(1000) / 1000,
      queueLimitSec: 3_600,
    })
    draft.addMembers(this.members)
    draft.addSteps(this.steps)
    return draft
  }

  /** One transaction: decides, ends as the engine does, keeps the rows. Null when refused. */
  decide(action: Action, slots = 1 + this.pick(4)): Draft | null {
    const { batch, phases, members, steps } = this
    const before = structuredClone({ batch, phases, members, steps })
    const draft = this.draft()
    if (typeof action(this, draft) === 'string') {
      Object.assign(this, before)
      return null
    }
    updateCounters(draft)
    checkFuse(draft)
    if (draft.wantsWithdrawal) callBack(draft, 'a hold', () => this.pick(2) === 0)
    sendQueued(draft, new Map(Object.entries({ w1: slots, w2: slots })))
    updateCounters(draft)
    closeFinished(draft)
    this.members = [...draft.members.values()]
    this.steps = [...draft.steps.values()].map((step) =>
      step.id < 0 ? { ...step, id: this.#nextStepId++ } : step,
    )
    return draft
  }

  one<T>(list: readonly T[]): T | undefined {
    return list[this.pick(Math.max(list.length, 1))]
  }

  /** Inserts the steps that these members lack in phases that have begun, as the engine does. */
  ensureSteps(draft: Draft, members: readonly Member[], only?: Phase): void {
    const phases = only ? [only] : this.phases
    for (const phase of phases.filter((one) => isEffective(draft, one) && hasBegun(one))) {
      for (const { id: memberId } of members) {
        const has = draft.siblings(memberId, 'phase').some((step) => step.phaseId === phase.id)
        if (has) continue
        const rows = definitionsOfPhase(draft, phase).map((plan) => ({
          ...pendingStep(plan, { kind: 'phase', phaseId: phase.id, memberId }),
          id: this.#nextStepId++,
        }))
        draft.addSteps(rows, { isNew: true })
      }
    }
  }
}

const jobsOut = (draft: Draft) => [...draft.steps.values()].filter(isUnsettled)

function callBack(draft: Draft, why: string, isTaken: () => boolean): void {
  for (const step of jobsOut(draft)) if (!isTaken()) onWithdrawn(draft, step, why)
}

const ANSWERS = [
  { status: 'Success', result: { id: 'T', complete: true } },
  { status: 'Success', result: { complete: false } },
  { status: 'Failure', error: { message: 'it broke' } },
] as const

const answer: Action = (course, draft) => {
  const step = course.one(jobsOut(draft))
  if (step) onResult(draft, step, { jobId: step.jobId!, ...ANSWERS[course.pick(3)]! })
}

export const succeedAll: Action = (_, draft) => {
  for (const step of jobsOut(draft))
    onResult(draft, step, { jobId: step.jobId!, ...ANSWERS[0], workerId: step.definition.workerId })
}

const unexpected: Action = (course, draft) => {
  const step = course.one([...draft.steps.values()])
  if (!step) return
  const jobId = course.pick(2) === 0 ? (step.jobId ?? 'step-5') : 'step-999-retry-7'
  if (step.wait?.kind !== 'job' || step.wait.jobId !== jobId)
    onResult(draft, step, { jobId, ...ANSWERS[course.pick(3)]! })
}

export const wakeAll: Action = (_, draft) => {
  for (const step of [...draft.steps.values()]) {
    if (step.wait?.kind === 'job' && step.wait.wakeAt <= draft.now)
      onLost(draft, step, step.wait.jobId)
    onWake(draft, step)
  }
}

/** The clock jumps by up to a minute, sometimes by hours: then everything due wakes. */
const passTime: Action = (course, draft) => wakeAll(course, draft)

const deadLetter: Action = (course, draft) => {
  const step = course.one(jobsOut(draft))
  const hasRun = course.pick(2) === 0 ? 'possibly' : 'never'
  if (step) onDeadLetter(draft, step, step.jobId!, 'lost on the way', hasRun)
}

/** In any order, as with two processes: a later phase may start before an earlier one. */
export const startSome: Action = (course, draft) => {
  const phase = course.one(course.phases.filter(({ status }) => status === 'pending'))
  return phase && onPhaseDue(draft, phase)
}

export const expandSome: Action = (course, draft) => {
  const phase = course.one(
    course.phases.filter(
      ({ status, expandedAt }) => status === 'dispatched' && expandedAt === null,
    ),
  )
  if (!phase) return
  const active = course.members
    .filter(({ id, status }) => status === 'active' && id > phase.expandedThrough)
    .slice(0, 1 + course.pick(3))
  course.ensureSteps(draft, active, phase)
  const through = active.at(-1)?.id ?? phase.expandedThrough
  const isLast = course.members.every(({ id, status }) => status !== 'active' || id <= through)
  draft.changePhase(phase, {
    expandedThrough: through,
    ...(isLast && { expandedAt: draft.now }),
  })
  for (const member of active) queueNextOfMember(draft, member)
}

const join: Action = (course, draft) => {
  if (course.members.length >= 5 || draft.batch.status === 'cancelled') return
  const id = Math.max(...course.members.map((member) => member.id)) + 1
  draft.addMembers([...draftOf({ members: { [id]: 'active' } }).members.values()])
  draft.changeBatch({ membersActive: draft.batch.membersActive + 1 })
  course.ensureSteps(draft, [draft.member(id)])
  queueNextOfMember(draft, draft.member(id))
}

const forMember =
  (decide: (draft: Draft, member: Member, course: Course) => unknown): Action =>
  (course, draft) =>
    decide(draft, course.one(course.members)!, course)

/** A member who is retried or comes back gets all its steps first. */
const takenUp = (decide: (draft: Draft, member: Member, course: Course) => unknown): Action =>
  forMember((draft, member, course) => {
    course.ensureSteps(draft, [member])
    return decide(draft, member, course)
  })

const forStep =
  (decide: (draft: Draft, step: Step) => unknown): Action =>
  (course, draft) => {
    const step = course.one([...draft.steps.values()])
    return step && decide(draft, step)
  }

const anyStepOf = (draft: Draft, { id }: Member, course: Course) =>
  course.one(draft.siblings(id, 'phase'))?.id ?? 0

const cancel: Action = (_, draft) => {
  const { batch } = draft
  if (batch.endedAt !== null) return
  callBack(draft, 'cancelled', () => false)
  for (const phase of draft.phases)
    if (!isPhaseEnded(phase.status))
      draft.transitionPhase(phase, 'cancel', 'so', { completedAt: draft.now })
  draft.transitionBatch('cancel', 'so', {
    endedAt: draft.now,
    erasedAt: null,
    heldAt: null,
    heldBy: null,
    heldReason: null,
    windowClosedAt: null,
    windowOpensAt: null,
    windowOverrideUntil: null,
    windowOverrideBy: null,
    windowOverrideReason: null,
  })
  for (const step of draft.steps.values())
    if (step.kind === 'phase' && isOpen(step.status)) cancelStep(draft, step, 'so')
}

export const resumeNow: Action = (_, draft) => resume(draft, 'continue')

/** Relative frequency: results and time most, operators sometimes, a cancel very rarely. */
const ACTIONS: readonly (readonly [number, string, Action])[] = [
  [30, 'answer', answer],
  [15, 'passTime', passTime],
  [6, 'startSome', startSome],
  [8, 'expandSome', expandSome],
  [4, 'unexpected result', unexpected],
  [3, 'deadLetter', deadLetter],
  [3, 'join', join],
  [3, 'remove', forMember((draft, member) => removeMember(draft, member, 'source', 'gone'))],
  [1, 'moveOut', forMember((draft, member) => moveMemberOut(draft, member, 9, 'olga'))],
  [4, 'comeBack', takenUp((draft, member) => readmitMember(draft, member, 'readd', 'back'))],
  [4, 'retry', takenUp((draft, member) => retryMember(draft, member, 'retry'))],
  [
    3,
    'redo',
    takenUp((draft, member, course) =>
      redoMember(draft, member, anyStepOf(draft, member, course), 'redo'),
    ),
  ],
  [3, 'skip', forStep((draft, step) => skipStep(draft, step, 'skip'))],
  [2, 'markDone', forStep((draft, step) => markDone(draft, step, 'done', { ThingId: 1 }))],
  [3, 'accept', forStep((draft, step) => acceptLateResult(draft, step, 'accept'))],
  [2, 'hold', (_, draft) => hold(draft, 'wait')],
  [3, 'resume', resumeNow],
]
const TOTAL = ACTIONS.reduce((sum, [weight]) => sum + weight, 0)

/** A random action with its name. */
export function someAction(course: Course): readonly [string, Action] {
  if (course.pick(400) === 0) return ['cancel', cancel]
  let at = course.pick(TOTAL)
  for (const [weight, name, action] of ACTIONS) {
    if (at < weight) {
      if (action === passTime) course.now = new Date(+course.now + jumpSec(course) * 1000)
      return [name, action]
    }
    at -= weight
  }
  throw new Error('the weights do not add up')
}

const jumpSec = ({ pick }: Course) => (pick(10) === 0 ? pick(20_000) : pick(90))
