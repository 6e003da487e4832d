// How long a service asks to wait, in each form that HTTP allows.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { retryAfterMs } from '../../../src/base/run/retry-after.ts'

const NOW = new Date('2030-01-01T00:00:00Z')
const waits = (headers: Record<string, string>) => retryAfterMs(new Headers(headers), NOW)
const inSec = (sec: number) => new Date(+NOW + sec * 1_000).toUTCString()

describe('Retry-After', () => {
  it('is a number of seconds, with fractions', () => {
    assert.equal(waits({ 'retry-after': '7' }), 7_000)
    assert.equal(waits({ 'retry-after': ' 0.5 ' }), 500)
  })

  it('is a date, read against the clock of the service', () => {
    assert.equal(waits({ 'retry-after': inSec(30) }), 30_000)
    assert.equal(waits({ 'retry-after': inSec(630), date: inSec(600) }), 30_000)
    assert.equal(waits({ 'retry-after': inSec(-30) }), 0)
  })

  it('is at most an hour, and nothing without a value that has a meaning', () => {
    assert.equal(waits({ 'retry-after': '86400' }), 3_600_000)
    assert.equal(waits({}), null)
    assert.equal(waits({ 'retry-after': 'soon' }), null)
  })
})
