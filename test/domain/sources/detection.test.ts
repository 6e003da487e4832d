// Detection as a table: source and known facts, one case per line.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compareWithSource } from '../../../src/domain/sources/compare.ts'
import { JOIN_REVIEWS_MAX } from '../../../src/domain/sources/joiners.ts'
import type { MemberLookups } from '../../../src/domain/sources/scheduled.ts'
import {
  type Case,
  changesOf,
  describeChanges,
  found,
  known,
  many,
  NOW,
  past,
  reviewRow,
  SAFEGUARDS,
  T1,
  T2,
} from './facts.ts'

const COMING: Case[] = [
  ['nothing known: one batch per time', known(), found('a@1 b@2 c@1'), ['new T1 a c', 'new T2 b']],
  ['nothing changed: no changes', known({ who: 'a b' }), found('a@1 b@1'), []],
  ['a joiner', known({ who: 'a' }), found('a@1 b@1'), ['join 1 b']],
  ['changed data', known({ who: 'a b:failed' }), found('a@1! b@1!'), ['refresh a', 'refresh b']],
  ['another case', known({ who: 'a' }), found('A@1'), ['refresh a', 'say case_changed a']],
  [
    'back after the source dropped it',
    known({ who: 'a b:source' }),
    found('a@1 b@1'),
    ['rejoin 1 b'],
  ],
  [
    'back with other data',
    known({ who: 'a b:source' }),
    found('a@1 b@1!'),
    ['refresh b', 'rejoin 1 b'],
  ],
  ['removed by a person: nothing', known({ who: 'a b:anna' }), found('a@1 b@1'), []],
  [
    'removed by a person, now in another group',
    known({ who: 'a b:anna' }, { who: 'c' }),
    found('a@1 c@2 b@2'),
    ['hold join b removed'],
  ],
  [
    'removed by the source here, now in another group',
    known({ who: 'a b:source' }, { who: 'c' }),
    found('a@1 c@2 b@2'),
    ['join 2 b'],
  ],
  [
    'removed by the source here, compensation still running',
    known({ who: 'a b:source' }, { who: 'c' }),
    found('a@1 c@2 b@2'),
    [],
    { compensating: new Set([101]) },
  ],
  [
    'moved, left there, back here',
    known({ who: 'a b:moved' }, { who: 'c b:source' }),
    found('a@1 c@2 b@1'),
    ['say needs_person b'],
  ],
  ['in a manual batch', known({ who: 'a', timesMs: [] }), found('a@1'), ['say in_manual_batch a']],
  [
    'an ended batch: its members stay',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    [],
    past({ a: { batchId: 1 } }),
  ],
  [
    'an ended batch: others are latecomers',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    ['hold join a late'],
  ],
  [
    'left before the batch ended, and is back',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    ['hold join a late'],
    past({ a: { batchId: 1, status: 'removed', removedBy: 'source' } }),
  ],
  [
    'moved from a batch that has ended, and is back',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    ['hold join a late'],
    past({ a: { batchId: 1, status: 'removed', removedBy: 'anna', isMovedOut: true } }),
  ],
  [
    'removed by a person from the ended batch of its group',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    [],
    past({ a: { batchId: 1, status: 'removed', removedBy: 'anna' } }),
  ],
  [
    'completed in another batch',
    known({ who: 'c' }),
    found('c@1 a@1'),
    ['hold join a done'],
    past({ a: {} }),
  ],
  [
    'failed in another batch',
    known({ who: 'c' }),
    found('c@1 a@1'),
    ['join 1 a'],
    past({ a: { status: 'failed' } }),
  ],
  [
    'in a batch that was cancelled',
    known({ who: 'c' }),
    found('c@1 a@1'),
    ['join 1 a'],
    past({ a: { batchStatus: 'cancelled' } }),
  ],
  [
    'removed by a person from an ended batch',
    known({ who: 'c' }),
    found('c@1 a@1'),
    ['hold join a removed'],
    past({ a: { status: 'removed', removedBy: 'anna' } }),
  ],
]

const MOVING: Case[] = [
  ['one moves', known({ who: 'a b' }, { who: 'c' }), found('a@1 b@2 c@2'), ['move b from 1 to T2']],
  [
    'moves to a time without a batch',
    known({ who: 'a b' }),
    found('a@1 b@2'),
    ['move b from 1 to T2'],
  ],
  [
    'moves together with joiners',
    known({ who: 'a b' }),
    found('a@1 b@2 c@2'),
    ['move b from 1 to T2', 'new T2 c'],
  ],
  [
    'a failed member does not move',
    known({ who: 'a b:failed' }, { who: 'c' }),
    found('a@1 b@2 c@2'),
    ['say move_refused b'],
  ],
  [
    'failed there, active here: no issue',
    known({ who: 'a b:failed' }, { who: 'c b' }),
    found('a@1 b@2 c@2'),
    [],
  ],
  [
    'does not move into a batch where it failed',
    known({ who: 'a b' }, { who: 'c b:failed' }),
    found('a@1 b@2 c@2'),
    ['say move_refused b'],
  ],
  [
    'does not move once its cut-over has begun',
    known({ who: 'a b' }, { who: 'c' }),
    found('a@1 b@2 c@2'),
    ['say move_refused b'],
    { cutOverBegun: new Set([101]) },
  ],
  [
    'does not move to an ended batch',
    known({ who: 'a b' }, { isEnded: true, status: 'completed' }),
    found('a@1 b@2'),
    ['say move_refused b'],
  ],
  [
    'the whole wave is in another group',
    known({ who: 'a b' }, { who: 'c' }),
    found('a@2 b@2 c@2'),
    ['hold move a redated', 'hold move b redated', 'hold batch 1', 'hold batch 2'],
  ],
  [
    'the wave is gone and one member is in another group',
    known({ who: 'a b' }),
    found('a@2'),
    ['hold move a redated', 'hold batch 1'],
  ],
  [
    'rescheduled, and the new time has joiners',
    known({ who: 'a b' }),
    found('a@2 b@2 c@2'),
    ['new T2 c held', 'hold move a redated', 'hold move b redated', 'hold batch 1'],
  ],
  [
    'rescheduled after the cut-over had begun for all',
    known({ who: 'a b' }),
    found('a@2 b@2'),
    ['say move_refused a', 'say move_refused b'],
    { cutOverBegun: new Set([100, 101]) },
  ],
  [
    'gone with all its keys: stays',
    known({ who: 'a b' }, { who: 'c' }),
    found('c@2'),
    ['say group_gone'],
  ],
  [
    'the new time was agreed on',
    known({ who: 'a b', timesMs: [T1, T2] }),
    found('a@2 b@2 c@2'),
    ['join 1 c'],
  ],
  [
    'four of ten are too many',
    known({ who: many(1, 10, (n) => `u${n}`) }),
    found(`${many(1, 4, (n) => `u${n}@2`)} ${many(5, 10, (n) => `u${n}@1`)}`),
    [
      'hold move u1 many',
      'hold move u2 many',
      'hold move u3 many',
      'hold move u4 many',
      'hold batch 1',
    ],
  ],
  [
    'three of ten are few',
    known({ who: many(1, 10, (n) => `u${n}`) }),
    found(`${many(1, 3, (n) => `u${n}@2`)} ${many(4, 10, (n) => `u${n}@1`)}`),
    ['move u1 u2 u3 from 1 to T2'],
  ],
  [
    'four of twenty are twenty percent, not more',
    known({ who: many(1, 20, (n) => `u${n}`) }),
    found(`${many(1, 4, (n) => `u${n}@2`)} ${many(5, 20, (n) => `u${n}@1`)}`),
    ['move u1 u2 u3 u4 from 1 to T2'],
  ],
  [
    'kept by a person',
    known({ who: 'a b' }, { who: 'c' }),
    found('a@1 b@2 c@2'),
    [],
    { reviews: [reviewRow({ kind: 'move', toMs: T2 })] },
  ],
  [
    'kept by a person, and now in a third group',
    known({ who: 'a b' }, { who: 'c' }),
    found('a@1 b@3 c@2'),
    ['move b from 1 to T3', 'drop 7'],
    { reviews: [reviewRow({ kind: 'move', toMs: T2 })] },
  ],
  [
    'held for moves that no longer exist',
    known({ who: 'a b', heldBy: 'source' }),
    found('a@1 b@1'),
    ['drop 7', 'resume batch 1'],
    { reviews: [reviewRow({ kind: 'move', toMs: T2, isDismissed: false })] },
  ],
  ['held by a person', known({ who: 'a b', heldBy: 'anna' }), found('a@1 b@1'), []],
  [
    'one more member is in another group: the batch is held again',
    known({ who: 'a b' }),
    found('a@2 b@2'),
    ['hold move a redated', 'hold batch 1'],
    {
      reviews: [
        reviewRow({
          kind: 'move',
          toMs: T2,
          isDismissed: false,
          reason:
            'the source no longer has the group of batch 1, and other groups have 2 of its 2 members',
        }),
      ],
    },
  ],
]

const absent = (...ids: number[]): Pick<MemberLookups, 'absences'> => ({
  absences: new Map(ids.map((id) => [id, 1])),
})

const LEAVING: Case[] = [
  ['missing once', known({ who: 'a b' }), found('a@1'), ['missing 101']],
  ['missing twice', known({ who: 'a b' }), found('a@1'), ['remove 1 b'], absent(101)],
  [
    'a failed member is missing twice',
    known({ who: 'a b:failed' }),
    found('a@1'),
    ['remove 1 b'],
    absent(101),
  ],
  [
    'present but unusable: not missing',
    known({ who: 'a b' }),
    found('a@1', ['b']),
    [],
    absent(101),
  ],
  [
    'the batch has started',
    known({ who: 'a b', startMs: NOW }),
    found('a@1'),
    ['hold removal b started'],
    absent(101),
  ],
  [
    'the cut-over has begun for it',
    known({ who: 'a b' }),
    found('a@1'),
    ['hold removal b begun'],
    { ...absent(101), cutOverBegun: new Set([101]) },
  ],
  [
    'four of ten at once',
    known({ who: many(1, 10, (n) => `u${n}`) }),
    found(many(5, 10, (n) => `u${n}@1`)),
    many(1, 4, (n) => `hold_removal_u${n}_many`)
      .split(' ')
      .map((text) => text.replaceAll('_', ' ')),
    absent(100, 101, 102, 103),
  ],
  [
    'two of ten, and two earlier within the day',
    known({ who: many(1, 10, (n) => `u${n}`) }),
    found(many(3, 10, (n) => `u${n}@1`)),
    ['hold removal u1 many', 'hold removal u2 many'],
    { ...absent(100, 101), removedLastDay: new Map([[1, 2]]) },
  ],
  [
    'dismissed',
    known({ who: 'a b' }),
    found('a@1'),
    [],
    { ...absent(101), reviews: [reviewRow({})] },
  ],
  [
    'dismissed, and its group is gone',
    known({ who: 'a b' }, { who: 'c' }),
    found('c@2'),
    ['say group_gone'],
    { reviews: [reviewRow({})] },
  ],
  [
    'dismissed, and back',
    known({ who: 'a b' }),
    found('a@1 b@1'),
    ['drop 7'],
    { reviews: [reviewRow({})] },
  ],
  [
    'dismissed, and removed by a person since',
    known({ who: 'a b:anna' }),
    found('a@1'),
    ['drop 7'],
    { reviews: [reviewRow({ isOver: true })] },
  ],
]

describe('detection', () => {
  it('limits reviews of latecomers, keeps existing ones, and reports the rest', () => {
    const over = { isEnded: true, status: 'completed', members: 0 }
    const source = found(many(1, JOIN_REVIEWS_MAX + 5, (n) => `u${n}@1`))
    const listed = (id: number, key: string, isDismissed: boolean) =>
      reviewRow({ id, kind: 'join', memberId: null, key, folded: key, toMs: T1, isDismissed })
    const reviews = [listed(1, `u${JOIN_REVIEWS_MAX + 5}`, false), listed(2, 'u1', true)]
    const changes = changesOf(known(over), source, { reviews })
    assert.deepEqual([changes.reviews.add.length, changes.reviews.drop], [JOIN_REVIEWS_MAX - 1, []])
    assert.match(changes.issues[0]!.reason, /^4 more joins need review/)
  })

  for (const [what, knownNow, source, expected, lookups] of [...COMING, ...MOVING, ...LEAVING]) {
    it(what, () =>
      assert.deepEqual(describeChanges(changesOf(knownNow, source, lookups)), expected),
    )
  }

  it('removals_after_start: run removes leavers unless they are too many', () => {
    const run = { ...SAFEGUARDS, removalsAfterStart: 'run' } as const
    const facts = { ...absent(101), begun: new Set([101]) }
    const changes = changesOf(known({ who: 'a b', startMs: NOW }), found('a@1'), facts, run)
    assert.deepEqual(describeChanges(changes), ['remove 1 b'])
  })

  it('a batch that ended while the source was read counts as ended', () => {
    const { members } = known({ who: 'a' })
    assert.deepEqual(compareWithSource(found('a@1'), [], members).joiners.length, 1)
  })

  it('is independent of the order of rows', () => {
    const state = known({ who: 'a b c' }, { who: 'd' })
    const texts = ['a@1', 'b@2', 'd@2', 'e@1', 'f@3']
    const forth = describeChanges(changesOf(state, found(texts.join(' '))))
    const back = describeChanges(changesOf(state, found(texts.toReversed().join(' '))))
    assert.deepEqual(back.sort(), forth.sort())
  })
})
