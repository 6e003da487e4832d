// What is sent, in which order, with which parameters; and what cannot be sent.
import assert from 'node:assert/strict'
import { priorityOf, sendQueued } from '../../../src/domain/decide/send.ts'
import { at, DEMO_YAML, type Facts, runbookOf } from './builders.ts'
import { type Row, stepOf, table } from './table.ts'

const send =
  (room: Record<string, number> = { w1: 10, w2: 10 }): Row['decide'] =>
  (draft) => {
    sendQueued(draft, new Map(Object.entries(room)))
  }

const MEMBERS = { 1: 'active', 2: 'active', 3: 'active' } as const
const THREE: Facts = {
  phases: { prepare: 'dispatched' },
  members: MEMBERS,
  steps: {
    11: '1 prepare/create pending slot',
    21: '2 prepare/create pending slot',
    31: '3 prepare/create pending slot',
  },
}
const sent = (member: number, id: number) => ({
  event: `step ${id} dispatch pending→dispatched: the member's next step in phase prepare, sent to w1`,
  job: `step-${id} New-Thing {"Upn":"user${member}@contoso.example"} for 3600 s, begun by +7200`,
  wait: `${id} job +3720`,
})
const recordedFor = (...pairs: (readonly [number, number])[]) => {
  const all = pairs.map(([member, id]) => sent(member, id))
  return {
    events: all.map(({ event }) => event),
    jobs: all.map(({ job }) => job),
    waits: all.map(({ wait }) => wait),
  }
}

table('free slots', [
  {
    name: 'send the longest waiting step first, then by id',
    facts: {
      ...THREE,
      steps: {
        ...THREE.steps,
        31: ['3 prepare/create pending', { wait: { kind: 'slot', since: at(-90), wakeAt: null } }],
      },
    },
    decide: send({ w1: 2 }),
    records: recordedFor([3, 31], [1, 11]),
  },
  { name: 'sends nothing to a worker without room', facts: THREE, decide: send({ w1: 0, w2: 5 }) },
  { name: 'sends nothing to a worker that it does not know', facts: THREE, decide: send({}) },
  {
    name: 'are used up',
    facts: THREE,
    decide: (draft) => {
      const room = new Map([['w1', 5]])
      sendQueued(draft, room)
      assert.equal(room.get('w1'), 2)
    },
    records: recordedFor([1, 11], [2, 21], [3, 31]),
  },
  {
    name: 'go to compensation before phase steps',
    facts: {
      phases: { prepare: 'dispatched' },
      members: { 1: 'active', 2: 'removed' },
      steps: { 11: '1 prepare/create pending slot', 51: '2 removal/clean pending slot' },
    },
    decide: send({ w1: 1 }),
    records: {
      events: [
        'step 51 dispatch pending→dispatched: the next cleanup step of version 1, sent to w1',
      ],
      jobs: ['removal-51 Remove-Thing {"Upn":"user2@contoso.example"} for 3600 s, begun by +7200'],
      waits: ['51 job +3720'],
    },
  },
])

const holding = { heldAt: at(-10), heldBy: 'olga', heldReason: 'wait' }
const UNDO: Facts = {
  members: { 1: 'failed' },
  phases: { prepare: 'dispatched' },
  steps: { 11: '1 prepare/create failed', 31: '1 rollback/undo-a pending slot' },
}
const INIT: Facts = { batch: 'init_dispatched', steps: { 1: '- init/setup pending slot' } }

table('what may be sent', [
  { name: 'nothing of a held batch', facts: { ...THREE, batch: holding }, decide: send() },
  { name: 'no undo of a held batch either', facts: { ...UNDO, batch: holding }, decide: send() },
  ...(['detected', 'init_dispatched', 'completed', 'failed', 'cancelled'] as const).map(
    (batch) => ({
      name: `no phase step of a batch that is ${batch}`,
      facts: { ...THREE, batch },
      decide: send(),
    }),
  ),
  {
    name: 'no init step of a cancelled batch',
    facts: { ...INIT, batch: 'cancelled' as const },
    decide: send(),
  },
  {
    name: 'init steps of a batch in init',
    facts: INIT,
    decide: send(),
    records: {
      events: ['step 1 dispatch pending→dispatched: the next init step of version 1, sent to w1'],
      jobs: ['init-1 New-Setup {} for 3600 s, begun by +7200'],
      waits: ['1 job +3720'],
    },
  },
  {
    name: 'a rollback that has begun, in a cancelled batch',
    facts: { ...UNDO, batch: 'cancelled' },
    decide: send(),
    records: {
      events: [
        'step 31 dispatch pending→dispatched: the next step of the rollback of version 1, sent to w1',
      ],
      jobs: ['rollback-31 Undo-A {"Upn":"user1@contoso.example"} for 3600 s, begun by +7200'],
      waits: ['31 job +3720'],
    },
  },
])

const SWITCH = (member: object, change: object = {}): Facts => ({
  batch: { outputs: { ThingId: 'of the batch' } },
  phases: { cutover: 'dispatched' },
  members: { 1: member },
  steps: { 13: ['1 cutover/switch pending slot', change] },
})
const switched = (job: string, attempt = '') => ({
  events: [
    `step 13 dispatch pending→dispatched: the member's next step in phase cutover${attempt}, sent to w2`,
  ],
  jobs: [`${job} for 600 s, begun by +4200`],
  waits: ['13 job +720'],
})

table('a job', [
  {
    name: "resolves the function's template; the member's outputs win over the batch's",
    facts: SWITCH({ outputs: { ThingId: 5 } }),
    decide: send(),
    records: switched('step-13 Switch-Mailbox {"Id":5}'),
    also: (draft) => {
      const { functionName, params, deadlineAt, dispatchedAt } = stepOf(draft, 13)
      assert.deepEqual(
        { functionName, params, deadlineAt, dispatchedAt },
        {
          functionName: 'Switch-Mailbox',
          params: { Id: 5 },
          deadlineAt: at(4200),
          dispatchedAt: at(0),
        },
      )
    },
  },
  {
    name: "resolves the batch's outputs before the data",
    facts: SWITCH({ data: { Kind: 'Site', ThingId: 'of the data' } }),
    decide: send(),
    records: switched('step-13 Switch-Site {"Id":"of the batch"}'),
  },
  {
    name: 'has its own id in a later attempt, and the event says so',
    facts: SWITCH({}, { attempt: 3, retryAfter: at(-1), error: 'before' }),
    decide: send(),
    records: switched('step-13-retry-3 Switch-Mailbox {"Id":"of the batch"}', ', attempt 4'),
    also: (draft) => {
      const { retryAfter, error, pollCount } = stepOf(draft, 13)
      assert.deepEqual(
        { retryAfter, error, pollCount },
        { retryAfter: null, error: null, pollCount: 0 },
      )
    },
  },
  {
    name: "can use the batch's id and start time",
    facts: {
      batch: 'failed',
      steps: {
        1: '- init/setup failed',
        31: ['- rollback/drop pending slot', { originStepId: 1 }],
      },
    },
    decide: send(),
    records: {
      events: [
        'step 31 dispatch pending→dispatched: the next step of the rollback of version 1, sent to w1',
      ],
      jobs: ['rollback-31 Remove-Setup {"Batch":7} for 3600 s, begun by +7200'],
      waits: ['31 job +3720'],
    },
  },
])

const unresolved = (why: string) => ({
  events: [
    `step 13 unresolved pending→failed: ${why}`,
    'member 1 fail active→failed: step switch of phase cutover failed',
  ],
  waits: ['13 nothing'],
})

table('templates that do not resolve', [
  {
    name: 'fail the step, name the variable and its nearest match, and send nothing',
    facts: {
      ...SWITCH({ data: { kinds: 'Site', Upn: 'x' } }),
      batch: { outputs: { thing_id: 1 } },
    },
    decide: send(),
    records: unresolved(
      'unresolved: {{Kind}} (did you mean {{kinds}}?), {{ThingId}} (did you mean {{thing_id}}?)',
    ),
  },
  {
    name: 'use no slot, and leave no retry time',
    facts: SWITCH({ data: {} }, { retryAfter: at(-1), attempt: 1 }),
    decide: (draft) => {
      const room = new Map([['w2', 1]])
      sendQueued(draft, room)
      assert.equal(room.get('w2'), 1)
    },
    records: unresolved('unresolved: {{Kind}}'),
    also: (draft) => assert.equal(stepOf(draft, 13).retryAfter, null),
  },
  {
    name: 'a function that is not a name',
    facts: {
      ...SWITCH({ data: { Kind: 7 } }),
      runbooks: { 1: runbookOf(DEMO_YAML.replace('"Switch-{{Kind}}"', '"{{Kind}}"')) },
    },
    decide: send(),
    records: unresolved('the function resolves to 7, which is not a name'),
  },
  {
    name: 'parameters too large for a message',
    facts: SWITCH({ outputs: { ThingId: 'x'.repeat(200_001) } }),
    decide: send(),
    records: unresolved(
      'the parameters have 200010 bytes, and a message takes 200000: shorten "Id", which has 200003',
    ),
  },
  {
    name: 'a step that its version does not have',
    facts: SWITCH({}),
    decide: (draft) => {
      draft.runbooks.set(1, runbookOf(DEMO_YAML.replace('name: cutover', 'name: other')))
      sendQueued(draft, new Map([['w2', 1]]))
    },
    records: unresolved('version 1 has no step "switch"'),
  },
  {
    name: 'start no rollback when no attempt reached a worker',
    facts: {
      phases: { prepare: 'dispatched' },
      members: { 1: { data: {} } },
      steps: { 11: '1 prepare/create pending slot' },
    },
    decide: send(),
    records: {
      events: [
        'step 11 unresolved pending→failed: unresolved: {{Upn}}',
        'member 1 fail active→failed: step create of phase prepare failed',
        'step 11 rollback_skipped: rollback undo is not needed: no attempt did anything',
      ],
      waits: ['11 nothing'],
    },
  },
  {
    name: 'start no rollback when every earlier job was withdrawn',
    facts: {
      phases: { prepare: 'dispatched' },
      members: { 1: { data: {} } },
      steps: { 11: ['1 prepare/create pending slot', { jobId: 'step-11', attempt: 1 }] },
    },
    decide: send(),
    records: {
      events: [
        'step 11 unresolved pending→failed: unresolved: {{Upn}}',
        'member 1 fail active→failed: step create of phase prepare failed',
        'step 11 rollback_skipped: rollback undo is not needed: no attempt did anything',
      ],
      waits: ['11 nothing'],
    },
  },
  {
    name: 'start the rollback when an earlier attempt reached a worker',
    facts: {
      phases: { prepare: 'dispatched' },
      members: { 1: { data: {} } },
      steps: {
        11: [
          '1 prepare/create pending slot',
          { jobId: 'step-11', mayHaveEffect: true, attempt: 1 },
        ],
      },
    },
    decide: send(),
    records: {
      events: [
        'step 11 unresolved pending→failed: unresolved: {{Upn}}',
        'member 1 fail active→failed: step create of phase prepare failed',
        'step 11 rollback_begun: rollback undo: 2 steps',
      ],
      made: ['-1 rollback/undo-a of 11.1', '-2 rollback/undo-b of 11.1'],
      waits: ['11 nothing', '-1 slot'],
    },
  },
  {
    name: 'in a rollback do not stop its next step',
    facts: {
      phases: { prepare: 'dispatched' },
      members: { 1: { status: 'failed', data: {} } },
      steps: {
        11: '1 prepare/create failed',
        31: '1 rollback/undo-a pending slot',
        32: '1 rollback/undo-b pending',
      },
    },
    decide: send(),
    records: {
      events: ['step 31 unresolved pending→failed: unresolved: {{Upn}}'],
      waits: ['31 nothing', '32 slot'],
    },
  },
])

const POLL = (change: object): Facts => ({
  phases: { prepare: 'dispatched' },
  members: { 1: 'active' },
  steps: {
    12: [
      '1 prepare/check polling slot',
      { attempt: 1, pollCount: 2, functionName: 'Test-Thing', params: { sent: true }, ...change },
    ],
  },
})

table('a re-poll', [
  {
    name: "repeats what was sent, with the poll's number in its id",
    facts: POLL({}),
    decide: send(),
    records: {
      jobs: ['step-12-retry-1-poll-3 Test-Thing {"sent":true} for 3600 s, begun by +7200'],
      waits: ['12 job +3720'],
    },
  },
  {
    name: 'after the timeout times the step out',
    facts: POLL({ pollTimeoutAt: at(0) }),
    decide: send(),
    records: {
      events: [
        'step 12 time_out polling→poll_timeout: not complete after 600 s of polling',
        'member 1 fail active→failed: step check of phase prepare failed',
      ],
      waits: ['12 nothing'],
    },
  },
])

table('priority', [
  {
    name: 'puts only phase steps second',
    facts: {
      phases: { prepare: 'dispatched' },
      members: { 1: 'active' },
      steps: {
        1: '- init/setup pending',
        11: '1 prepare/create pending',
        31: '1 rollback/undo-a pending',
        51: '1 removal/clean pending',
      },
    },
    decide: (draft) => assert.deepEqual([...draft.steps.values()].map(priorityOf), [0, 1, 0, 0]),
  },
])
