import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDurationSec, parseOffsetMinutes } from '../../../src/base/text/duration.ts'

const DURATIONS: [text: string, seconds: number | null][] = [
  ['1s', 1],
  ['90s', 90],
  ['15m', 900],
  ['4h', 14_400],
  ['7d', 604_800],
  ['365d', 31_536_000],
  ['366d', null],
  ['99999999s', null],
  ['0s', null],
  ['05m', null],
  ['5', null],
  ['m', null],
  ['', null],
  ['5M', null],
  ['5 m', null],
  ['1.5h', null],
  ['-5m', null],
  ['+5m', null],
  ['1h30m', null],
  ['5m\n', null],
  ['٥m', null],
]

const OFFSETS: [text: string, minutes: number | null][] = [
  ['T-0', 0],
  ['T-5d', 7_200],
  ['T-4h', 240],
  ['T-30m', 30],
  ['T-60s', 1],
  ['T-90s', 2],
  ['T-1s', 1],
  ['T+7d', -10_080],
  ['T+90s', -2],
  ['T-365d', 525_600],
  ['T-366d', null],
  ['T+0', null],
  ['T-0d', null],
  ['T-5', null],
  ['T5d', null],
  ['5d', null],
  ['T--5d', null],
  ['T- 5d', null],
  ['t-5d', null],
  ['T-5x', null],
  ['T-1.5d', null],
  ['', null],
]

describe('durations', () => {
  for (const [text, seconds] of DURATIONS) {
    it(`${JSON.stringify(text)} is ${seconds ?? 'refused'}`, () => {
      assert.equal(parseDurationSec(text), seconds)
    })
  }
})

describe('offsets', () => {
  for (const [text, minutes] of OFFSETS) {
    it(`${JSON.stringify(text)} is ${minutes ?? 'refused'}`, () => {
      assert.equal(parseOffsetMinutes(text), minutes)
    })
  }
})
