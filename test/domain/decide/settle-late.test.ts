// Unexpected results: late, duplicate or foreign. Recorded, kept where an operator may accept them, and nothing else.
import assert from 'node:assert/strict'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import type { WorkerResult } from '../../../src/domain/decide/settle.ts'
import type { Facts } from './builders.ts'
import { CANCELLED, CREATE, createTried, fails, PHASES, result, says } from './results.ts'
import { stepOf, table } from './table.ts'

table('a result of a cancelled step', [
  {
    name: 'success: kept for an operator to accept, and the cleanup continues',
    facts: CANCELLED,
    decide: result(11, says({ complete: true, data: { id: 'T' } })),
    records: {
      events: ['step 11 late_result: the worker reported after the cancel: success'],
      attempts: ['step-11 succeeded'],
      waits: ['11 nothing', '51 slot'],
    },
    also: (draft) => assert.deepEqual(stepOf(draft, 11).lateResult, { id: 'T' }),
  },
  {
    name: 'failure',
    facts: CANCELLED,
    decide: fails(11, 'no'),
    records: {
      events: ['step 11 late_result: the worker reported after the cancel: no (Odd)'],
      attempts: ['step-11 failed no (Odd)'],
      waits: ['11 nothing', '51 slot'],
    },
    also: (draft) => assert.equal(stepOf(draft, 11).lateResult, undefined),
  },
  {
    name: 'not complete, on a step with poll',
    facts: {
      phases: PHASES,
      members: { 1: 'removed' },
      steps: { 12: '1 prepare/check cancelled job' },
    },
    decide: result(12, says({ complete: false })),
    records: {
      events: ['step 12 late_result: the worker reported after the cancel: not complete'],
      attempts: ['step-12 incomplete'],
      waits: ['12 nothing'],
    },
  },
])

const ended = (line: string): Facts => ({
  phases: PHASES,
  members: { 1: 'failed' },
  steps: { 11: [line, { jobId: 'step-11' }] },
})
const late = (status: string) => [
  `step 11 unexpected_result: duplicate or late: job step-11 is already settled, the step is ${status}`,
]

const foreign = (timestamp?: string) => ({
  jobId: 'step-123-attempt-1',
  ...(timestamp && { timestamp }),
})

table('a result of the earlier system with a job id of its own', [
  {
    name: 'counts while the step awaits its first job',
    facts: CREATE,
    decide: result(11, { ...foreign(), ...says({ id: 'T' }) }),
    records: {
      events: ['step 11 succeed dispatched→succeeded: the worker reported success'],
      attempts: ['step-11 succeeded'],
      waits: ['11 nothing', '12 slot'],
    },
  },
  {
    name: 'of an attempt before is recorded: it is older than the job, or has no time',
    facts: createTried(1),
    decide: result(11, foreign()),
    records: {
      events: [
        "step 11 unexpected_result: late or foreign: job step-123-attempt-1 is not the step's job (step-11-retry-1)",
      ],
    },
  },
])

table('an unexpected result is recorded and changes nothing', [
  {
    name: 'of an earlier attempt',
    facts: createTried(1),
    decide: result(11, { jobId: 'step-11' }),
    records: {
      events: [
        "step 11 unexpected_result: late or foreign: job step-11 is not the step's job (step-11-retry-1)",
      ],
    },
  },
  {
    name: 'of a job that was not sent',
    facts: CREATE,
    decide: result(12, { jobId: 'step-12' }),
    records: {
      events: [
        "step 12 unexpected_result: late or foreign: job step-12 is not the step's job (none sent)",
      ],
    },
  },
  {
    name: 'from another worker; the job stays unsettled',
    facts: CREATE,
    decide: result(11, { workerId: 'w9' }),
    records: {
      events: ['step 11 unexpected_result: foreign: worker w9 answered a job sent to w1'],
    },
    also: (draft) => assert.equal(stepOf(draft, 11).wait?.kind, 'job'),
  },
  {
    name: 'as a duplicate',
    facts: ended('1 prepare/create succeeded'),
    decide: result(11, says({ id: 'other' })),
    records: { events: late('succeeded') },
    also: (draft) => assert.equal(stepOf(draft, 11).lateResult, undefined),
  },
  ...['failed', 'poll_timeout', 'cancelled'].map((status) => ({
    name: `keeps a late success of a step that is ${status} for an operator to accept`,
    facts: ended(`1 prepare/create ${status}`),
    decide: result(11, says({ id: 'T' })),
    records: { events: late(status) },
    also: (draft: Draft) => assert.deepEqual(stepOf(draft, 11).lateResult, { id: 'T' }),
  })),
  ...(
    [
      ['a late failure', { status: 'Failure' }],
      ['a late answer that is not complete', says({ complete: false })],
    ] as [string, Partial<WorkerResult>][]
  ).map(([name, body]) => ({
    name: `${name} is not kept`,
    facts: ended('1 prepare/create failed'),
    decide: result(11, body),
    records: { events: late('failed') },
    also: (draft: Draft) => assert.equal(stepOf(draft, 11).lateResult, undefined),
  })),
  {
    name: 'a late success of a foreign worker is not kept',
    facts: ended('1 prepare/create failed'),
    decide: result(11, { workerId: 'w9' }),
    records: {
      events: ['step 11 unexpected_result: foreign: worker w9 answered a job sent to w1'],
    },
    also: (draft) => assert.equal(stepOf(draft, 11).lateResult, undefined),
  },
  {
    name: 'does not keep a late success of a step that was rolled back',
    facts: ended('1 prepare/create rolled_back'),
    decide: result(11, says({ id: 'T' })),
    records: { events: late('rolled_back') },
    also: (draft) => assert.equal(stepOf(draft, 11).lateResult, undefined),
  },
])
