// Random decisions in random order: counters match the rows, a member has at most one unsettled job, no step overtakes another, no
// member is forgotten, no transition is illegal, and without further faults everything ends.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import { isEffective, nextOfMember, phaseOrder } from '../../../src/domain/decide/next.ts'
import { isUnsettled, type Step } from '../../../src/domain/state/facts.ts'
import {
  type Entity,
  isBatchEnded,
  isOpen,
  isPassed,
  statusAfter,
} from '../../../src/domain/state/transitions.ts'
import { countersOf, recount } from './builders.ts'
import {
  Course,
  expandSome,
  resumeNow,
  someAction,
  startSome,
  succeedAll,
  wakeAll,
} from './random-course.ts'

const SEEDS = 150
const ACTIONS_PER_SEED = 120
const ROUNDS_TO_END = 200

function check(course: Course, draft: Draft | null, what: string): void {
  if (draft === null) return
  assert.deepEqual(countersOf(draft), recount(draft), what)
  for (const steps of draft.stepsOfMember.values())
    assert.ok(steps.filter(isOutOrQueued).length <= 1, `two jobs out or queued, ${what}`)
  for (const { entity, event, from, to } of draft.events)
    if (from !== null) assert.equal(statusAfter(entity as Entity, event as never, from), to, what)
  for (const { step } of draft.jobs) if (step.kind === 'phase') checkOrder(draft, step, what)
  for (const step of draft.steps.values()) checkWait(step, what)
  for (const member of course.members) {
    const next = nextOfMember(draft, member)
    if (next?.status === 'pending') assert.ok(next.wait, `step ${next.id} is forgotten, ${what}`)
  }
}

const isOutOrQueued = ({ wait }: Step) => wait?.kind === 'job' || wait?.kind === 'slot'

/** Every earlier step has passed, and no earlier phase has steps left to give. */
function checkOrder(draft: Draft, sent: Step, what: string): void {
  const order = phaseOrder(draft.phases).filter((phase) => isEffective(draft, phase))
  const place = order.findIndex(({ id }) => id === sent.phaseId)
  const earlier = new Set(order.slice(0, place).map(({ id }) => id))
  for (const phase of order.slice(0, place))
    assert.notEqual(phase.status, 'pending', `step ${sent.id} overtakes ${phase.name}, ${what}`)
  for (const step of draft.siblings(sent.memberId, 'phase')) {
    const isBefore =
      earlier.has(step.phaseId!) ||
      (step.phaseId === sent.phaseId && step.definition.stepIndex < sent.definition.stepIndex)
    if (isBefore) assert.ok(isPassed(step.status), `step ${sent.id} overtakes ${step.id}, ${what}`)
  }
}

/** Columns that the database ties together, and the waits that a step must have. */
function checkWait(step: Step, what: string): void {
  const say = `step ${step.id} is ${step.status} and waits for ${step.wait?.kind}, ${what}`
  if (step.status === 'dispatched') assert.equal(step.wait?.kind, 'job', say)
  if (step.status === 'polling') assert.ok(step.wait && step.wait.kind !== 'retry', say)
  if (!isOpen(step.status)) assert.ok(step.wait === null || step.wait.kind === 'job', say)
  if (step.status === 'pending') assert.notEqual(step.wait?.kind, 'job', say)
  assert.equal(step.completedAt === null, isOpen(step.status), say)
  if (step.status !== 'pending') assert.equal(step.retryAfter, null, say)
  assert.ok(step.retryCount <= step.definition.maxRetries, say)
}

/** No more faults and operators: phases start, workers answer, time passes. */
function heal(course: Course, seed: number): void {
  for (let round = 0; round < ROUNDS_TO_END; round++) {
    if (course.batch.heldAt !== null)
      check(course, course.decide(resumeNow), `seed ${seed}, resume`)
    course.now = new Date(+course.now + 60_000)
    for (const action of [startSome, expandSome, wakeAll, succeedAll])
      check(course, course.decide(action, 10), `seed ${seed}, healing round ${round}`)
    const isQuiet = course.steps.every((step) => !isOpen(step.status) && !isUnsettled(step))
    if (isQuiet && isBatchEnded(course.batch.status)) return
  }
  const left = course.steps.filter((step) => isOpen(step.status) || isUnsettled(step))
  const rows = left.map(({ id, kind, status, wait }) => ({ id, kind, status, wait: wait?.kind }))
  assert.fail(`seed ${seed} does not end: batch ${course.batch.status}, ${JSON.stringify(rows)}`)
}

it(`${SEEDS} batches of random decisions keep every promise, and end`, () => {
  const ends = new Set<string>()
  for (let seed = 1; seed <= SEEDS; seed++) {
    const course = new Course(seed)
    for (let n = 0; n < ACTIONS_PER_SEED; n++) {
      const [name, action] = someAction(course)
      check(course, course.decide(action), `seed ${seed}, action ${n}: ${name}`)
    }
    heal(course, seed)
    ends.add(course.batch.status)
  }
  assert.deepEqual([...ends].sort(), ['cancelled', 'completed', 'failed'])
})
