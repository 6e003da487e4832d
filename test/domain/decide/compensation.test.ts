// Final failures and compensation: rollback and cleanup, step by step to the end.
import assert from 'node:assert/strict'
import { cancelOpenSteps } from '../../../src/domain/decide/cancel.ts'
import { beginCleanup, beginRollback } from '../../../src/domain/decide/compensation.ts'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import { failStep } from '../../../src/domain/decide/fail.ts'
import { onResult } from '../../../src/domain/decide/settle.ts'
import { at, DEMO_YAML, type Facts, runbookOf } from './builders.ts'
import { stepOf, table } from './table.ts'

const PHASES = { prepare: 'dispatched', cutover: 'dispatched' } as const

table('a final failure', [
  {
    name: "cancels its member's open steps in all phases; an unsettled job stays unsettled",
    facts: {
      phases: PHASES,
      members: { 1: 'active', 2: 'active' },
      steps: {
        11: '1 prepare/check dispatched',
        12: '1 prepare/create dispatched job',
        13: '1 cutover/switch pending retry+60',
        21: '2 prepare/create pending slot',
      },
    },
    decide: (draft) => failStep(draft, stepOf(draft, 11), 'fail', 'it broke'),
    records: {
      events: [
        'step 11 fail dispatched→failed: it broke',
        'member 1 fail active→failed: step check of phase prepare failed',
        'step 12 cancel dispatched→cancelled: the member failed at step check',
        'step 13 cancel pending→cancelled: the member failed at step check',
      ],
      waits: ['13 nothing'],
    },
    also: (draft) => {
      assert.equal(stepOf(draft, 12).wait?.kind, 'job')
      assert.equal(stepOf(draft, 13).retryAfter, null)
      assert.deepEqual(draft.member(1).failedAt, at(0))
    },
  },
  {
    name: 'of init fails the batch, cancels other init steps and pending phases, and rolls back',
    facts: {
      batch: 'init_dispatched',
      phases: { prepare: 'pending', cutover: 'pending' },
      steps: { 1: ['- init/setup dispatched', { mayHaveEffect: true }], 2: '- init/warm pending' },
    },
    decide: (draft) => failStep(draft, stepOf(draft, 1), 'fail', 'it broke'),
    records: {
      events: [
        'step 1 fail dispatched→failed: it broke',
        'step 2 cancel pending→cancelled: init step setup failed',
        'phase prepare cancel pending→cancelled: init step setup failed',
        'phase cutover cancel pending→cancelled: init step setup failed',
        'batch fail init_dispatched→failed: init step setup failed',
        'step 1 rollback_begun: rollback undo-setup: 1 step',
      ],
      made: ['-1 rollback/drop of 1.0'],
    },
    also: ({ batch }) => {
      assert.equal(batch.failedInInit, true)
      assert.deepEqual(batch.endedAt, at(0))
    },
  },
  {
    name: 'of a rerun init is noted, and the batch continues',
    facts: {
      batch: 'active',
      phases: { prepare: 'pending' },
      steps: { 2: '- init/warm dispatched' },
    },
    decide: (draft) => failStep(draft, stepOf(draft, 2), 'fail', 'it broke'),
    records: {
      events: [
        'step 2 fail dispatched→failed: it broke',
        'step 2 init_failed: init step warm failed; the batch continues',
      ],
    },
  },
  {
    name: 'of a removed member leaves the member removed',
    facts: {
      phases: PHASES,
      members: { 1: 'removed' },
      steps: { 11: '1 prepare/check dispatched' },
    },
    decide: (draft) => failStep(draft, stepOf(draft, 11), 'fail', 'it broke'),
    records: { events: ['step 11 fail dispatched→failed: it broke'] },
  },
])

table('cancelling the open steps of a member', [
  {
    name: 'leaves passed and failed steps and compensation alone',
    facts: {
      phases: PHASES,
      members: { 1: 'failed' },
      steps: {
        11: '1 prepare/create failed',
        12: '1 prepare/check polling poll+30',
        13: '1 cutover/switch succeeded',
        31: '1 rollback/undo-a pending slot',
      },
    },
    decide: (draft) => cancelOpenSteps(draft, 1, 'so'),
    records: { events: ['step 12 cancel polling→cancelled: so'], waits: ['12 nothing'] },
  },
])

const failed = (attempt = 0): Facts => ({
  phases: PHASES,
  members: { 1: 'failed' },
  steps: { 11: ['1 prepare/create failed', { attempt }] },
})

table('creating compensation', [
  {
    name: 'a rollback: a row per step, for this attempt of the origin',
    facts: failed(4),
    decide: (draft) => beginRollback(draft, stepOf(draft, 11)),
    records: {
      events: ['step 11 rollback_begun: rollback undo: 2 steps'],
      made: ['-1 rollback/undo-a of 11.4', '-2 rollback/undo-b of 11.4'],
    },
  },
  {
    name: 'no rollback for a step that names none',
    facts: {
      phases: PHASES,
      members: { 1: 'failed' },
      steps: { 12: '1 prepare/check failed' },
    },
    decide: (draft) => beginRollback(draft, stepOf(draft, 12)),
  },
  {
    name: 'notes a rollback that the version does not have',
    facts: failed(),
    decide: (draft) => {
      const other = runbookOf(
        DEMO_YAML.replaceAll(/\bundo:/g, 'redo:').replaceAll(/: undo$/gm, ': redo'),
      )
      draft.runbooks.set(1, other)
      beginRollback(draft, stepOf(draft, 11))
    },
    records: { events: ['step 11 rollback_missing: version 1 has no rollback "undo"'] },
  },
  {
    name: 'a cleanup: a row per step, for this removal of the member',
    facts: { members: { 1: { status: 'removed', removalNumber: 3 } } },
    decide: (draft) => beginCleanup(draft, draft.member(1)),
    records: { made: ['-1 removal/clean of 3', '-2 removal/tidy of 3'] },
  },
])

const undoing = (last: string, origin = '1 prepare/create failed', attempt = 0): Facts => ({
  phases: PHASES,
  members: { 1: 'removed' },
  steps: {
    11: [origin, { attempt }],
    31: `1 rollback/undo-a ${last}`,
    32: '1 rollback/undo-b dispatched job',
    51: '1 removal/clean pending',
  },
})
const answer = (stepId: number, status: 'Success' | 'Failure') => (draft: Draft) => {
  const step = stepOf(draft, stepId)
  onResult(draft, step, { jobId: step.jobId!, status, error: { message: 'no' } })
}
const UNDONE = {
  attempts: ['rollback-32 succeeded'],
  waits: ['32 nothing', '51 slot'],
}
const SUCCEED = 'step 32 succeed dispatched→succeeded: the worker reported success'

table('the end of a rollback', [
  {
    name: 'sends each step after the previous one has ended',
    facts: {
      ...undoing('dispatched job'),
      steps: {
        11: '1 prepare/create failed',
        31: '1 rollback/undo-a dispatched job',
        32: '1 rollback/undo-b pending',
      },
    },
    decide: answer(31, 'Success'),
    records: {
      events: ['step 31 succeed dispatched→succeeded: the worker reported success'],
      attempts: ['rollback-31 succeeded'],
      waits: ['31 nothing', '32 slot'],
    },
  },
  {
    name: 'continues after a failed step',
    facts: {
      ...undoing('dispatched job'),
      steps: {
        11: '1 prepare/create failed',
        31: '1 rollback/undo-a dispatched job',
        32: '1 rollback/undo-b pending',
      },
    },
    decide: answer(31, 'Failure'),
    records: {
      events: ['step 31 fail dispatched→failed: no'],
      attempts: ['rollback-31 failed no'],
      waits: ['31 nothing', '32 slot'],
    },
  },
  ...['failed', 'poll_timeout'].map((status) => ({
    name: `all succeeded: an origin that is ${status} is rolled back, and the cleanup follows`,
    facts: undoing('succeeded', `1 prepare/create ${status}`),
    decide: answer(32, 'Success'),
    records: {
      ...UNDONE,
      events: [
        SUCCEED,
        `step 11 roll_back ${status}→rolled_back: every step of its rollback succeeded`,
      ],
    },
  })),
  {
    name: 'one failed: the origin keeps its status, and the event names the step',
    facts: undoing('failed'),
    decide: answer(32, 'Success'),
    records: {
      ...UNDONE,
      events: [
        SUCCEED,
        'step 11 rollback_incomplete: the rollback ended with failed steps: undo-a',
      ],
    },
    also: (draft) => assert.equal(stepOf(draft, 11).status, 'failed'),
  },
  {
    name: 'ignores failures in the rollback of an earlier attempt',
    facts: {
      ...undoing('succeeded'),
      steps: {
        11: ['1 prepare/create failed', { attempt: 1 }],
        21: '1 rollback/undo-a failed',
        31: ['1 rollback/undo-a succeeded', { originAttempt: 1 }],
        32: ['1 rollback/undo-b dispatched job', { originAttempt: 1 }],
        51: '1 removal/clean pending',
      },
    },
    decide: answer(32, 'Success'),
    records: {
      ...UNDONE,
      events: [
        SUCCEED,
        'step 11 roll_back failed→rolled_back: every step of its rollback succeeded',
      ],
    },
  },
  {
    name: 'marks nothing when the origin was reopened meanwhile',
    facts: undoing('succeeded', '1 prepare/create failed', 1),
    decide: answer(32, 'Success'),
    records: { ...UNDONE, events: [SUCCEED] },
  },
])
