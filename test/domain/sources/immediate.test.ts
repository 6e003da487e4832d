// Immediate runbooks as a table: who starts, in which batch, and who does not.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SourceContents } from '../../../src/domain/sources/compare.ts'
import { immediateChanges, slotOf } from '../../../src/domain/sources/immediate.ts'
import type { PastMembership } from '../../../src/domain/sources/joiners.ts'
import { describeChanges, found, type Known, known, many, NOW, past } from './facts.ts'

const AT = NOW + 7 * 60_000 + 1
const SLOT = NOW + 5 * 60_000

interface Facts {
  readonly known?: Known
  readonly past?: Record<string, Partial<PastMembership>>
  readonly absent?: Record<number, 1 | 2>
}

const starts = (source: SourceContents, facts: Facts) => {
  const { batches, members } = facts.known ?? known()
  const ended = [...past(facts.past ?? {}).past].map(([key, [row]]) => [key, row!] as const)
  return immediateChanges(source, {
    batches,
    members,
    past: new Map(ended),
    absences: new Map(
      Object.entries(facts.absent ?? {}).map(([id, missed]) => [Number(id), missed]),
    ),
    reviews: [],
    maxPercent: 20,
    nowMs: AT,
  })
}

const slot = { timesMs: [SLOT] }
const TABLE: [what: string, source: SourceContents, facts: Facts, changes: string[]][] = [
  ['all keys are new', found('a@1 b@1'), {}, ['new T0 a b']],
  ['nobody', found(''), {}, []],
  ['the slot has a batch', found('a@1 b@1'), { known: known({ ...slot, who: 'a' }) }, ['join 1 b']],
  [
    'the batch of the slot has ended',
    found('a@1 b@1'),
    { known: known({ ...slot, isEnded: true }) },
    [],
  ],
  [
    'in an unfinished batch, in any status',
    found('a@1 b@1 c@1'),
    { known: known({ who: 'a b:failed c:anna' }) },
    [],
  ],
  [
    'changed data of members',
    found('a@1! b@1! c@1!'),
    { known: known({ who: 'a b:failed c:anna' }) },
    ['refresh a', 'refresh b'],
  ],
  [
    'in a manual batch: not touched',
    found('a@1!'),
    { known: known({ who: 'a', timesMs: [] }) },
    [],
  ],
  ['completed before, unchanged', found('a@1'), { past: { a: {} } }, []],
  ['completed before, with a changed row', found('a@1!'), { past: { a: {} } }, ['new T0 a']],
  [
    'removed by a person, with a changed row',
    found('a@1!'),
    { past: { a: { status: 'removed', removedBy: 'anna' } } },
    [],
  ],
  [
    'gone for two ticks and back',
    found('a@1'),
    { past: { a: {} }, absent: { 900: 2 } },
    ['new T0 a'],
  ],
  ['gone for one tick and back', found('a@1'), { past: { a: {} }, absent: { 900: 1 } }, []],
  ['gone now', found('z@1'), { past: { a: {} } }, ['new T0 z', 'missing 900']],
  ['unusable: not gone', found('z@1', ['a']), { past: { a: {} } }, ['new T0 z']],
]

describe('immediate', () => {
  for (const [what, source, facts, expected] of TABLE) {
    it(what, () => assert.deepEqual(describeChanges(starts(source, facts)), expected))
  }

  it('an empty result counts nobody as gone', () => {
    const changes = starts(found(''), { past: { a: {} }, absent: { 900: 1 } })
    assert.deepEqual(describeChanges(changes), ['missing 900', 'say many_absent'])
  })

  it('many missing at once do not count as gone', () => {
    const all = Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [`u${n}`, { memberId: 900 + n }] as const),
    )
    const changes = starts(found(many(4, 9, (n) => `u${n}@1`)), { past: all })
    assert.deepEqual(describeChanges(changes), ['say many_absent'])
  })

  it('uses the five-minute slot in which the tick began', () => {
    assert.equal(slotOf(AT), SLOT)
    assert.equal(starts(found('a@1'), {}).batches[0]!.timeMs, SLOT)
  })
})
