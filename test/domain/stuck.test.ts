// Why a batch is blocked, and when it will end: one case per reason.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Phase } from '../../src/domain/facts.ts'
import { type ForecastFacts, forecastEnd } from '../../src/domain/forecast.ts'
import { type Hold, holdsOnBatch, NO_HOLDS } from '../../src/domain/holds.ts'
import { throughputOf } from '../../src/domain/pace.ts'
import { findStuck, type StuckFacts, type WaitGroup } from '../../src/domain/stuck.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const ago = (minutes: number) => new Date(+NOW - minutes * 60_000)

const none = { pending: 0, dispatched: 0, polling: 0, succeeded: 0, failed: 0 }
const phase = (name: string, status: Phase['status'], more: Partial<Phase> = {}): Phase => ({
  id: 1,
  name,
  index: 0,
  offsetMinutes: 0,
  runbookVersion: 1,
  dueAt: null,
  status,
  skippedBecause: null,
  dispatchedAt: null,
  expandedThrough: 0,
  expandedAt: null,
  completedAt: null,
  fuseAcknowledged: 0,
  steps: { ...none, poll_timeout: 0, rolled_back: 0, cancelled: 0, skipped: 0 },
  members: { total: 0, passed: 0, failed: 0, stopped: 0, removed: 0 },
  ...more,
})

const batch: StuckFacts['batch'] = {
  id: 7,
  status: 'active',
  isManual: false,
  heldAt: null,
  heldBy: null,
  heldReason: null,
  endedAt: null,
  membersActive: 10,
}
const wait = (kind: WaitGroup['kind'], more: Partial<WaitGroup> = {}): WaitGroup => ({
  workerId: 'w1',
  kind,
  count: 4,
  isCountExact: true,
  since: ago(10),
  overdue: 0,
  wakeAt: null,
  stepId: 5,
  ...more,
})
const worker: StuckFacts['workers'][number] = {
  workerId: 'w1',
  isKnown: true,
  isConfigured: false,
  lastSeenAt: ago(1),
  window: 1_000,
  outstanding: 3,
  oldestSentAt: ago(16),
}

const hold = (scope: Hold['scope'], target: string): Hold => ({
  scope,
  target,
  batchId: scope === 'member' ? 7 : null,
  memberId: scope === 'member' ? Number(target) : null,
  memberKey: scope === 'member' ? 'ann' : null,
  heldAt: ago(5),
  heldBy: 'op',
  reason: 'wait',
})

describe('what is stuck', () => {
  const facts = (more: Partial<StuckFacts>): StuckFacts => ({
    batch,
    holds: NO_HOLDS,
    phases: [],
    waits: [],
    workers: [worker],
    openReviews: 0,
    now: NOW,
    ...more,
  })
  const held = { ...batch, heldAt: ago(5), heldBy: 'op', heldReason: 'wait' }
  const late = { overdue: 4, wakeAt: ago(2) }
  const CASES: readonly (readonly [
    about: string,
    more: Partial<StuckFacts>,
    ...kinds: string[],
  ])[] = [
    ['nothing', {}],
    ['a batch that is held', { batch: held }, 'held'],
    [
      'a held batch whose retries wait with it',
      { batch: held, waits: [wait('retry', late)] },
      'held',
    ],
    [
      'a held system, runbook and member, whose due phase waits',
      {
        holds: holdsOnBatch([hold('system', ''), hold('runbook', 'wave'), hold('member', '3')]),
        phases: [phase('cutover', 'pending', { dueAt: ago(5) })],
      },
      'held',
      'held',
      'held',
    ],
    [
      'a held worker, whose retries wait too',
      { holds: holdsOnBatch([hold('worker', 'w1')]), waits: [wait('slot'), wait('retry', late)] },
      'held',
    ],
    [
      'a manual batch that nobody advances',
      { batch: { ...batch, isManual: true }, phases: [phase('cutover', 'pending')] },
      'not_advanced',
    ],
    [
      'a manual batch at work',
      {
        batch: { ...batch, isManual: true },
        phases: [phase('prepare', 'dispatched'), phase('cutover', 'pending')],
      },
    ],
    ['open reviews', { openReviews: 2 }, 'reviews_open'],
    [
      'a phase that nobody began',
      { phases: [phase('cutover', 'pending', { dueAt: ago(5) })] },
      'phase_overdue',
    ],
    ['a phase to come', { phases: [phase('cutover', 'pending', { dueAt: ago(-5) })] }],
    ['a worker that nobody knows', { waits: [wait('slot')], workers: [] }, 'worker_unknown'],
    [
      'a worker that went silent, with steps and jobs',
      { waits: [wait('slot'), wait('job')], workers: [{ ...worker, lastSeenAt: ago(9) }] },
      'worker_silent',
      'worker_silent',
    ],
    [
      'a configured worker that never speaks',
      { waits: [wait('slot')], workers: [{ ...worker, isConfigured: true, lastSeenAt: null }] },
    ],
    [
      'a full window of which no job ends',
      { waits: [wait('slot')], workers: [{ ...worker, window: 3 }] },
      'window_full',
    ],
    [
      'a busy worker in its normal course',
      { waits: [wait('slot')], workers: [{ ...worker, window: 3, oldestSentAt: ago(14) }] },
    ],
    ['room in the window', { waits: [wait('slot')] }],
    ['a result that is overdue', { waits: [wait('job', late)] }, 'result_overdue'],
    ['a retry that is overdue', { waits: [wait('retry', late)] }, 'retry_overdue'],
    ['a poll that is overdue', { waits: [wait('poll', late)] }, 'poll_overdue'],
    ['a poll to come', { waits: [wait('poll', { wakeAt: ago(-1) })] }],
  ]
  for (const [about, more, ...kinds] of CASES) {
    it(about, () => {
      const found = findStuck(facts(more))
      assert.deepEqual(
        found.map(({ kind }) => kind),
        kinds,
      )
      for (const { because } of found) assert.match(because, /\w+ .*\w/)
    })
  }
})

it('does not claim to have counted what it has not', () => {
  const facts = { batch, holds: NO_HOLDS, phases: [], workers: [], openReviews: 0, now: NOW }
  const [found] = findStuck({ ...facts, waits: [wait('slot', { isCountExact: false })] })
  assert.match(found!.because, /4 or more steps/)
  assert.equal(found!.isCountExact, false)
})

describe('the forecast of a batch', () => {
  const open = (pending: number) => ({ steps: { ...phase('x', 'pending').steps, pending } })
  const facts = (more: Partial<ForecastFacts>): ForecastFacts => ({
    batch,
    holds: NO_HOLDS,
    phases: [],
    stepsPerMember: () => 2,
    stepsPerMin: 10,
    now: NOW,
    ...more,
  })
  const CASES: readonly (readonly [
    about: string,
    more: Partial<ForecastFacts>,
    at: Date | null,
  ])[] = [
    ['that has ended', { batch: { ...batch, endedAt: ago(3) } }, ago(3)],
    ['that is held', { batch: { ...batch, heldAt: ago(3) } }, null],
    ['of a held system', { holds: holdsOnBatch([hold('system', '')]) }, null],
    [
      'that waits for a person',
      { batch: { ...batch, isManual: true }, phases: [phase('cutover', 'pending')] },
      null,
    ],
    ['under way', { phases: [phase('a', 'dispatched', open(50))] }, ago(-5)],
    ['that stands still', { phases: [phase('a', 'dispatched', open(5))], stepsPerMin: 0 }, null],
    [
      'with a phase to come',
      { phases: [phase('a', 'dispatched', open(50)), phase('b', 'pending', { dueAt: ago(-60) })] },
      ago(-62),
    ],
    [
      'whose next phase falls due while it is still at the one before',
      { phases: [phase('a', 'dispatched', open(50)), phase('b', 'pending', { dueAt: ago(-1) })] },
      ago(-7),
    ],
    [
      'that has not begun',
      { phases: [phase('b', 'pending', { dueAt: ago(-60) })], stepsPerMin: 0 },
      ago(-60),
    ],
  ]
  for (const [about, more, at] of CASES)
    it(about, () => assert.deepEqual(forecastEnd(facts(more)).endsAt, at))
})

it('the pace is counted over a minute at least, and over the look where that was cut', () => {
  assert.deepEqual(throughputOf({ passed: 5, since: ago(0), isCut: false }, NOW), {
    stepsPerMin: 5,
    overSec: 60,
  })
  assert.deepEqual(throughputOf({ passed: 900, since: ago(0.5), isCut: true }, NOW), {
    stepsPerMin: 1_800,
    overSec: 30,
  })
  assert.deepEqual(throughputOf({ passed: 0, since: null, isCut: false }, NOW), {
    stepsPerMin: 0,
    overSec: 60,
  })
})
