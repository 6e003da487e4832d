// Counting, closing, reopening, the fuse.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import {
  checkFuse,
  closeFinished,
  outcomeOf,
  setHold,
  updateCounters,
} from '../../../src/domain/decide/finish.ts'
import type { MemberCounts } from '../../../src/domain/state/facts.ts'
import type { MemberStatus, StepStatus } from '../../../src/domain/state/transitions.ts'
import { at, countersOf, draftOf, type Facts, recount } from './builders.ts'
import { stepOf, table } from './table.ts'

const OUTCOMES: readonly [readonly StepStatus[], MemberStatus, ReturnType<typeof outcomeOf>][] = [
  [['succeeded', 'skipped'], 'active', 'passed'],
  [['succeeded'], 'removed', 'passed'],
  [['succeeded', 'pending'], 'active', 'open'],
  [['dispatched'], 'active', 'open'],
  [['polling', 'pending'], 'active', 'open'],
  [['succeeded', 'failed', 'cancelled'], 'failed', 'failed'],
  [['poll_timeout'], 'failed', 'failed'],
  [['rolled_back', 'cancelled'], 'failed', 'failed'],
  [['failed'], 'removed', 'failed'],
  [['cancelled', 'succeeded'], 'failed', 'stopped'],
  [['cancelled'], 'active', 'stopped'],
  [['cancelled', 'succeeded'], 'removed', 'removed'],
]

describe("a member's outcome in a phase", () => {
  for (const [statuses, member, outcome] of OUTCOMES) {
    it(`${statuses.join(', ')}, and the member is ${member}: ${outcome}`, () =>
      assert.equal(
        outcomeOf(statuses, (status) => status, member),
        outcome,
      ))
  }
})

const TWO: Facts = {
  phases: { prepare: 'dispatched', cutover: 'dispatched' },
  members: { 1: 'active', 2: 'active' },
  steps: {
    1: '- init/setup pending',
    11: '1 prepare/create succeeded',
    12: '1 prepare/check polling poll+30',
    13: '1 cutover/switch pending',
    21: '2 prepare/create failed',
    31: '2 rollback/undo-a dispatched job',
    51: '2 removal/clean pending',
  },
}

describe('counting', () => {
  const check = (draft: Draft) => assert.deepEqual(countersOf(draft), recount(draft))

  it('follows steps and members of every kind, and a second count changes nothing', () => {
    const draft = draftOf(TWO)
    draft.transitionStep(stepOf(draft, 12), 'succeed', 'so')
    draft.transitionStep(stepOf(draft, 31), 'succeed', 'so')
    draft.transitionStep(stepOf(draft, 51), 'cancel', 'so')
    draft.transitionStep(stepOf(draft, 1), 'dispatch', 'so')
    draft.transitionMember(draft.member(2), 'fail', 'so')
    updateCounters(draft)
    check(draft)
    updateCounters(draft)
    check(draft)
  })

  it('continues where the first count ended', () => {
    const draft = draftOf(TWO)
    draft.transitionStep(stepOf(draft, 13), 'dispatch', 'so')
    updateCounters(draft)
    draft.transitionStep(stepOf(draft, 13), 'fail', 'so')
    draft.transitionMember(draft.member(1), 'fail', 'so')
    draft.transitionStep(stepOf(draft, 12), 'cancel', 'so')
    updateCounters(draft)
    check(draft)
    draft.transitionMember(draft.member(1), 'remove', 'so')
    updateCounters(draft)
    check(draft)
    assert.deepEqual(draft.phases[0]!.members, {
      total: 2,
      passed: 0,
      failed: 1,
      stopped: 0,
      removed: 1,
    })
  })

  it('includes rows that this transaction inserted, and those that the decision created', () => {
    const draft = draftOf(TWO)
    draft.addMembers([...draftOf({ members: { 3: 'active' } }).members.values()])
    const born = draftOf({
      ...TWO,
      members: { 3: 'active' },
      steps: { 33: '3 prepare/create pending' },
    })
    draft.addSteps([...born.steps.values()], { isNew: true })
    const { id, ...row } = stepOf(draft, 51)
    draft.newStep({ ...row, removalNumber: 2 })
    draft.batch.membersActive++
    updateCounters(draft)
    check(draft)
    assert.equal(draft.phases[0]!.members.total, 3)
    assert.equal(draft.batch.removalOpen, 2)
  })

  it('needs only the steps that have not passed', () => {
    const draft = draftOf({
      phases: {
        prepare: { status: 'dispatched', members: counts({ total: 4, passed: 3 }) },
      },
      members: { 1: 'active' },
      steps: { 12: '1 prepare/check dispatched' },
    })
    draft.phases[0]!.steps.dispatched = 1
    draft.transitionStep(stepOf(draft, 12), 'succeed', 'so')
    updateCounters(draft)
    assert.deepEqual(draft.phases[0]!.members, counts({ total: 4, passed: 4 }))
  })
})

function counts(some: Partial<MemberCounts>): MemberCounts {
  return { total: 0, passed: 0, failed: 0, stopped: 0, removed: 0, ...some }
}

const phase = (members: Partial<MemberCounts>, more: object = {}) => ({
  status: 'dispatched' as const,
  members: counts(members),
  ...more,
})

table('closing', [
  {
    name: 'completes a phase when a member passed, even if others failed',
    facts: { phases: { prepare: phase({ total: 5, passed: 1, failed: 4 }), cutover: 'pending' } },
    decide: closeFinished,
    records: {
      events: ['phase prepare complete dispatched→completed: 1 of 5 members passed, 4 failed'],
    },
    also: ({ phases }) => assert.deepEqual(phases[0]!.completedAt, at(0)),
  },
  {
    name: 'fails a phase when a member failed and none passed',
    facts: {
      phases: { prepare: phase({ total: 5, failed: 1, removed: 4 }), cutover: 'pending' },
    },
    decide: closeFinished,
    records: {
      events: ['phase prepare fail dispatched→failed: 0 of 5 members passed, 1 failed'],
    },
  },
  {
    name: 'skips a phase when no active members are left',
    facts: {
      phases: { prepare: phase({ total: 5, stopped: 3, removed: 2 }), cutover: 'pending' },
    },
    decide: closeFinished,
    records: { events: ['phase prepare empty dispatched→skipped: no active members are left'] },
    also: ({ phases }) => assert.equal(phases[0]!.skippedBecause, 'empty'),
  },
  {
    name: 'keeps a phase open while a step is open',
    facts: {
      phases: { prepare: 'dispatched' },
      members: { 1: 'active' },
      steps: { 12: '1 prepare/check polling poll+5' },
    },
    decide: closeFinished,
  },
  {
    name: 'keeps a phase open until it is expanded',
    facts: { phases: { prepare: phase({}, { expandedAt: null }) } },
    decide: closeFinished,
  },
  {
    name: 'ends the batch with its last phase',
    facts: {
      batch: { membersActive: 147, membersFailed: 3, membersRemoved: 2 },
      phases: { prepare: 'completed', cutover: phase({ total: 150, passed: 147, failed: 3 }) },
    },
    decide: closeFinished,
    records: {
      events: [
        'phase cutover complete dispatched→completed: 147 of 150 members passed, 3 failed',
        'batch complete active→completed: every phase ended: 147 members completed, 3 failed, 2 removed',
      ],
    },
    also: ({ batch }) => assert.deepEqual(batch.endedAt, at(0)),
  },
  {
    name: 'fails the batch when a phase failed and none completed',
    facts: { phases: { prepare: 'failed', cutover: 'skipped' } },
    decide: closeFinished,
    records: {
      events: [
        'batch fail active→failed: every phase ended: 0 members completed, 0 failed, 0 removed',
      ],
    },
  },
  {
    name: 'completes a batch without members',
    facts: { phases: { prepare: 'skipped', cutover: 'skipped' } },
    decide: closeFinished,
    records: {
      events: [
        'batch complete active→completed: every phase ended: 0 members completed, 0 failed, 0 removed',
      ],
    },
  },
  ...(['initOpen', 'rollbackOpen', 'removalOpen'] as const).map((open) => ({
    name: `keeps the batch active while something is open: ${open}`,
    facts: { batch: { [open]: 1 }, phases: { prepare: 'completed' as const } },
    decide: closeFinished,
  })),
  {
    name: 'activates the batch after init',
    facts: { batch: 'init_dispatched', phases: { prepare: 'pending' } },
    decide: closeFinished,
    records: { events: ['batch activate init_dispatched→active: every init step passed'] },
  },
  {
    name: 'does not activate the batch during init',
    facts: { batch: { status: 'init_dispatched', initOpen: 1 }, phases: { prepare: 'pending' } },
    decide: closeFinished,
  },
  {
    name: 'leaves a cancelled batch cancelled',
    facts: { batch: { status: 'cancelled', rollbackOpen: 1 } },
    decide: closeFinished,
  },
  {
    name: 'leaves a batch failed that failed in init, while its rollback runs',
    facts: {
      batch: { status: 'failed', failedInInit: true, rollbackOpen: 1 },
      phases: { prepare: 'cancelled' },
    },
    decide: closeFinished,
  },
])

const OPEN_STEP: Facts = { members: { 1: 'active' }, steps: { 11: '1 prepare/create pending' } }

table('reopening', [
  ...(['completed', 'failed', 'skipped'] as const).map((status) => ({
    name: `a phase that is ${status} and gains an open step, and its batch`,
    facts: { ...OPEN_STEP, batch: 'completed' as const, phases: { prepare: status } },
    decide: closeFinished,
    records: {
      events: [
        `phase prepare reopen ${status}→dispatched: it has 1 open steps again`,
        'batch reopen completed→active: it has open work again',
      ],
    },
    also: ({ phases, batch }: Draft) => {
      const { completedAt, skippedBecause } = phases[0]!
      assert.deepEqual(
        { completedAt, skippedBecause, endedAt: batch.endedAt },
        { completedAt: null, skippedBecause: null, endedAt: null },
      )
    },
  })),
  ...(['superseded', 'cancelled'] as const).map((status) => ({
    name: `not a phase that is ${status}`,
    facts: { ...OPEN_STEP, batch: 'cancelled' as const, phases: { prepare: status } },
    decide: closeFinished,
  })),
  {
    name: 'not a phase that was skipped as overdue',
    facts: {
      ...OPEN_STEP,
      batch: 'completed',
      phases: { prepare: { status: 'skipped', skippedBecause: 'overdue' } },
    },
    decide: closeFinished,
  },
  {
    name: 'a batch whose member is removed after its end',
    facts: { batch: { status: 'completed', removalOpen: 1 }, phases: { prepare: 'completed' } },
    decide: closeFinished,
    records: { events: ['batch reopen completed→active: it has open work again'] },
  },
  {
    name: 'a failed phase whose last step was passed by hand, and its batch',
    facts: {
      batch: 'failed',
      phases: { prepare: { ...phase({ total: 1, passed: 1 }), status: 'failed' } },
    },
    decide: closeFinished,
    records: {
      events: [
        'phase prepare reopen failed→dispatched: a member passed it after all',
        'phase prepare complete dispatched→completed: 1 of 1 member passed, 0 failed',
        'batch reopen failed→active: a phase did not fail after all',
        'batch complete active→completed: every phase ended: 0 members completed, 0 failed, 0 removed',
      ],
    },
  },
])

const failedOf = (failed: number, total: number, more: object = {}): Facts => ({
  phases: { prepare: phase({ total, failed }, more) },
})

table('the fuse', [
  { name: 'ten failures are never too many', facts: failedOf(10, 10), decide: checkFuse },
  {
    name: 'does not blow at exactly the percentage',
    facts: failedOf(30, 100),
    decide: checkFuse,
  },
  {
    name: 'blows above ten failures and above the percentage',
    facts: failedOf(31, 100),
    decide: checkFuse,
    records: { events: ['batch held: 31 of 100 members failed in phase prepare: more than 30 %'] },
    also: ({ batch, wantsWithdrawal }) => {
      const { heldAt, heldBy, heldReason } = batch
      assert.deepEqual([heldAt, heldBy], [at(0), 'fuse'])
      assert.match(heldReason!, /31 of 100/)
      assert.equal(wantsWithdrawal, true)
    },
  },
  {
    name: 'blows at eleven of eleven',
    facts: failedOf(11, 11),
    decide: checkFuse,
    records: { events: ['batch held: 11 of 11 members failed in phase prepare: more than 30 %'] },
  },
  {
    name: 'ignores acknowledged failures',
    facts: failedOf(61, 100, { fuseAcknowledged: 31 }),
    decide: checkFuse,
  },
  {
    name: 'counts failures beyond the acknowledged ones',
    facts: failedOf(62, 100, { fuseAcknowledged: 31 }),
    decide: checkFuse,
    records: { events: ['batch held: 62 of 100 members failed in phase prepare: more than 30 %'] },
  },
  {
    name: 'does not blow on a held batch',
    facts: { ...failedOf(31, 100), batch: { heldAt: at(-9), heldBy: 'olga', heldReason: 'so' } },
    decide: checkFuse,
  },
  {
    name: 'does not blow on an ended batch',
    facts: { ...failedOf(31, 100), batch: 'failed' },
    decide: checkFuse,
  },
])

it('counts a new failure after an acknowledged one was repaired', () => {
  const draft = draftOf({
    phases: { prepare: phase({ total: 40, failed: 20 }, { fuseAcknowledged: 20 }) },
    members: { 1: 'failed' },
    steps: { 11: '1 prepare/create failed' },
  })
  draft.transitionStep(stepOf(draft, 11), 'reactivate', 'so')
  updateCounters(draft)
  assert.equal(draft.phases[0]!.fuseAcknowledged, 19)
})

table('holding', [
  {
    name: 'is noted, and withdraws untaken jobs',
    facts: {},
    decide: (draft) => setHold(draft, 'fuse', 'too hot'),
    records: { events: ['batch held: too hot'] },
    also: ({ batch, wantsWithdrawal }) => {
      assert.deepEqual([batch.heldBy, batch.heldReason, wantsWithdrawal], ['fuse', 'too hot', true])
    },
  },
])
