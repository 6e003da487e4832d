// Detection as tables: what the source says against what is known, one line a case.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compareWithSource } from '../../../src/domain/detection/compare.ts'
import { JOIN_REVIEWS_MAX } from '../../../src/domain/detection/joiners.ts'
import type { Lookups } from '../../../src/domain/detection/scheduled.ts'
import {
  type Case,
  found,
  known,
  many,
  NOW,
  past,
  plan,
  reviewRow,
  SAFEGUARDS,
  said,
  T1,
  T2,
} from './facts.ts'

const COMING: Case[] = [
  ['nothing known: a batch a time', known(), found('a@1 b@2 c@1'), ['new T1 a c', 'new T2 b']],
  ['nothing changed: nothing to do', known({ who: 'a b' }), found('a@1 b@1'), []],
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
    'removed by a person, elsewhere now',
    known({ who: 'a b:anna' }, { who: 'c' }),
    found('a@1 c@2 b@2'),
    ['hold join b removed'],
  ],
  [
    'dropped here, elsewhere now',
    known({ who: 'a b:source' }, { who: 'c' }),
    found('a@1 c@2 b@2'),
    ['join 2 b'],
  ],
  [
    'dropped here and still being undone',
    known({ who: 'a b:source' }, { who: 'c' }),
    found('a@1 c@2 b@2'),
    [],
    { undoing: new Set([101]) },
  ],
  [
    'moved on, left there, back here',
    known({ who: 'a b:moved' }, { who: 'c b:source' }),
    found('a@1 c@2 b@1'),
    ['say needs_person b'],
  ],
  ['in a manual batch', known({ who: 'a', timesMs: [] }), found('a@1'), ['say in_manual_batch a']],
  [
    'a batch that ended: its members are left alone',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    [],
    past({ a: { batchId: 1 } }),
  ],
  [
    'a batch that ended: others are late',
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
    'moved on from a batch that has ended, and is back',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    ['hold join a late'],
    past({ a: { batchId: 1, status: 'removed', removedBy: 'anna', isMovedOut: true } }),
  ],
  [
    'removed by a person from a batch that has ended',
    known({ isEnded: true, status: 'completed', members: 0 }),
    found('a@1'),
    [],
    past({ a: { batchId: 1, status: 'removed', removedBy: 'anna' } }),
  ],
  [
    'done in another batch',
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
    'to a time that is not there yet',
    known({ who: 'a b' }),
    found('a@1 b@2'),
    ['move b from 1 to T2'],
  ],
  [
    'with others that are new there',
    known({ who: 'a b' }),
    found('a@1 b@2 c@2'),
    ['move b from 1 to T2', 'new T2 c'],
  ],
  [
    'a failed one does not',
    known({ who: 'a b:failed' }, { who: 'c' }),
    found('a@1 b@2 c@2'),
    ['say move_refused b'],
  ],
  [
    'failed there, active here: nothing to say',
    known({ who: 'a b:failed' }, { who: 'c b' }),
    found('a@1 b@2 c@2'),
    [],
  ],
  [
    'not into a batch in which it has failed',
    known({ who: 'a b' }, { who: 'c b:failed' }),
    found('a@1 b@2 c@2'),
    ['say move_refused b'],
  ],
  [
    'not once the cut-over has begun',
    known({ who: 'a b' }, { who: 'c' }),
    found('a@1 b@2 c@2'),
    ['say move_refused b'],
    { begun: new Set([101]) },
  ],
  [
    'not to a batch that ended',
    known({ who: 'a b' }, { isEnded: true, status: 'completed' }),
    found('a@1 b@2'),
    ['say move_refused b'],
  ],
  [
    'the whole wave stands elsewhere',
    known({ who: 'a b' }, { who: 'c' }),
    found('a@2 b@2 c@2'),
    ['hold move a redated', 'hold move b redated', 'hold batch 1', 'hold batch 2'],
  ],
  [
    'the wave is gone and one stands elsewhere',
    known({ who: 'a b' }),
    found('a@2'),
    ['hold move a redated', 'hold batch 1'],
  ],
  [
    're-dated, and the new time has new people',
    known({ who: 'a b' }),
    found('a@2 b@2 c@2'),
    ['new T2 c held', 'hold move a redated', 'hold move b redated', 'hold batch 1'],
  ],
  [
    're-dated after the cut-over had begun for all',
    known({ who: 'a b' }),
    found('a@2 b@2'),
    ['say move_refused a', 'say move_refused b'],
    { begun: new Set([100, 101]) },
  ],
  [
    'gone with all its keys: left alone',
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
    'kept there, and now it stands at a third',
    known({ who: 'a b' }, { who: 'c' }),
    found('a@1 b@3 c@2'),
    ['move b from 1 to T3', 'drop 7'],
    { reviews: [reviewRow({ kind: 'move', toMs: T2 })] },
  ],
  [
    'held over moves that are no more',
    known({ who: 'a b', heldBy: 'source' }),
    found('a@1 b@1'),
    ['drop 7', 'resume batch 1'],
    { reviews: [reviewRow({ kind: 'move', toMs: T2, isDismissed: false })] },
  ],
  ['held by a person', known({ who: 'a b', heldBy: 'anna' }), found('a@1 b@1'), []],
  [
    'one more stands elsewhere: the batch waits again',
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
            'the group of batch 1 is gone from the source and 2 of its 2 member(s) stand elsewhere',
        }),
      ],
    },
  ],
]

const absent = (...ids: number[]): Pick<Lookups, 'absences'> => ({
  absences: new Map(ids.map((id) => [id, 1])),
})

const LEAVING: Case[] = [
  ['missing once', known({ who: 'a b' }), found('a@1'), ['missing 101']],
  ['missing twice', known({ who: 'a b' }), found('a@1'), ['remove 1 b'], absent(101)],
  ['a failed one too', known({ who: 'a b:failed' }), found('a@1'), ['remove 1 b'], absent(101)],
  ['there, but unusable: not missing', known({ who: 'a b' }), found('a@1', ['b']), [], absent(101)],
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
    { ...absent(101), begun: new Set([101]) },
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
    'two of ten, and two within the day',
    known({ who: many(1, 10, (n) => `u${n}`) }),
    found(many(3, 10, (n) => `u${n}@1`)),
    ['hold removal u1 many', 'hold removal u2 many'],
    { ...absent(100, 101), removedLately: new Map([[1, 2]]) },
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
  it('the list of latecomers is bounded, keeps who is on it, and says how many are not', () => {
    const over = { isEnded: true, status: 'completed', members: 0 }
    const source = found(many(1, JOIN_REVIEWS_MAX + 5, (n) => `u${n}@1`))
    const listed = (id: number, key: string, isDismissed: boolean) =>
      reviewRow({ id, kind: 'join', memberId: null, key, folded: key, toMs: T1, isDismissed })
    const reviews = [listed(1, `u${JOIN_REVIEWS_MAX + 5}`, false), listed(2, 'u1', true)]
    const planned = plan(known(over), source, { reviews })
    assert.deepEqual([planned.reviews.add.length, planned.reviews.drop], [JOIN_REVIEWS_MAX - 1, []])
    assert.match(planned.issues[0]!.reason, /^4 more people/)
  })

  for (const [what, knownNow, source, expected, lookups] of [...COMING, ...MOVING, ...LEAVING]) {
    it(what, () => assert.deepEqual(said(plan(knownNow, source, lookups)), expected))
  }

  it('removals_after_start: run lets go whoever is not too many', () => {
    const run = { ...SAFEGUARDS, removalsAfterStart: 'run' } as const
    const facts = { ...absent(101), begun: new Set([101]) }
    const planned = plan(known({ who: 'a b', startMs: NOW }), found('a@1'), facts, run)
    assert.deepEqual(said(planned), ['remove 1 b'])
  })

  it('a batch that ended while the source was read counts as ended', () => {
    const { members } = known({ who: 'a' })
    assert.deepEqual(compareWithSource(found('a@1'), [], members).newcomers.length, 1)
  })

  it('does not care about the order of rows', () => {
    const state = known({ who: 'a b c' }, { who: 'd' })
    const texts = ['a@1', 'b@2', 'd@2', 'e@1', 'f@3']
    const forth = said(plan(state, found(texts.join(' '))))
    const back = said(plan(state, found(texts.toReversed().join(' '))))
    assert.deepEqual(back.sort(), forth.sort())
  })
})
