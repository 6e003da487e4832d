// The next step: none while a job is unsettled, compensation first, then the first step that has not passed, phase by phase.
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
    'the first of its phase, in any order of rows',
    fact({ 11: '1 prepare/check pending', 12: '1 prepare/create pending' }),
    12,
  ],
  [
    'an earlier phase before a later one, in any order of ids',
    fact({ 11: '1 cutover/switch pending', 12: '1 prepare/check pending' }),
    12,
  ],
  [
    'the one after the passed ones',
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
    'none while a job is unsettled, even that of a cancelled step',
    fact({ 11: '1 prepare/create cancelled job', 13: '1 cutover/switch pending' }),
    null,
  ],
  [
    'none before its phase has started',
    fact(
      { 11: '1 prepare/create succeeded', 13: '1 cutover/switch pending' },
      { phases: { prepare: 'dispatched', cutover: 'pending' } },
    ),
    null,
  ],
  [
    'none before an earlier phase has started',
    fact(
      { 13: '1 cutover/switch pending' },
      { phases: { prepare: 'pending', cutover: 'dispatched' } },
    ),
    null,
  ],
  [
    'none before an earlier phase is expanded',
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
    'at once when the member has its steps there',
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
    'a step of a phase skipped as empty',
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
    'no step of a phase skipped as overdue',
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
    'none in a batch that failed in init',
    fact({ 11: '1 prepare/create pending' }, { batch: { status: 'failed', failedInInit: true } }),
    null,
  ],
  [
    'the rollback in order, before the cleanup',
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
    'the cleanup in order, after an ended rollback, in every status of the batch',
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

describe('next step of a member', () => {
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
    'the init step after it',
    { batch: 'init_dispatched', steps: { 1: '- init/setup succeeded', 2: '- init/warm pending' } },
    2,
  ],
  [
    'init that runs again on an active batch',
    { batch: 'active', steps: { 1: '- init/setup pending' } },
    1,
  ],
  [
    'none while a job is unsettled',
    {
      batch: 'init_dispatched',
      steps: { 1: '- init/setup dispatched job', 2: '- init/warm pending' },
    },
    null,
  ],
  ['none in a cancelled batch', { batch: 'cancelled', steps: { 1: '- init/setup pending' } }, null],
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

describe('next step of the batch', () => {
  for (const [name, facts, id] of INIT) {
    it(name, () => assert.equal(nextOfBatch(draftOf(facts))?.id ?? null, id))
  }
})

describe('phases', () => {
  it('are ordered by time, then by place in the file', () => {
    const { phases } = draftOf({
      phases: { after: 'pending', cutover: 'pending', prepare: 'pending' },
    })
    const again = { ...phases[1]!, id: 120, index: 5 }
    assert.deepEqual(
      phaseOrder([again, ...phases]).map(({ id }) => id),
      [101, 102, 120, 103],
    )
  })

  it('are effective only in the newest row of a name', () => {
    const { phases, batch } = draftOf({ phases: { prepare: 'completed' } })
    const older = phases[0]!
    const newer = { ...older, id: 120, name: 'PREPARE', runbookVersion: 2 }
    const draft = { batch, phases: [older, newer] } as unknown as ReturnType<typeof draftOf>
    assert.deepEqual([isEffective(draft, older), isEffective(draft, newer)], [false, true])
  })

  it('have begun once they are past pending, or were skipped as empty', () => {
    const begun = Object.entries({
      pending: false,
      dispatched: true,
      completed: true,
      failed: true,
      skipped: true,
      superseded: false,
      cancelled: false,
    })
    for (const [status, expected] of begun) {
      const { phases } = draftOf({ phases: { prepare: status as 'pending' } })
      assert.equal(hasBegun(phases[0]!), expected, status)
    }
  })
})

it('finds a first step that has not passed even if it cannot be sent', () => {
  const draft = draftOf(fact({ 11: '1 prepare/create polling job', 12: '1 prepare/check pending' }))
  assert.equal(firstNotPassed(draft, 1)?.id, 11)
  assert.equal(firstNotPassed(draft, 2), null)
})

table('the queue', [
  {
    name: 'takes the next step',
    facts: fact({ 11: '1 prepare/create pending' }),
    decide: (draft) => queueNextOfMember(draft, draft.member(1)),
    records: { waits: ['11 slot'] },
    also: (draft) => assert.deepEqual(draft.steps.get(11)!.wait?.since, at(0)),
  },
  {
    name: 'leaves a waiting step where it is',
    facts: fact({ 11: '1 prepare/create pending slot' }),
    decide: (draft) => queueNextOfMember(draft, draft.member(1)),
  },
  {
    name: 'does not take a retry before its time',
    facts: fact({ 11: '1 prepare/create pending retry+60' }),
    decide: (draft) => queueNextOfMember(draft, draft.member(1)),
  },
  {
    name: 'does not take a failed step',
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

it('records nothing for a member who has passed every step', () => {
  const draft = draftOf(fact({ 11: '1 prepare/create succeeded' }))
  queueNextOfMember(draft, draft.member(1))
  assert.deepEqual(recorded(draft), {})
})
