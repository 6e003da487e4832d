// A job's end: results of every shape, lost jobs, dead letters, withdrawals.
import assert from 'node:assert/strict'
import type { Json } from '../../../src/base/text/json.ts'
import { definitionOf } from '../../../src/domain/decide/definitions.ts'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import { onDeadLetter, onLost, onWithdrawn } from '../../../src/domain/decide/settle.ts'
import { at, DEMO, type Facts } from './builders.ts'
import { CANCELLED, CREATE, createTried, fails, PHASES, result, says } from './results.ts'
import { stepOf, table } from './table.ts'

const CHECK: Facts = {
  phases: PHASES,
  members: { 1: 'active' },
  steps: { 11: '1 prepare/create succeeded', 12: '1 prepare/check dispatched job' },
}
/** A poll was sent; polling has lasted 90 s of ten minutes. */
const polled = (change: object = {}): Facts => ({
  ...CHECK,
  steps: { 12: ['1 prepare/check polling job', { pollCount: 2, ...change }] },
})
const SUCCEEDED = {
  events: ['step 11 succeed dispatched→succeeded: the worker reported success'],
  attempts: ['step-11 succeeded'],
  waits: ['11 nothing', '12 slot'],
}
const missing = (because: string) => ({
  ...SUCCEEDED,
  events: [...SUCCEEDED.events, `step 11 outputs_missing: ${because}`],
})

table('a success', [
  {
    name: "queues the member's next step and keeps the outputs",
    facts: CREATE,
    decide: result(11, says({ ID: 'T-1', other: 2 })),
    records: SUCCEEDED,
    also: (draft) => {
      assert.deepEqual(draft.member(1).outputs, { ThingId: 'T-1' })
      assert.deepEqual(stepOf(draft, 11).result, { ID: 'T-1', other: 2 })
      assert.deepEqual(stepOf(draft, 11).completedAt, at(0))
    },
  },
  {
    name: 'unwraps data from a result with complete',
    facts: CREATE,
    decide: result(11, says({ complete: true, data: { id: 'T-2' } })),
    records: SUCCEEDED,
    also: (draft) => assert.deepEqual(draft.member(1).outputs, { ThingId: 'T-2' }),
  },
  {
    name: 'keeps data as it is without complete',
    facts: CREATE,
    decide: result(11, says({ data: { id: 'T-2' } })),
    records: missing('the result lacks id'),
    also: (draft) => assert.deepEqual(stepOf(draft, 11).result, { data: { id: 'T-2' } }),
  },
  {
    name: 'keeps the result itself when complete comes without data',
    facts: CREATE,
    decide: result(11, says({ complete: true, id: 'T-3' })),
    records: SUCCEEDED,
    also: (draft) => assert.deepEqual(draft.member(1).outputs, { ThingId: 'T-3' }),
  },
  ...([true, [1], 'text', 7, null] as Json[]).map((value) => ({
    name: `that is ${JSON.stringify(value)} lacks the output and does no harm`,
    facts: CREATE,
    decide: result(11, says(value)),
    records: missing('the result is not an object and lacks id'),
  })),
  {
    name: 'may have no body',
    facts: CREATE,
    decide: result(11),
    records: missing('the result is not an object and lacks id'),
  },
  {
    name: 'is not foreign when the worker leaves out its id or writes it in capitals',
    facts: CREATE,
    decide: result(11, { workerId: 'W1', result: { id: 1 } }),
    records: SUCCEEDED,
  },
  {
    name: 'of an init step sets outputs of the whole batch',
    facts: {
      batch: 'init_dispatched',
      steps: { 1: '- init/setup dispatched job', 2: '- init/warm pending' },
    },
    decide: result(1, says({ id: 'S' })),
    records: {
      events: ['step 1 succeed dispatched→succeeded: the worker reported success'],
      attempts: ['init-1 succeeded'],
      waits: ['1 nothing', '2 slot'],
    },
    also: (draft) => assert.deepEqual(draft.batch.outputs, { SiteId: 'S' }),
  },
])

const uncapped = {
  ...definitionOf(DEMO.phases[0]!.steps[0]!, 0, 1),
  maxRetries: 20,
  retryMaxIntervalSec: null,
}
const UNCAPPED: Facts = {
  ...CREATE,
  steps: {
    11: ['1 prepare/create dispatched job', { attempt: 15, retryCount: 15, definition: uncapped }],
  },
}

table('a failure', [
  {
    name: 'is retried after the interval',
    facts: CREATE,
    decide: fails(11, 'it broke'),
    records: {
      events: ['step 11 retry dispatched→pending: retry 1 of 2 in 60 s: it broke (Odd)'],
      attempts: ['step-11 failed it broke (Odd)'],
      waits: ['11 retry +60'],
    },
    also: (draft) => {
      const { attempt, retryCount, retryAfter, error } = stepOf(draft, 11)
      assert.deepEqual(
        { attempt, retryCount, retryAfter, error },
        { attempt: 1, retryCount: 1, retryAfter: at(60), error: 'it broke (Odd)' },
      )
    },
  },
  {
    name: 'is retried the second time after twice the interval, up to the cap',
    facts: createTried(1),
    decide: fails(11, 'it broke'),
    records: {
      events: ['step 11 retry dispatched→pending: retry 2 of 2 in 90 s: it broke (Odd)'],
      attempts: ['step-11-retry-1 failed it broke (Odd)'],
      waits: ['11 retry +90'],
    },
  },
  {
    name: 'doubles the interval up to a day without a cap',
    facts: UNCAPPED,
    decide: fails(11, 'it broke'),
    records: {
      events: ['step 11 retry dispatched→pending: retry 16 of 20 in 86400 s: it broke (Odd)'],
      attempts: ['step-11-retry-15 failed it broke (Odd)'],
      waits: ['11 retry +86400'],
    },
  },
  ...(
    [
      [0, 54],
      [0.999_999_999_999, 66],
    ] as const
  ).map(([random, seconds]) => ({
    name: `is retried with a jitter of ten percent: ${seconds} s for random ${random}`,
    facts: { ...CREATE, random: () => random },
    decide: fails(11, 'no'),
    records: {
      events: [`step 11 retry dispatched→pending: retry 1 of 2 in ${seconds} s: no (Odd)`],
      attempts: ['step-11 failed no (Odd)'],
      waits: [`11 retry +${seconds}`],
    },
  })),
  {
    name: 'without retries left fails the member, cancels its open steps and creates the rollback',
    facts: createTried(2),
    decide: fails(11, 'it broke'),
    records: {
      events: [
        'step 11 fail dispatched→failed: it broke (Odd)',
        'member 1 fail active→failed: step create of phase prepare failed',
        'step 12 cancel pending→cancelled: the member failed at step create',
        'step 11 rollback_begun: rollback undo: 2 steps',
      ],
      attempts: ['step-11-retry-2 failed it broke (Odd)'],
      made: ['-1 rollback/undo-a of 11.2', '-2 rollback/undo-b of 11.2'],
      waits: ['11 nothing', '-1 slot'],
    },
  },
  {
    name: 'without a message says so',
    facts: CREATE,
    decide: result(11, { status: 'Failure', error: null }),
    records: {
      events: [
        'step 11 retry dispatched→pending: retry 1 of 2 in 60 s: the worker reported a failure without a message',
      ],
      attempts: ['step-11 failed the worker reported a failure without a message'],
      waits: ['11 retry +60'],
    },
  },
  {
    name: 'is "not complete" on a step without poll',
    facts: CREATE,
    decide: result(11, says({ complete: false })),
    records: {
      events: [
        'step 11 retry dispatched→pending: retry 1 of 2 in 60 s: the worker reported "not complete", but the step has no poll',
      ],
      attempts: ['step-11 failed the worker reported "not complete", but the step has no poll'],
      waits: ['11 retry +60'],
    },
  },
])

table('polling', [
  {
    name: 'starts with the first "not complete"',
    facts: CHECK,
    decide: result(12, says({ complete: false })),
    records: {
      events: ['step 12 incomplete dispatched→polling: the worker reported "not complete"'],
      attempts: ['step-12 incomplete'],
      waits: ['12 poll +60'],
    },
    also: (draft) => {
      const { pollStartedAt, pollTimeoutAt, lastPolledAt } = stepOf(draft, 12)
      assert.deepEqual([pollStartedAt, pollTimeoutAt, lastPolledAt], [at(0), at(600), at(0)])
    },
  },
  {
    name: 'continues, and keeps its start',
    facts: polled(),
    decide: result(12, says({ complete: false })),
    records: {
      events: ['step 12 incomplete polling→polling: the worker reported "not complete"'],
      attempts: ['step-12-poll-2 incomplete'],
      waits: ['12 poll +60'],
    },
    also: (draft) => assert.deepEqual(stepOf(draft, 12).pollTimeoutAt, at(510)),
  },
  {
    name: 'wakes for the timeout when that comes before the next interval',
    facts: polled({ pollTimeoutAt: at(20) }),
    decide: result(12, says({ complete: false })),
    records: {
      events: ['step 12 incomplete polling→polling: the worker reported "not complete"'],
      attempts: ['step-12-poll-2 incomplete'],
      waits: ['12 poll +20'],
    },
  },
  {
    name: 'decides by the answer of a poll sent before the timeout: complete',
    facts: polled({ pollTimeoutAt: at(-1) }),
    decide: result(12, says({ complete: true })),
    records: {
      events: ['step 12 succeed polling→succeeded: the worker reported success'],
      attempts: ['step-12-poll-2 succeeded'],
      waits: ['12 nothing'],
    },
  },
  {
    name: 'decides by the answer of a poll sent before the timeout: not complete, never retried',
    facts: polled({ pollTimeoutAt: at(0) }),
    decide: result(12, says({ complete: false })),
    records: {
      events: [
        'step 12 incomplete polling→polling: the worker reported "not complete"',
        'step 12 time_out polling→poll_timeout: not complete after 600 s of polling',
        'member 1 fail active→failed: step check of phase prepare failed',
      ],
      attempts: ['step-12-poll-2 incomplete'],
      waits: ['12 nothing'],
    },
  },
  {
    name: 'ignores time on hold: an answer after the timeout continues the polling',
    facts: {
      ...polled({ pollTimeoutAt: at(-10) }),
      batch: { heldAt: at(-30), heldBy: 'olga', heldReason: 'wait' },
    },
    decide: result(12, says({ complete: false })),
    records: {
      events: ['step 12 incomplete polling→polling: the worker reported "not complete"'],
      attempts: ['step-12-poll-2 incomplete'],
      waits: ['12 poll +20'],
    },
  },
  {
    name: 'retries a failure, and keeps the time of the first poll',
    facts: polled(),
    decide: fails(12, 'no'),
    records: {
      events: ['step 12 retry polling→pending: retry 1 of 1 in 60 s: no (Odd)'],
      attempts: ['step-12-poll-2 failed no (Odd)'],
      waits: ['12 retry +60'],
    },
    also: (draft) => assert.deepEqual(stepOf(draft, 12).pollStartedAt, at(-90)),
  },
])

const overdue = (stepId: number) => (draft: Draft) => {
  const step = stepOf(draft, stepId)
  onLost(draft, step, step.jobId!)
}
const untaken = (stepId: number) => (draft: Draft) => {
  const step = stepOf(draft, stepId)
  onDeadLetter(draft, step, step.jobId!, 'too old', 'never')
}
const NOT_STARTED = 'worker w1 did not start the job within 30s; nothing ran and no retry is used'

table('a lost job', [
  {
    name: 'is retried like a failure',
    facts: CREATE,
    decide: overdue(11),
    records: {
      events: ['step 11 retry dispatched→pending: retry 1 of 2 in 60 s: no result in time'],
      attempts: ['step-11 lost no result in time'],
      waits: ['11 retry +60'],
    },
  },
  {
    name: 'of a poll is polled again and costs no attempt',
    facts: polled(),
    decide: overdue(12),
    records: {
      events: [
        'step 12 lost polling→polling: no result in time; polling again at the next interval',
      ],
      attempts: ['step-12-poll-2 lost no result in time'],
      waits: ['12 poll +60'],
    },
    also: (draft) => assert.equal(stepOf(draft, 12).attempt, 0),
  },
  {
    name: 'of a poll times out after the timeout',
    facts: polled({ pollTimeoutAt: at(-1), retryCount: 1 }),
    decide: overdue(12),
    records: {
      events: [
        'step 12 lost polling→polling: no result in time; polling again at the next interval',
        'step 12 time_out polling→poll_timeout: not complete after 600 s of polling',
        'member 1 fail active→failed: step check of phase prepare failed',
      ],
      attempts: ['step-12-poll-2 lost no result in time'],
      waits: ['12 nothing'],
    },
  },
  {
    name: 'of a cancelled step only settles, and the cleanup continues',
    facts: CANCELLED,
    decide: overdue(11),
    records: {
      events: ['step 11 settled: no result in time; the step was already cancelled'],
      attempts: ['step-11 lost no result in time'],
      waits: ['11 nothing', '51 slot'],
    },
  },
  {
    name: 'that is settled meanwhile is not lost',
    facts: createTried(1),
    decide: (draft) => onLost(draft, stepOf(draft, 11), 'step-11'),
    records: {},
  },
  {
    name: 'in the dead letters is retried with its reason',
    facts: CREATE,
    decide: (draft) => onDeadLetter(draft, stepOf(draft, 11), 'step-11', 'too old', 'possibly'),
    records: {
      events: [
        'step 11 retry dispatched→pending: retry 1 of 2 in 60 s: the job could not be delivered: too old',
      ],
      attempts: ['step-11 dead_lettered the job could not be delivered: too old'],
      waits: ['11 retry +60'],
    },
  },
  {
    name: "is ignored in the dead letters when it is not the step's unsettled job",
    facts: createTried(1),
    decide: (draft) => onDeadLetter(draft, stepOf(draft, 11), 'step-11', 'too old', 'possibly'),
    records: {},
  },
])

table('a job that no worker started in time', [
  {
    name: 'returns to the queue with its reason, a new attempt and no retry used, however few are left',
    facts: createTried(2),
    decide: untaken(11),
    records: {
      events: [`step 11 withdraw dispatched→pending: ${NOT_STARTED}`],
      attempts: [`step-11-retry-2 undelivered ${NOT_STARTED}`],
      waits: ['11 slot'],
    },
    also: (draft) => {
      const { attempt, retryCount, error } = stepOf(draft, 11)
      assert.deepEqual([attempt, retryCount, error], [3, 2, NOT_STARTED])
    },
  },
  {
    name: 'of a poll is polled again at the next interval',
    facts: polled(),
    decide: untaken(12),
    records: {
      events: [`step 12 lost polling→polling: ${NOT_STARTED}`],
      attempts: [`step-12-poll-2 undelivered ${NOT_STARTED}`],
      waits: ['12 poll +60'],
    },
  },
  {
    name: 'of a cancelled step only settles, and the cleanup continues',
    facts: CANCELLED,
    decide: untaken(11),
    records: {
      events: [`step 11 settled: ${NOT_STARTED}`],
      attempts: [`step-11 undelivered ${NOT_STARTED}`],
      waits: ['11 nothing', '51 slot'],
    },
  },
])

const withdrawn = (stepId: number) => (draft: Draft) =>
  onWithdrawn(draft, stepOf(draft, stepId), 'a hold')

table('a withdrawn job', [
  {
    name: 'returns to the queue with a new attempt and no retry used',
    facts: createTried(2),
    decide: withdrawn(11),
    records: {
      events: ['step 11 withdraw dispatched→pending: the job was withdrawn: a hold'],
      attempts: ['step-11-retry-2 withdrawn a hold'],
      waits: ['11 slot'],
    },
    also: (draft) => {
      const { attempt, retryCount } = stepOf(draft, 11)
      assert.deepEqual({ attempt, retryCount }, { attempt: 3, retryCount: 2 })
    },
  },
  {
    name: 'of a poll is polled again at the next interval',
    facts: polled(),
    decide: withdrawn(12),
    records: {
      events: ['step 12 lost polling→polling: the poll was withdrawn: a hold'],
      attempts: ['step-12-poll-2 withdrawn a hold'],
      waits: ['12 poll +60'],
    },
  },
  {
    name: 'of a cancelled step only settles',
    facts: CANCELLED,
    decide: withdrawn(11),
    records: {
      events: ['step 11 settled: the job was withdrawn: a hold'],
      attempts: ['step-11 withdrawn a hold'],
      waits: ['11 nothing', '51 slot'],
    },
  },
])
