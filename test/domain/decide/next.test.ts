// What comes next: nothing while a job is out, undoing before doing, then the first step that is not passed, phase by phase.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  firstNotPassed,
  hasBegun,
  isEffective,
  nextOfBatch,
  nextOfMember,
  phaseOrder,
  queueNextOfBatch,
  queueNextOfMember,
} from '../../../src/domain/decide/next.ts'
import { at, draftOf, type Facts, recorded } from './builders.ts'
import { table } from './table.ts'

const BOTH = { prepare: 'dispatched', cutover: 'dispatched' } as const
const fact = (steps: Facts['steps'], more: Facts = {}): Facts => ({
  phases: BOTH,
  members: { 1: 'active' },
  ...more,
  ...(steps && { steps }),
})

const NEXT: readonly [string, Facts, number | null][] = [
  ['no steps at all', fact({}), null],
  [
    'the first of its phase, whatever the order of the rows',
    fact({ 11: '1 prepare/check pending', 12: '1 prepare/create pending' }),
    12,
  ],
  [
    'an earlier phase before a later one, whatever the ids',
    fact({ 11: '1 cutover/switch pending', 12: '1 prepare/check pending' }),
    12,
  ],
  [
    'the one after those that are passed',
    fact({
      11: '1 prepare/create succeeded',
      12: '1 prepare/check skipped',
      13: '1 cutover/switch pending',
    }),
    13,
  ],
  [
    'a failed step blocks those after it',
    fact({ 11: '1 prepare/create failed', 13: '1 cutover/switch pending' }),
    11,
  ],
  [
    'nothing while a job is out, even that of a cancelled step',
    fact({ 11: '1 prepare/create cancelled job', 13: '1 cutover/switch pending' }),
    null,
  ],
  [
    'not before its phase has started',
    fact(
      { 11: '1 prepare/create succeeded', 13: '1 cutover/switch pending' },
      { phases: { prepare: 'dispatched', cutover: 'pending' } },
    ),
    null,
  ],
  [
    'not before an earlier phase that has yet to start',
    fact(
      { 13: '1 cutover/switch pending' },
      { phases: { prepare: 'pending', cutover: 'dispatched' } },
    ),
    null,
  ],
  [
    'not before an earlier phase has written its steps',
    fact(
      { 13: '1 cutover/switch pending' },
      {
        phases: {
          prepare: { status: 'dispatched', expandedAt: null, expandedThrough: 0 },
          cutover: 'dispatched',
        },
      },
    ),
    null,
  ],
  [
    'but at once when its own steps there are written',
    fact(
      { 13: '1 cutover/switch pending' },
      {
        phases: {
          prepare: { status: 'dispatched', expandedAt: null, expandedThrough: 1 },
          cutover: 'dispatched',
        },
      },
    ),
    13,
  ],
  [
    'a phase that was skipped because nobody was there is still to be done',
    fact(
      { 11: '1 prepare/create pending', 13: '1 cutover/switch pending' },
      { phases: { prepare: 'skipped', cutover: 'dispatched' } },
    ),
    11,
  ],
  ...(['superseded', 'cancelled'] as const).map((status): [string, Facts, number] => [
    `a phase that is ${status} is left out`,
    fact(
      { 11: '1 prepare/create pending', 13: '1 cutover/switch pending' },
      { phases: { prepare: status, cutover: 'dispatched' } },
    ),
    13,
  ]),
  [
    'a phase that was skipped as overdue is left out',
    fact(
      { 11: '1 prepare/create pending', 13: '1 cutover/switch pending' },
      {
        phases: {
          prepare: { status: 'skipped', skippedBecause: 'overdue' },
          cutover: 'dispatched',
        },
      },
    ),
    13,
  ],
  ...(['failed', 'removed'] as const).map((status): [string, Facts, null] => [
    `nothing for a member who is ${status}`,
    fact({ 11: '1 prepare/create pending' }, { members: { 1: status } }),
    null,
  ]),
  ...(
    [
      ['detected', null],
      ['init_dispatched', null],
      ['cancelled', null],
      ['completed', 11],
      ['failed', 11],
    ] as const
  ).map(([batch, next]): [string, Facts, number | null] => [
    `${next === null ? 'nothing' : 'what will open it again'} in a batch that is ${batch}`,
    fact({ 11: '1 prepare/create pending' }, { batch }),
    next,
  ]),
  [
    'nothing in a batch that failed in init',
    fact({ 11: '1 prepare/create pending' }, { batch: { status: 'failed', failedInInit: true } }),
    null,
  ],
  [
    'rollback in its order, and before the removal',
    fact(
      {
        11: '1 prepare/create failed',
        31: '1 rollback/undo-b pending',
        32: '1 rollback/undo-a pending',
        51: '1 removal/clean pending',
      },
      { members: { 1: 'removed' } },
    ),
    32,
  ],
  [
    'the older rollback of two',
    fact(
      {
        11: '1 prepare/create failed',
        31: ['1 rollback/undo-a pending', { originAttempt: 2 }],
        32: ['1 rollback/undo-a pending', { originAttempt: 1 }],
      },
      { members: { 1: 'failed' } },
    ),
    32,
  ],
  [
    'removal in its order, after a rollback that has ended, whatever became of the batch',
    fact(
      {
        11: '1 prepare/create failed',
        31: '1 rollback/undo-a failed',
        51: '1 removal/clean failed',
        52: '1 removal/tidy pending',
      },
      { members: { 1: 'removed' }, batch: 'cancelled' },
    ),
    52,
  ],
]

describe('next of a member', () => {
  for (const [name, facts, id] of NEXT) {
    it(name, () => {
      const draft = draftOf(facts)
      assert.equal(nextOfMember(draft, draft.member(1))?.id ?? null, id)
    })
  }
})

const INIT: readonly [string, Facts, number | null][] = [
  [
    'the first init step',
    { batch: 'init_dispatched', steps: { 2: '- init/warm pending', 1: '- init/setup pending' } },
    1,
  ],
  [
    'the one after it',
    { batch: 'init_dispatched', steps: { 1: '- init/setup succeeded', 2: '- init/warm pending' } },
    2,
  ],
  [
    'init that is run again on an active batch',
    { batch: 'active', steps: { 1: '- init/setup pending' } },
    1,
  ],
  [
    'nothing while a job is out',
    {
      batch: 'init_dispatched',
      steps: { 1: '- init/setup dispatched job', 2: '- init/warm pending' },
    },
    null,
  ],
  [
    'nothing in a cancelled batch',
    { batch: 'cancelled', steps: { 1: '- init/setup pending' } },
    null,
  ],
  [
    'the rollback of init, also in a failed batch',
    {
      batch: 'failed',
      steps: { 1: '- init/setup failed', 31: ['- rollback/drop pending', { originStepId: 1 }] },
    },
    31,
  ],
  ['nothing when all is passed', { batch: 'active', steps: { 1: '- init/setup succeeded' } }, null],
]

describe('next of the batch', () => {
  for (const [name, facts, id] of INIT) {
    it(name, () => assert.equal(nextOfBatch(draftOf(facts))?.id ?? null, id))
  }
})

describe('phases', () => {
  it('are in the order of their time, then of the file', () => {
    const { phases } = draftOf({
      phases: { after: 'pending', cutover: 'pending', prepare: 'pending' },
    })
    const again = { ...phases[1]!, id: 120, index: 5 }
    assert.deepEqual(
      phaseOrder([again, ...phases]).map(({ id }) => id),
      [101, 102, 120, 103],
    )
  })

  it('of one name only the newest row is effective', () => {
    const { phases, batch } = draftOf({ phases: { prepare: 'completed' } })
    const older = phases[0]!
    const newer = { ...older, id: 120, name: 'PREPARE', runbookVersion: 2 }
    const draft = { batch, phases: [older, newer] } as unknown as ReturnType<typeof draftOf>
    assert.deepEqual([isEffective(draft, older), isEffective(draft, newer)], [false, true])
  })

  it('have begun when they are past pending, or nobody was there', () => {
    const begun = Object.entries({
      ...{ pending: false, dispatched: true, completed: true, failed: true, skipped: true },
      ...{ superseded: false, cancelled: false },
    })
    for (const [status, expected] of begun) {
      const { phases } = draftOf({ phases: { prepare: status as 'pending' } })
      assert.equal(hasBegun(phases[0]!), expected, status)
    }
  })
})

it('the first step that is not passed may be one that cannot be sent', () => {
  const draft = draftOf(fact({ 11: '1 prepare/create polling job', 12: '1 prepare/check pending' }))
  assert.equal(firstNotPassed(draft, 1)?.id, 11)
  assert.equal(firstNotPassed(draft, 2), null)
})

table('the queue', [
  {
    name: 'takes what comes next',
    facts: fact({ 11: '1 prepare/create pending' }),
    decide: (draft) => queueNextOfMember(draft, draft.member(1)),
    records: { waits: ['11 slot'] },
    also: (draft) => assert.deepEqual(draft.steps.get(11)!.wait?.since, at(0)),
  },
  {
    name: 'leaves a step that waits already where it is',
    facts: fact({ 11: '1 prepare/create pending slot' }),
    decide: (draft) => queueNextOfMember(draft, draft.member(1)),
  },
  {
    name: 'does not take a retry before its time',
    facts: fact({ 11: '1 prepare/create pending retry+60' }),
    decide: (draft) => queueNextOfMember(draft, draft.member(1)),
  },
  {
    name: 'does not take what failed',
    facts: fact({ 11: '1 prepare/create failed' }),
    decide: (draft) => queueNextOfMember(draft, draft.member(1)),
  },
  {
    name: 'takes init steps too',
    facts: { batch: 'init_dispatched', steps: { 1: '- init/setup pending' } },
    decide: (draft) => queueNextOfBatch(draft),
    records: { waits: ['1 slot'] },
  },
])

it('nothing is recorded for a member who is through', () => {
  const draft = draftOf(fact({ 11: '1 prepare/create succeeded' }))
  queueNextOfMember(draft, draft.member(1))
  assert.deepEqual(recorded(draft), {})
})
