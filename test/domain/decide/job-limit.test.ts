// Sharing a worker's slots: never more than are free, as level as possible, deterministic.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { shareSlots, slotsToReuse } from '../../../src/domain/decide/job-limit.ts'

type Out = Readonly<Record<number, number>>
const outstanding = (out: Out) => new Map(Object.entries(out).map(([id, jobs]) => [+id, jobs]))

const SHARES: readonly [string, number, readonly number[], Out, Out][] = [
  ['no batch waits', 10, [], { 1: 3 }, {}],
  ['one batch gets all free slots', 10, [1], {}, { 1: 10 }],
  ['outstanding jobs take slots', 10, [1], { 1: 4, 2: 5 }, { 1: 1 }],
  ['nothing is free', 10, [1, 2], { 3: 10 }, { 1: 0, 2: 0 }],
  ['the limit was lowered below the outstanding jobs', 5, [1], { 3: 10 }, { 1: 0 }],
  ['two batches share evenly', 10, [1, 2], {}, { 1: 5, 2: 5 }],
  ['the odd one goes to the lower id', 5, [2, 1], {}, { 1: 3, 2: 2 }],
  ['a batch without jobs comes first', 10, [1, 2], { 1: 8 }, { 1: 0, 2: 2 }],
  ['until they are level', 10, [1, 2], { 1: 4 }, { 1: 1, 2: 5 }],
  ['three levels', 12, [1, 2, 3], { 1: 5, 2: 2 }, { 1: 0, 2: 1, 3: 4 }],
  ['fewer slots than batches', 2, [1, 2, 3], {}, { 1: 1, 2: 1, 3: 0 }],
]

describe('slots', () => {
  for (const [name, limit, waiting, out, share] of SHARES) {
    it(name, () => {
      const got = shareSlots(limit, waiting, outstanding(out))
      assert.deepEqual(got, outstanding(share))
    })
  }

  it('in 2,000 random cases: none too many, none left over, level, deterministic', () => {
    const batch = fc.nat(7)
    const cases = fc.record({
      limit: fc.nat(59),
      out: fc.uniqueArray(fc.tuple(batch, fc.nat(11)), { maxLength: 5, selector: ([id]) => id }),
      waiting: fc.uniqueArray(batch, { maxLength: 6 }),
    })
    const isFair = fc.property(cases, ({ limit, out: jobs, waiting }) => {
      const out = new Map(jobs)
      const share = shareSlots(limit, waiting, out)
      const what = JSON.stringify([...share])
      const free = Math.max(0, limit - [...out.values()].reduce((sum, some) => sum + some, 0))
      const given = [...share.values()].reduce((sum, slots) => sum + slots, 0)
      assert.equal(given, waiting.length === 0 ? 0 : free, what)
      assert.deepEqual([...share.keys()].sort(), waiting.toSorted(), what)
      // A batch that got a slot exceeds no other waiting batch by more than one.
      const after = (id: number) => (out.get(id) ?? 0) + share.get(id)!
      const lowest = Math.min(...waiting.map(after))
      for (const id of waiting) {
        assert.ok(share.get(id)! >= 0 && Number.isInteger(share.get(id)), what)
        if (share.get(id)! > 0) assert.ok(after(id) <= lowest + 1, what)
      }
      assert.deepEqual(shareSlots(limit, waiting.toReversed(), out), share, what)
    })
    fc.assert(isFair, { numRuns: 2_000, seed: 39 })
  })
})

it('goes round the batches when there are fewer slots than batches', () => {
  const nobody = new Map<number, number>()
  const turns = [0]
  for (let round = 0; round < 6; round++) {
    const share = shareSlots(1, [3, 5, 9], nobody, { lastServed: turns.at(-1)! })
    turns.push([...share].find(([, slots]) => slots === 1)![0])
  }
  assert.deepEqual(turns.slice(1), [3, 5, 9, 3, 5, 9])
})

describe('while more batches wait than may share', () => {
  const waiting = Array.from({ length: 300 }, (_, at) => at + 1)
  const nobody = new Map<number, number>()
  const given = (share: ReadonlyMap<number, number>) => [...share].filter(([, slots]) => slots > 0)

  it('64 have a block each', () => {
    const share = given(shareSlots(6_400, waiting, nobody))
    assert.deepEqual(
      share,
      waiting.slice(0, 64).map((id) => [id, 100]),
    )
  })

  it('the turn goes round, so that nobody waits for a second block before all have had one', () => {
    const turns: number[] = []
    for (let round = 0; round < 5; round++) {
      const share = shareSlots(6_400, waiting, nobody, { lastServed: turns.at(-1) ?? 0 })
      turns.push(...given(share).map(([id]) => id))
    }
    assert.deepEqual(turns.slice(0, 300), waiting)
  })

  it('a part of a block waits until it has grown, or until a timer looks', () => {
    const out = new Map([[1, 6_360]])
    assert.deepEqual(given(shareSlots(6_400, waiting, out, { blocks: 'large' })), [])
    assert.deepEqual(given(shareSlots(6_400, waiting, out)), [[2, 40]])
    const half = new Map([[1, 6_350]])
    assert.deepEqual(given(shareSlots(6_400, waiting, half, { blocks: 'large' })), [[2, 50]])
  })
})

describe('slots to reuse', () => {
  const rows: [string, Parameters<typeof slotsToReuse>, number][] = [
    ['all, when no other batch waits', [10, 0, 9, 3], 3],
    ['up to the fair share, when another batch waits', [10, 1, 3, 4], 2],
    ['none above the fair share', [10, 1, 7, 3], 0],
    ['all, when far below the fair share', [100, 1, 10, 4], 4],
    ['one, with as many batches as slots', [2, 1, 0, 1], 1],
    ['all for members who have begun, while batches take turns', [2, 9, 0, 1], 1],
    ['the same with 65 batches and many slots', [1_000, 64, 0, 62], 62],
  ]
  for (const [name, given, wanted] of rows) {
    it(name, () => assert.equal(slotsToReuse(...given), wanted))
  }
})
