// Events in id order: the reader waits for a gap as long as a running transaction may fill it, and no longer.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { GaplessReader, startingPoint } from '../../../src/api/events/gapless-reader.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const later = (sec: number) => new Date(+NOW + sec * 1_000)
/** The last id released after this read. */
const lastAfter = (
  reader: GaplessReader,
  ids: readonly number[],
  horizon: { oldest: number; next: number },
  at = NOW,
) => {
  reader.take(ids, horizon, at)
  return reader.last
}
const quiet = (next: number) => ({ oldest: next, next })

it('ids without gaps are released at once', () => {
  const reader = new GaplessReader(3)
  assert.equal(lastAfter(reader, [4, 5, 6], { oldest: 7, next: 9 }), 6)
  assert.equal(lastAfter(reader, [], quiet(9)), 6)
  reader.advanceTo(9)
  assert.equal(reader.last, 9)
})

it('waits for a gap that a running transaction may fill', () => {
  const reader = new GaplessReader(3)
  assert.equal(lastAfter(reader, [4, 6], { oldest: 7, next: 9 }), 4)
  assert.equal(lastAfter(reader, [6, 7], { oldest: 8, next: 12 }, later(1)), 4)
  assert.equal(lastAfter(reader, [5, 6, 7], { oldest: 8, next: 12 }, later(2)), 7)
})

it('passes the gap of a rolled-back transaction once all that ran with it have ended', () => {
  const reader = new GaplessReader(3)
  assert.equal(lastAfter(reader, [5], { oldest: 7, next: 9 }), 3)
  assert.equal(lastAfter(reader, [5], { oldest: 8, next: 20 }, later(1)), 3)
  assert.equal(lastAfter(reader, [5], { oldest: 9, next: 20 }, later(2)), 5)
})

it('passes a gap at once when nothing runs', () => {
  assert.equal(lastAfter(new GaplessReader(3), [9], quiet(5)), 9)
})

it('waits for several gaps together', () => {
  const reader = new GaplessReader(0)
  assert.equal(lastAfter(reader, [2, 4, 6], { oldest: 7, next: 9 }), 0)
  assert.equal(lastAfter(reader, [2, 4, 6], { oldest: 9, next: 30 }, later(1)), 6)
})

it('a transaction that never ends delays the stream for a limited time', () => {
  const reader = new GaplessReader(0)
  const horizon = { oldest: 7, next: 9 }
  assert.equal(lastAfter(reader, [2], horizon), 0)
  assert.equal(lastAfter(reader, [2], horizon, later(120)), 0)
  assert.equal(lastAfter(reader, [2], horizon, later(121)), 2)
})

it('the start lies before the first gap', () => {
  assert.equal(startingPoint([]), 0)
  assert.equal(startingPoint([7]), 7)
  assert.equal(startingPoint([7, 8, 9]), 9)
  assert.equal(startingPoint([7, 8, 10, 12]), 8)
})
