import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRateLimit } from '../../../src/api/http/rate-limit.ts'

const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 10, 0, 0) + second * 1_000)

describe('a request budget', () => {
  it('allows a burst and refills evenly within a minute', () => {
    const budget = createRateLimit(6)
    for (let n = 0; n < 6; n++) budget.spend('ada', at(0))
    assert.throws(() => budget.spend('ada', at(0)), /Wait 10 seconds/)
    assert.throws(() => budget.spend('ada', at(9)), /Wait 1 second and/)
    budget.spend('ada', at(10))
    assert.throws(() => budget.spend('ada', at(10)), /RATE_LIMITED|more than 6 requests/)
    for (let n = 0; n < 6; n++) budget.spend('ada', at(100))
  })

  it('says how many are left, and when there is one more', () => {
    const budget = createRateLimit(6)
    assert.deepEqual(budget.spend('ada', at(0)), { max: 6, left: 5, seconds: 10 })
    for (let n = 0; n < 4; n++) budget.spend('ada', at(0))
    assert.deepEqual(budget.spend('ada', at(0)), { max: 6, left: 0, seconds: 10 })
    assert.equal(budget.spend('ada', at(15)).left, 0)
    assert.equal(budget.spend('bob', at(15)).left, 5)
  })

  it('may hold for an hour', () => {
    const budget = createRateLimit(6, 'an hour')
    for (let n = 0; n < 6; n++) budget.spend('ada', at(0))
    assert.throws(() => budget.spend('ada', at(1)), /more than 6 requests in an hour/)
    budget.spend('ada', at(600))
  })

  it('is separate for each caller', () => {
    const budget = createRateLimit(1)
    budget.spend('ada', at(0))
    budget.spend('bob', at(0))
    assert.throws(() => budget.spend('ada', at(1)))
  })

  it('drops the least recent callers when there are too many', () => {
    const budget = createRateLimit(1)
    for (let n = 0; n <= 10_000; n++) budget.spend(`caller ${n}`, at(0))
    budget.spend('caller 0', at(0))
    assert.throws(() => budget.spend('caller 10000', at(0)))
  })
})
