// An operator's repairs of one member: retry, redo, skip, mark done, accept a late result, set a variable; every refusal.
import assert from 'node:assert/strict'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import {
  acceptLateResult,
  markDone,
  redoMember,
  retryMember,
  setVariable,
  skipStep,
} from '../../../src/domain/decide/repair.ts'
import type { Step } from '../../../src/domain/state/facts.ts'
import { at, DEMO_YAML, type Facts, runbookOf } from './builders.ts'
import { type Row, stepOf, table } from './table.ts'

const PHASES = { prepare: 'dispatched', cutover: 'dispatched' } as const
const FAILED: Facts = {
  phases: PHASES,
  members: { 1: 'failed' },
  steps: {
    11: '1 prepare/create succeeded',
    12: ['1 prepare/check failed', { attempt: 1, retryCount: 1 }],
    13: '1 cutover/switch cancelled',
  },
}
const withSteps = (steps: Facts['steps'], more: Facts = {}): Facts => ({
  ...FAILED,
  ...more,
  ...(steps && { steps }),
})
const retry =
  (fromStepId?: number): Row['decide'] =>
  (draft) =>
    retryMember(draft, draft.member(1), 'fixed', fromStepId)
const redo =
  (fromStepId: number): Row['decide'] =>
  (draft) =>
    redoMember(draft, draft.member(1), fromStepId, 'again')

table('retrying a failed member', [
  {
    name: 'restarts the step that failed, with no retries used and the next attempt',
    facts: FAILED,
    decide: retry(),
    records: {
      events: [
        'member 1 retry failed→active: fixed',
        'step 12 reactivate failed→pending: fixed',
        'step 13 reactivate cancelled→pending: fixed',
      ],
      waits: ['12 slot'],
    },
    also: (draft) => {
      const { attempt, retryCount, error, completedAt } = stepOf(draft, 12)
      assert.deepEqual([attempt, retryCount, error, completedAt], [2, 0, null, null])
      assert.equal(draft.member(1).failedAt, null)
    },
  },
  {
    name: 'restarts an earlier step and all later ones',
    facts: FAILED,
    decide: retry(11),
    records: {
      events: [
        'member 1 retry failed→active: fixed',
        'step 11 redo succeeded→pending: fixed',
        'step 12 reactivate failed→pending: fixed',
        'step 13 reactivate cancelled→pending: fixed',
      ],
      waits: ['11 slot'],
    },
  },
  {
    name: 'starts at a rolled-back step that nobody names',
    facts: withSteps({ 11: '1 prepare/create rolled_back', 12: '1 prepare/check cancelled' }),
    decide: retry(),
    records: {
      events: [
        'member 1 retry failed→active: fixed',
        'step 11 reactivate rolled_back→pending: fixed',
        'step 12 reactivate cancelled→pending: fixed',
      ],
      waits: ['11 slot'],
    },
  },
  {
    name: 'restarts a rolled-back step that is named',
    facts: withSteps({ 11: '1 prepare/create rolled_back' }),
    decide: retry(11),
    records: {
      events: [
        'member 1 retry failed→active: fixed',
        'step 11 reactivate rolled_back→pending: fixed',
      ],
      waits: ['11 slot'],
    },
  },
  {
    name: 'is refused from beyond the step that failed',
    facts: FAILED,
    decide: retry(13),
    refuses: 'step switch comes after check, which has not passed',
  },
  {
    name: "is refused from another member's step",
    facts: FAILED,
    decide: retry(99),
    refuses: 'member 1 has no such step to start from',
  },
  {
    name: 'is refused for a member who has not failed',
    facts: { ...FAILED, members: { 1: 'active' } },
    decide: retry(),
    refuses: 'member 1 is active, not failed',
  },
  {
    name: 'is refused for a member with no step left',
    facts: withSteps({ 11: '1 prepare/create succeeded' }),
    decide: retry(),
    refuses: 'member 1 has no step left to retry',
  },
  {
    name: 'is refused for a removed member',
    facts: { ...FAILED, members: { 1: 'removed' } },
    decide: retry(),
    refuses: 'member 1 is removed; add it again instead',
  },
  {
    name: 'is refused in a cancelled batch',
    facts: { ...FAILED, batch: 'cancelled' },
    decide: retry(),
    refuses: 'batch 7 is cancelled; clone it instead',
  },
  {
    name: 'is refused while a rollback runs',
    facts: withSteps({ 11: '1 prepare/create failed', 31: '1 rollback/undo-a pending slot' }),
    decide: retry(),
    refuses: 'member 1 has an unfinished rollback, cleanup or undo',
  },
  {
    name: 'is refused with an unsettled job',
    facts: withSteps({ 12: '1 prepare/check failed', 13: '1 cutover/switch cancelled job' }),
    decide: retry(),
    refuses: 'member 1 has an unsettled job',
  },
])

const NEWER = runbookOf(
  DEMO_YAML.replace('name: check, worker_id: w1', 'name: CHECK, worker_id: w3').replace(
    'name: switch,',
    'name: switch-over,',
  ),
)

table('a version published since', [
  {
    name: 'is used for a step that it has, by name; a dropped step keeps its definition',
    facts: {
      ...FAILED,
      batch: { activeVersion: 2 },
      runbooks: { 1: runbookOf(DEMO_YAML), 2: NEWER },
    },
    decide: retry(),
    records: {
      events: [
        'member 1 retry failed→active: fixed',
        'step 12 reactivate failed→pending: fixed',
        'step 13 reactivate cancelled→pending: fixed',
      ],
      waits: ['12 slot'],
    },
    also: (draft) => {
      const planned = ({ definition }: Step) => [
        definition.runbookVersion,
        definition.stepName,
        definition.workerId,
      ]
      assert.deepEqual(planned(stepOf(draft, 12)), [2, 'CHECK', 'w3'])
      assert.deepEqual(planned(stepOf(draft, 13)), [1, 'switch', 'w2'])
      assert.deepEqual([...draft.changedDefinitions], [stepOf(draft, 12)])
    },
  },
])

table('redoing steps', [
  {
    name: 'restarts a member who passed everything, in an ended batch',
    facts: withSteps(
      {
        11: '1 prepare/create succeeded',
        12: '1 prepare/check skipped',
        13: '1 cutover/switch succeeded',
      },
      {
        members: { 1: 'active' },
        batch: 'completed',
        phases: { prepare: 'completed', cutover: 'completed' },
      },
    ),
    decide: redo(12),
    records: {
      events: ['step 12 redo skipped→pending: again', 'step 13 redo succeeded→pending: again'],
      waits: ['12 slot'],
    },
  },
  {
    name: 'restarts a step that waits for its retry at once, with no retries used',
    facts: withSteps(
      { 12: ['1 prepare/check pending retry+60', { attempt: 1, retryCount: 1 }] },
      { members: { 1: 'active' } },
    ),
    decide: redo(12),
    records: { waits: ['12 slot'] },
    also: (draft) => {
      const { attempt, retryCount, retryAfter } = stepOf(draft, 12)
      assert.deepEqual([attempt, retryCount, retryAfter], [1, 0, null])
    },
  },
  {
    name: 'is refused while one of them polls',
    facts: withSteps(
      { 11: '1 prepare/create succeeded', 12: '1 prepare/check polling poll+30' },
      { members: { 1: 'active' } },
    ),
    decide: redo(11),
    refuses: 'step check of member 1 is polling; redo it when polling has ended',
  },
  {
    name: 'is refused while a cleanup runs',
    facts: withSteps({ 11: '1 prepare/create succeeded', 51: '1 removal/clean pending' }),
    decide: redo(11),
    refuses: 'member 1 has an unfinished rollback, cleanup or undo',
  },
  {
    name: 'is refused for a step in a replaced phase',
    facts: withSteps(
      { 11: '1 prepare/create succeeded' },
      { members: { 1: 'active' }, phases: { prepare: 'superseded' } },
    ),
    decide: redo(11),
    refuses: 'member 1 has no such step to start from',
  },
])

const skip =
  (stepId: number): Row['decide'] =>
  (draft) =>
    skipStep(draft, stepOf(draft, stepId), 'not needed')

table('passing a step by hand', [
  {
    name: 'skips the failed step: the member continues after it',
    facts: FAILED,
    decide: skip(12),
    records: {
      events: [
        'step 12 skip failed→skipped: not needed',
        'member 1 retry failed→active: not needed',
        'step 13 reactivate cancelled→pending: not needed',
      ],
      waits: ['13 slot'],
    },
  },
  {
    name: 'skips a step that waits for its retry',
    facts: withSteps(
      { 12: '1 prepare/check pending retry+60', 13: '1 cutover/switch pending' },
      { members: { 1: 'active' } },
    ),
    decide: skip(12),
    records: {
      events: ['step 12 skip pending→skipped: not needed'],
      waits: ['12 nothing', '13 slot'],
    },
    also: (draft) => assert.equal(stepOf(draft, 12).retryAfter, null),
  },
  {
    name: 'marks a step done, with outputs',
    facts: { ...FAILED, members: { 1: { status: 'failed', outputs: { a: 1, b: 1 } } } },
    decide: (draft) => markDone(draft, stepOf(draft, 12), 'by hand', { b: 2 }),
    records: {
      events: [
        'step 12 mark_done failed→succeeded: by hand',
        'member 1 retry failed→active: by hand',
        'step 13 reactivate cancelled→pending: by hand',
      ],
      waits: ['13 slot'],
    },
    also: (draft) => {
      assert.deepEqual(draft.member(1).outputs, { a: 1, b: 2 })
      assert.deepEqual([stepOf(draft, 12).completedAt, stepOf(draft, 12).error], [at(0), null])
    },
  },
  {
    name: 'is refused for a step that is not next',
    facts: FAILED,
    decide: skip(13),
    refuses: 'step switch is not the next step of member 1',
  },
  {
    name: 'is refused for a polling step',
    facts: withSteps({ 12: '1 prepare/check polling poll+9' }, { members: { 1: 'active' } }),
    decide: skip(12),
    refuses: 'step check of member 1 is polling',
  },
  {
    name: 'is refused for a passed step',
    facts: FAILED,
    decide: skip(11),
    refuses: 'step create of member 1 is succeeded',
  },
  {
    name: 'passes a failed rollback step, so that the origin counts as rolled back',
    facts: withSteps({
      11: '1 prepare/create failed',
      31: '1 rollback/undo-a failed',
      32: '1 rollback/undo-b succeeded',
    }),
    decide: skip(31),
    records: {
      events: [
        'step 31 skip failed→skipped: not needed',
        'step 11 roll_back failed→rolled_back: every step of its rollback succeeded',
      ],
    },
  },
  {
    name: 'is refused for the rollback of a step that has started again',
    facts: withSteps({
      11: ['1 prepare/create failed', { attempt: 1 }],
      31: '1 rollback/undo-a failed',
    }),
    decide: skip(31),
    refuses: 'step create has started again, so its rollback no longer counts',
  },
  {
    name: 'is refused for a rollback step that has not failed',
    facts: withSteps({
      11: '1 prepare/create failed',
      31: '1 rollback/undo-a pending',
    }),
    decide: skip(31),
    refuses: 'step undo-a of member 1 is pending, not failed',
  },
  {
    name: 'is refused for a cleanup step of a member who is back',
    facts: withSteps(
      { 11: '1 prepare/create pending', 31: ['1 removal/clean failed', { removalNumber: 1 }] },
      { members: { 1: { status: 'active', removalNumber: 1 } } },
    ),
    decide: skip(31),
    refuses: 'member 1 is back, so step clean is no longer needed',
  },
  {
    name: 'is refused with an unsettled job',
    facts: withSteps({ 12: '1 prepare/check dispatched job' }, { members: { 1: 'active' } }),
    decide: skip(12),
    refuses: 'member 1 has an unsettled job',
  },
])

const lately = (line: string, lateResult: Step['lateResult']): Facts =>
  withSteps({ 11: [line, { lateResult }], 12: '1 prepare/check cancelled' })
const accept: Row['decide'] = (draft) => acceptLateResult(draft, stepOf(draft, 11), 'it was done')

table('accepting a late result', [
  {
    name: "makes it the step's result, with its outputs",
    facts: lately('1 prepare/create failed', { id: 'T' }),
    decide: accept,
    records: {
      events: [
        'step 11 mark_done failed→succeeded: the late result was accepted: it was done',
        'member 1 retry failed→active: it was done',
        'step 12 reactivate cancelled→pending: it was done',
      ],
      waits: ['12 slot'],
    },
    also: (draft: Draft) => {
      assert.deepEqual(draft.member(1).outputs, { ThingId: 'T' })
      const { result, lateResult } = stepOf(draft, 11)
      assert.deepEqual([result, lateResult], [{ id: 'T' }, undefined])
    },
  },
  {
    name: 'accepts null too',
    facts: lately('1 prepare/create cancelled', null),
    decide: accept,
    records: {
      events: [
        'step 11 mark_done cancelled→succeeded: the late result was accepted: it was done',
        'step 11 outputs_missing: the result is not an object and lacks id',
        'member 1 retry failed→active: it was done',
        'step 12 reactivate cancelled→pending: it was done',
      ],
      waits: ['12 slot'],
    },
  },
  {
    name: 'is refused without one',
    facts: lately('1 prepare/create failed', undefined),
    decide: accept,
    refuses: 'step 11 has no late result to accept',
  },
  {
    name: 'is refused after a rollback',
    facts: lately('1 prepare/create rolled_back', { id: 'T' }),
    decide: accept,
    refuses: 'step 11 was rolled back, so its late result no longer holds',
  },
])

table('setting a variable', [
  {
    name: 'keeps the others',
    facts: { members: { 1: { outputs: { a: 1, b: 1 } } } },
    decide: (draft) => setVariable(draft, draft.member(1), 'b', [2], 'typo'),
    records: { events: ['member 1 variable_set: b was set: typo'] },
    also: (draft) => assert.deepEqual(draft.member(1).outputs, { a: 1, b: [2] }),
  },
])
