// Events in the order of their ids: holes are waited for as long as they may be filled, and no longer.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { GaplessReader, startingPoint } from '../../src/api/events/gapless-reader.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const later = (sec: number) => new Date(+NOW + sec * 1_000)
const events = (...ids: readonly number[]) => ids.map((id) => ({ id }))
const quiet = (next: number) => ({ oldest: next, next })

it('ids without holes are told as they come', () => {
  const order = new GaplessReader(3)
  assert.deepEqual(order.take(events(4, 5, 6), { oldest: 7, next: 9 }, NOW), events(4, 5, 6))
  assert.equal(order.last, 6)
  assert.deepEqual(order.take([], quiet(9), NOW), [])
})

it('a hole that a running transaction may fill is waited for', () => {
  const order = new GaplessReader(3)
  assert.deepEqual(order.take(events(4, 6), { oldest: 7, next: 9 }, NOW), events(4))
  assert.deepEqual(order.take(events(6, 7), { oldest: 8, next: 12 }, later(1)), [])
  assert.deepEqual(order.take(events(5, 6, 7), { oldest: 8, next: 12 }, later(2)), events(5, 6, 7))
})

it('a hole of a transaction that was rolled back is passed when all that ran have ended', () => {
  const order = new GaplessReader(3)
  assert.deepEqual(order.take(events(5), { oldest: 7, next: 9 }, NOW), [])
  assert.deepEqual(order.take(events(5), { oldest: 8, next: 20 }, later(1)), [])
  assert.deepEqual(order.take(events(5), { oldest: 9, next: 20 }, later(2)), events(5))
})

it('with nothing running a hole is passed at once', () => {
  assert.deepEqual(new GaplessReader(3).take(events(9), quiet(5), NOW), events(9))
})

it('several holes are waited for together', () => {
  const order = new GaplessReader(0)
  assert.deepEqual(order.take(events(2, 4, 6), { oldest: 7, next: 9 }, NOW), [])
  assert.deepEqual(order.take(events(2, 4, 6), { oldest: 9, next: 30 }, later(1)), events(2, 4, 6))
})

it('a transaction that never ends does not stop the stream for ever', () => {
  const order = new GaplessReader(0)
  const horizon = { oldest: 7, next: 9 }
  assert.deepEqual(order.take(events(2), horizon, NOW), [])
  assert.deepEqual(order.take(events(2), horizon, later(120)), [])
  assert.deepEqual(order.take(events(2), horizon, later(121)), events(2))
})

it('the beginning lies before the first hole', () => {
  assert.equal(startingPoint([]), 0)
  assert.equal(startingPoint([7]), 7)
  assert.equal(startingPoint([7, 8, 9]), 9)
  assert.equal(startingPoint([7, 8, 10, 12]), 8)
})
