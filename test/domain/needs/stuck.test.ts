// Why a batch is blocked: one case per reason.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  findStuck,
  type PhaseWaitFacts,
  type StuckFacts,
  type WaitGroup,
  waitsOfPhases,
} from '../../../src/domain/needs/stuck.ts'
import { type Phase, UNBEGUN } from '../../../src/domain/state/facts.ts'
import { type Hold, holdsOnBatch, NO_HOLDS } from '../../../src/domain/state/holds.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const ago = (minutes: number) => new Date(+NOW - minutes * 60_000)

const none = { pending: 0, dispatched: 0, polling: 0, succeeded: 0, failed: 0 }
const phase = (name: string, status: Phase['status'], more: Partial<Phase> = {}): Phase => ({
  ...UNBEGUN,
  id: 1,
  name,
  index: 0,
  offsetMinutes: 0,
  runbookVersion: 1,
  dueAt: null,
  status,
  steps: { ...none, poll_timeout: 0, rolled_back: 0, undone: 0, cancelled: 0, skipped: 0 },
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
  windowClosedAt: null,
  windowOpensAt: null,
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
  jobMs: null,
  jobLimit: 1_000,
  outstanding: 3,
  oldestSentAt: ago(16),
}
const asleep = { ...worker, isConfigured: true, lastSeenAt: null }

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
    [
      'a batch that waits for its change window',
      { batch: { ...batch, windowClosedAt: ago(60) }, waits: [wait('slot')] },
      'window_closed',
    ],
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
      'phase_overdue',
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
      'a declared worker that has had its first job for four minutes',
      { waits: [wait('slot')], workers: [{ ...asleep, oldestSentAt: ago(4) }] },
    ],
    [
      'a declared worker that has had its first job for six minutes',
      { waits: [wait('slot')], workers: [{ ...asleep, oldestSentAt: ago(6) }] },
      'worker_silent',
    ],
    [
      'a declared worker that never speaks, and answers',
      { waits: [wait('slot')], workers: [{ ...asleep, jobMs: 40 }] },
    ],
    [
      'a declared worker that slept for hours and got a job just now',
      {
        waits: [wait('job')],
        workers: [{ ...asleep, lastSeenAt: ago(500), oldestSentAt: ago(2) }],
      },
    ],
    [
      'a declared worker that took its job, and died before its lease ended',
      {
        waits: [wait('job')],
        workers: [{ ...asleep, oldestSentAt: ago(3), lastSeenAt: ago(1.1) }],
      },
      'worker_silent',
    ],
    [
      'a worker that was seen within its lease',
      { waits: [wait('job')], workers: [{ ...worker, lastSeenAt: ago(0.9) }] },
    ],
    [
      'a worker that was not seen within its lease',
      { waits: [wait('job')], workers: [{ ...worker, lastSeenAt: ago(1.1) }] },
      'worker_silent',
    ],
    [
      'a declared worker that went silent with a job',
      { waits: [wait('job')], workers: [{ ...asleep, lastSeenAt: ago(9) }] },
      'worker_silent',
    ],
    [
      'a busy worker of which no job ends',
      { waits: [wait('slot')], workers: [{ ...worker, jobLimit: 3 }] },
      'worker_busy',
    ],
    [
      'a busy worker in its normal course',
      { waits: [wait('slot')], workers: [{ ...worker, jobLimit: 3, oldestSentAt: ago(14) }] },
    ],
    ['room within the job limit', { waits: [wait('slot')] }],
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

describe('what a phase waits for', () => {
  const HELD = 'is held by op: wait; end it with "matoolkit resume'
  const running = phase('cutover', 'dispatched', { id: 3 })
  const due = phase('cutover', 'pending', { id: 3, dueAt: ago(1) })
  const ofWorker = { phaseId: 3, workerId: 'w1', isSent: false, memberId: null }
  const heldPeople = holdsOnBatch([hold('member', '5'), hold('member', '6')])
  const CASES: readonly (readonly [
    name: string,
    facts: Partial<PhaseWaitFacts>,
    because: string | undefined,
  ])[] = [
    ['nothing, in its normal course', { waiters: [ofWorker] }, undefined],
    [
      'the batch',
      { batch: { ...batch, heldAt: ago(1), heldBy: 'op', heldReason: 'wait' } },
      `batch 7 ${HELD} --batch 7"`,
    ],
    [
      'the system',
      { holds: holdsOnBatch([hold('system', '')]) },
      `the whole system ${HELD} --all"`,
    ],
    [
      'a hold, once its time has come',
      { phases: [due], holds: holdsOnBatch([hold('runbook', 'wave')]) },
      `runbook wave ${HELD} --runbook wave"`,
    ],
    [
      'no hold before its time',
      {
        phases: [phase('cutover', 'pending', { id: 3, dueAt: ago(-1) })],
        holds: holdsOnBatch([hold('system', '')]),
      },
      undefined,
    ],
    [
      'a held worker',
      { holds: holdsOnBatch([hold('worker', 'w1')]), waiters: [ofWorker] },
      `worker w1 ${HELD} --worker w1"`,
    ],
    [
      'no worker that only others wait for',
      { holds: holdsOnBatch([hold('worker', 'w1')]), waiters: [{ ...ofWorker, phaseId: 4 }] },
      undefined,
    ],
    [
      'an unknown worker',
      { workers: [{ ...worker, isKnown: false, lastSeenAt: null }], waiters: [ofWorker] },
      'worker w1 was never seen and is not configured',
    ],
    [
      'a silent worker',
      { workers: [{ ...worker, lastSeenAt: ago(10) }], waiters: [ofWorker] },
      `worker w1 was last seen at ${ago(10).toISOString()}`,
    ],
    [
      'held people',
      {
        holds: heldPeople,
        waiters: [5, 6].map((memberId) => ({ ...ofWorker, workerId: null, memberId })),
      },
      `member ann of batch 7 ${HELD} --member 7 ann"; 1 other is held too`,
    ],
    [
      'no hold of a worker that runs its job',
      { holds: holdsOnBatch([hold('worker', 'w1')]), waiters: [{ ...ofWorker, isSent: true }] },
      undefined,
    ],
    [
      'nothing in an ended batch',
      { batch: { ...batch, endedAt: ago(1) }, holds: holdsOnBatch([hold('system', '')]) },
      undefined,
    ],
  ]
  for (const [name, more, because] of CASES)
    it(name, () => {
      const facts = { batch, holds: NO_HOLDS, phases: [running], workers: [worker], waiters: [] }
      assert.equal(waitsOfPhases({ ...facts, now: NOW, ...more }).get(3), because)
    })
})
