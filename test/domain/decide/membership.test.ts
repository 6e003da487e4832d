// Removing, readmitting and moving members; and every refusal.
import assert from 'node:assert/strict'
import {
  isCompensationOpen,
  moveMemberOut,
  readmitMember,
  removeMember,
} from '../../../src/domain/decide/membership.ts'
import type { Member } from '../../../src/domain/state/facts.ts'
import { at, draftOf, type Facts } from './builders.ts'
import { type Row, stepOf, table } from './table.ts'

const PHASES = { prepare: 'dispatched', cutover: 'pending' } as const
const member = (given: Member['status'] | Partial<Member>, steps: Facts['steps'] = {}): Facts => ({
  phases: PHASES,
  members: { 1: given },
  steps,
})
const remove: Row['decide'] = (draft) => removeMember(draft, draft.member(1), 'source', 'gone')
const MADE = ['-1 removal/clean of 1', '-2 removal/tidy of 1']

table('removing a member', [
  {
    name: 'cancels its open steps and starts its cleanup',
    facts: member('active', {
      11: '1 prepare/create succeeded',
      12: '1 prepare/check pending slot',
    }),
    decide: remove,
    records: {
      events: [
        'step 12 cancel pending→cancelled: the member was removed: gone',
        'member 1 remove active→removed: gone',
      ],
      made: MADE,
      waits: ['12 nothing', '-1 slot'],
    },
    also: (draft) => {
      const { removedAt, removedBy, removalNumber } = draft.member(1)
      assert.deepEqual([removedAt, removedBy, removalNumber], [at(0), 'source', 1])
    },
  },
  {
    name: 'delays the cleanup until its job has settled',
    facts: member('active', { 11: '1 prepare/create dispatched job' }),
    decide: remove,
    records: {
      events: [
        'step 11 cancel dispatched→cancelled: the member was removed: gone',
        'member 1 remove active→removed: gone',
      ],
      made: MADE,
    },
    also: (draft) => assert.equal(stepOf(draft, 11).wait?.kind, 'job'),
  },
  {
    name: 'delays the cleanup until its rollback has ended; a failed member can be removed too',
    facts: member('failed', {
      11: '1 prepare/create failed',
      31: '1 rollback/undo-a pending slot',
    }),
    decide: remove,
    records: { events: ['member 1 remove failed→removed: gone'], made: MADE },
  },
  {
    name: 'is refused twice',
    facts: member('removed'),
    decide: remove,
    refuses: 'member 1 is already removed',
  },
])

const moveOut: Row['decide'] = (draft) => moveMemberOut(draft, draft.member(1), 9, 'olga')

table('moving a member out', [
  {
    name: 'starts no cleanup, and records the new batch',
    facts: member('active', { 12: '1 prepare/check polling poll+9' }),
    decide: moveOut,
    records: {
      events: [
        'step 12 cancel polling→cancelled: the member moved to batch 9',
        'member 1 move_out active→removed: the member moved to batch 9',
      ],
      waits: ['12 nothing'],
    },
    also: (draft) => {
      const { movedToBatchId, removalNumber, removedBy } = draft.member(1)
      assert.deepEqual([movedToBatchId, removalNumber, removedBy], [9, 0, 'olga'])
    },
  },
  {
    name: 'is refused for a failed member',
    facts: member('failed'),
    decide: moveOut,
    refuses: 'member 1 is failed, not active',
  },
  {
    name: 'is refused with an unsettled job',
    facts: member('active', { 11: '1 prepare/create dispatched job' }),
    decide: moveOut,
    refuses: 'member 1 has an unsettled job; move it when the job has settled',
  },
])

const back =
  (event: 'rejoin' | 'readd'): Row['decide'] =>
  (draft) =>
    readmitMember(draft, draft.member(1), event, 'is back')

table('readmitting a member', [
  {
    name: 'before cleanup: continues where it was, with its outputs',
    facts: member(
      { status: 'removed', outputs: { ThingId: 1 } },
      {
        11: '1 prepare/create succeeded',
        12: '1 prepare/check cancelled',
        51: '1 removal/clean cancelled',
      },
    ),
    decide: back('rejoin'),
    records: {
      events: [
        'member 1 rejoin removed→active: is back',
        'step 12 reactivate cancelled→pending: is back',
      ],
      waits: ['12 slot'],
    },
    also: (draft) => {
      assert.deepEqual(draft.member(1).outputs, { ThingId: 1 })
      const { removedAt, removedBy, failedAt } = draft.member(1)
      assert.deepEqual([removedAt, removedBy, failedAt], [null, null, null])
    },
  },
  {
    name: 'after cleanup: starts over without outputs',
    facts: member(
      { status: 'removed', outputs: { ThingId: 1 } },
      {
        11: ['1 prepare/create succeeded', { attempt: 2 }],
        12: '1 prepare/check cancelled',
        51: '1 removal/clean succeeded',
      },
    ),
    decide: back('rejoin'),
    records: {
      events: [
        'member 1 rejoin removed→active: is back; starts over because cleanup steps were sent',
        'step 11 redo succeeded→pending: is back',
        'step 12 reactivate cancelled→pending: is back',
      ],
      waits: ['11 slot'],
    },
    also: (draft) => {
      assert.deepEqual(draft.member(1).outputs, {})
      assert.equal(stepOf(draft, 11).attempt, 3)
    },
  },
  {
    name: 'ignores the cleanup of an earlier removal',
    facts: member(
      { status: 'removed', removalNumber: 2 },
      { 11: '1 prepare/create succeeded', 51: '1 removal/clean succeeded' },
    ),
    decide: back('rejoin'),
    records: { events: ['member 1 rejoin removed→active: is back'] },
  },
  {
    name: 'by a person, after a removal by a person',
    facts: member({ status: 'removed', removedBy: 'olga' }),
    decide: back('readd'),
    records: { events: ['member 1 readd removed→active: is back'] },
  },
  {
    name: 'is refused to the source, after a removal by a person',
    facts: member({ status: 'removed', removedBy: 'olga' }),
    decide: back('rejoin'),
    refuses: 'member 1 was removed by olga; only a person can re-add it',
  },
  {
    name: 'is refused for an active member',
    facts: member('failed'),
    decide: back('readd'),
    refuses: 'member 1 is failed, not removed',
  },
  {
    name: 'is refused while its cleanup runs',
    facts: member('removed', { 51: '1 removal/clean pending slot' }),
    decide: back('rejoin'),
    refuses: 'the cleanup of member 1 has not ended',
  },
  {
    name: 'is refused with an unsettled job',
    facts: member('removed', { 11: '1 prepare/create cancelled job' }),
    decide: back('rejoin'),
    refuses: 'member 1 has an unsettled job',
  },
  {
    name: 'is refused in a cancelled batch',
    facts: { ...member('removed', { 11: '1 prepare/create cancelled' }), batch: 'cancelled' },
    decide: back('readd'),
    refuses: 'batch 7 is cancelled; clone it instead',
  },
])

table('compensation is open', [
  ...(
    [
      ['a rollback that waits', '1 rollback/undo-a pending', true],
      ['a cleanup that runs', '1 removal/clean dispatched job', true],
      ['a rollback that has ended', '1 rollback/undo-a failed', false],
      ['a phase step', '1 prepare/create pending', false],
    ] as const
  ).map(([name, line, expected]) => ({
    name: `${name}: ${expected ? 'yes' : 'no'}`,
    facts: {},
    decide: () => {
      const draft = draftOf(member('failed', { 11: '1 prepare/create failed', 60: line }))
      assert.equal(isCompensationOpen(draft, draft.member(1)), expected)
    },
  })),
])
