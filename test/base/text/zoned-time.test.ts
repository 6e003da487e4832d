import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  dayTimeText,
  fullTimeText,
  knownZone,
  withZonedTimes,
  zonedTimeText,
} from '../../../src/base/text/zoned-time.ts'

const at = new Date('2030-03-01T22:00:05.000Z')

describe('a time for people', () => {
  const CASES: readonly (readonly [zone: string, now: string, text: string])[] = [
    ['Europe/Berlin', '2030-03-01T20:00:00Z', '23:00 CET'],
    ['Europe/Berlin', '2030-03-02T12:00:00Z', 'Fri 01 Mar 23:00 CET'],
    ['Europe/Berlin', '2030-02-28T22:30:00Z', 'Fri 01 Mar 23:00 CET'],
    ['Europe/Berlin', '2029-03-01T20:00:00Z', 'Fri 01 Mar 2030 23:00 CET'],
    ['America/New_York', '2030-03-01T20:00:00Z', '17:00 EST'],
    ['Australia/Sydney', '2030-03-01T20:00:00Z', '09:00 AEDT'],
    ['UTC', '2030-03-01T20:00:00Z', '22:00 UTC'],
  ]
  for (const [zone, now, text] of CASES) {
    it(`is ${text} in ${zone} at ${now}`, () =>
      assert.equal(zonedTimeText(at, new Date(now), zone), text))
  }

  it('names the offset of a zone without an abbreviation', () =>
    assert.equal(fullTimeText(at, 'America/Sao_Paulo'), 'Fri 01 Mar 2030 19:00 GMT-3'))

  it('changes its name with the clocks, and spells September in three letters', () =>
    assert.equal(
      fullTimeText(new Date('2030-09-01T20:00:00Z'), 'Europe/Berlin'),
      'Sun 01 Sep 2030 22:00 CEST',
    ))

  it('has seconds only where asked, and only if the minute is not whole', () => {
    assert.equal(zonedTimeText(at, at, 'UTC', true), '22:00:05 UTC')
    assert.equal(zonedTimeText(new Date('2030-03-01T22:00:00Z'), at, 'UTC', true), '22:00 UTC')
    assert.equal(dayTimeText(at, 'Europe/Berlin'), 'Fri 23:00')
  })

  it('replaces every instant of a sentence, and nothing else', () => {
    const text = 'due at 2030-03-01T22:00:00.000Z, data 2030-03-01T22:00:00Z, 2030-03-01'
    assert.equal(
      withZonedTimes(text, at, 'Europe/Berlin'),
      'due at 23:00 CET, data 2030-03-01T22:00:00Z, 2030-03-01',
    )
  })

  it('knows the names of zones', () => {
    assert.equal(knownZone('utc'), 'UTC')
    assert.equal(knownZone('europe/berlin'), 'Europe/Berlin')
    assert.equal(knownZone('Mars/Olympus'), null)
  })
})
