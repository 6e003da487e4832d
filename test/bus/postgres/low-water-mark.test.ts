import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeLowWaterMark } from '../../../src/bus/postgres/low-water-mark.ts'

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1_000)

describe('where a claim starts', () => {
  it('begins at the head, then five seconds before its newest row', () => {
    const floor = makeLowWaterMark()
    assert.equal(floor.start(at(100)), null)
    floor.found(null, at(90), true, at(100))
    assert.deepEqual(floor.start(at(101)), at(85))
    floor.found(at(85), at(99), false, at(101))
    assert.deepEqual(floor.start(at(101)), at(94))
  })

  it('stays at the head until a claim finds rows', () => {
    const floor = makeLowWaterMark()
    floor.found(null, null, false, at(100))
    assert.equal(floor.start(at(100)), null)
  })

  it('returns to the head every two seconds', () => {
    const floor = makeLowWaterMark()
    floor.found(null, at(100), true, at(100))
    floor.found(at(95), null, false, at(101))
    assert.notEqual(floor.start(at(101.9)), null)
    assert.equal(floor.start(at(102)), null)
    floor.found(null, null, false, at(102))
    assert.notEqual(floor.start(at(103)), null)
  })

  it('stays at the head while it finds full chunks of older rows, and never lowers its floor', () => {
    const floor = makeLowWaterMark()
    floor.found(null, at(100), true, at(100))
    floor.found(null, at(40), true, at(102))
    assert.equal(floor.start(at(102)), null)
    floor.found(null, at(41), true, at(102))
    assert.equal(floor.start(at(102)), null)
    floor.found(null, at(42), false, at(102))
    assert.deepEqual(floor.start(at(102)), at(95))
  })
})
