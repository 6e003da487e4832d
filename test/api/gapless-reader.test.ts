// Events in id order: the reader waits for a gap as long as a running transaction may fill it, and no longer.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { GaplessReader, startingPoint } from '../../src/api/events/gapless-reader.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const later = (sec: number) => new Date(+NOW + sec * 1_000)
const events = (...ids: readonly number[]) => ids.map((id) => ({ id }))
const quiet = (next: number) => ({ oldest: next, next })

it('ids without gaps are returned at once', () => {
  const order = new GaplessReader(3)
  assert.deepEqual(order.take(events(4, 5, 6), { oldest: 7, next: 9 }, NOW), events(4, 5, 6))
  assert.equal(order.last, 6)
  assert.deepEqual(order.take([], quiet(9), NOW), [])
})

it('waits for a gap that a running transaction may fill', () => {
  const order = new GaplessReader(3)
  assert.deepEqual(order.take(events(4, 6), { oldest: 7, next: 9 }, NOW), events(4))
  assert.deepEqual(order.take(events(6, 7), { oldest: 8, next: 12 }, later(1)), [])
  assert.deepEqual(order.take(events(5, 6, 7), { oldest: 8, next: 12 }, later(2)), events(5, 6, 7))
})

it('passes the gap of a rolled-back transaction once all that ran with it have ended', () => {
  const order = new GaplessReader(3)
  assert.deepEqual(order.take(events(5), { oldest: 7, next: 9 }, NOW), [])
  assert.deepEqual(order.take(events(5), { oldest: 8, next: 20 }, later(1)), [])
  assert.deepEqual(order.take(events(5), { oldest: 9, next: 20 }, later(2)), events(5))
})

it('passes a gap at once when nothing runs', () => {
  assert.deepEqual(new GaplessReader(3).take(events(9), quiet(5), NOW), events(9))
})

it('waits for several gaps together', () => {
  const order = new GaplessReader(0)
  assert.deepEqual(order.take(events(2, 4, 6), { oldest: 7, next: 9 }, NOW), [])
  assert.deepEqual(order.take(events(2, 4, 6), { oldest: 9, next: 30 }, later(1)), events(2, 4, 6))
})

it('a transaction that never ends delays the stream for a limited time', () => {
  const order = new GaplessReader(0)
  const horizon = { oldest: 7, next: 9 }
  assert.deepEqual(order.take(events(2), horizon, NOW), [])
  assert.deepEqual(order.take(events(2), horizon, later(120)), [])
  assert.deepEqual(order.take(events(2), horizon, later(121)), events(2))
})

it('the start lies before the first gap', () => {
  assert.equal(startingPoint([]), 0)
  assert.equal(startingPoint([7]), 7)
  assert.equal(startingPoint([7, 8, 9]), 9)
  assert.equal(startingPoint([7, 8, 10, 12]), 8)
})
