import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import {
  instantOf,
  noInstantReason,
  readWrittenTime,
  utcText,
} from '../../../src/domain/sources/source-time.ts'

describe('the instant of a value', () => {
  const CASES: readonly [value: Json, zone: string | null, means: string][] = [
    // With its own zone the runbook's does not matter.
    ['2026-03-01T09:30:00Z', null, '2026-03-01T09:30:00.000Z'],
    ['2026-03-01T09:30:00Z', 'Europe/Berlin', '2026-03-01T09:30:00.000Z'],
    ['2026-03-01T09:30:00+01:00', null, '2026-03-01T08:30:00.000Z'],
    ['2026-03-01T09:30:00-0530', null, '2026-03-01T15:00:00.000Z'],
    ['2026-03-01 09:30 +02', null, '2026-03-01T07:30:00.000Z'],
    ['  2026-03-01t09:30z ', null, '2026-03-01T09:30:00.000Z'],
    // To the second.
    ['2026-03-01T09:30:59.999Z', null, '2026-03-01T09:30:59.000Z'],
    ['2026-03-01T09:30:59,9', 'UTC', '2026-03-01T09:30:59.000Z'],
    // Without a zone.
    ['2026-03-01T09:30:00', 'Europe/Berlin', '2026-03-01T08:30:00.000Z'],
    ['2026-07-01 09:30', 'Europe/Berlin', '2026-07-01T07:30:00.000Z'],
    ['2026-03-01', 'Europe/Berlin', '2026-02-28T23:00:00.000Z'],
    ['2026-03-01', 'Asia/Kolkata', '2026-02-28T18:30:00.000Z'],
    ['2026-03-01T09:30:00', 'America/New_York', '2026-03-01T14:30:00.000Z'],
    ['2026-03-01T09:30:00', 'UTC', '2026-03-01T09:30:00.000Z'],
    ['2026-03-01T09:30:00', null, 'no_zone'],
    ['2026-03-01', null, 'no_zone'],
    // Clocks go forward at 02:00 on 29 March and back at 03:00 on 25 October.
    ['2026-03-29T01:59:59', 'Europe/Berlin', '2026-03-29T00:59:59.000Z'],
    ['2026-03-29T02:00:00', 'Europe/Berlin', 'skipped_hour'],
    ['2026-03-29T02:59:59', 'Europe/Berlin', 'skipped_hour'],
    ['2026-03-29T03:00:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T01:59:59', 'Europe/Berlin', '2026-10-24T23:59:59.000Z'],
    ['2026-10-25T02:00:00', 'Europe/Berlin', 'repeated_hour'],
    ['2026-10-25T02:59:59', 'Europe/Berlin', 'repeated_hour'],
    ['2026-10-25T02:30:00+02:00', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T03:00:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
    // Half an hour on Lord Howe Island; Beirut skips midnight; Samoa skipped a whole day.
    ['2026-10-04T02:15:00', 'Australia/Lord_Howe', 'skipped_hour'],
    ['2026-04-05T01:45:00', 'Australia/Lord_Howe', 'repeated_hour'],
    ['2026-03-29', 'Asia/Beirut', 'skipped_hour'],
    ['2011-12-30T12:00:00', 'Pacific/Apia', 'skipped_hour'],
    ['2026-09-06', 'America/Santiago', 'skipped_hour'],
    // Missing, or not a time.
    [null, 'UTC', 'empty'],
    ['', 'UTC', 'empty'],
    ['3/1/2026', 'UTC', 'unreadable'],
    ['01.03.2026', 'UTC', 'unreadable'],
    ['2026-02-30', 'UTC', 'unreadable'],
    ['2026-13-01', 'UTC', 'unreadable'],
    ['2026-03-01T24:00:00', 'UTC', 'unreadable'],
    ['2026-03-01T09:60:00', 'UTC', 'unreadable'],
    ['2026-03-01T09:30:60', 'UTC', 'unreadable'],
    ['soon', 'UTC', 'unreadable'],
    [1_772_357_400, 'UTC', 'unreadable'],
    [true, 'UTC', 'unreadable'],
    [['2026-03-01'], 'UTC', 'unreadable'],
  ]
  for (const [value, zone, means] of CASES) {
    it(`${JSON.stringify(value)} in ${zone ?? 'no zone'} is ${means}`, () => {
      const found = instantOf(value, zone)
      assert.equal('at' in found ? found.at.toISOString() : found.reason, means)
    })
  }

  it('agrees with the zone for a whole year and reports every skipped or repeated hour', () => {
    const zone = 'America/New_York'
    const wall = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'medium',
    })
    const reasons: string[] = []
    for (let hour = 0; hour < 365 * 24; hour++) {
      const written = new Date(Date.UTC(2026, 0, 1, hour)).toISOString().slice(0, 19)
      const found = instantOf(written, zone)
      if ('at' in found) assert.equal(wall.format(found.at), written.replace('T', ' '))
      else reasons.push(`${written} ${found.reason}`)
    }
    assert.deepEqual(reasons, [
      '2026-03-08T02:00:00 skipped_hour',
      '2026-11-01T01:00:00 repeated_hour',
    ])
  })

  it('explains a missing instant with the value and what to do', () => {
    const say = (reason: Parameters<typeof noInstantReason>[0]) =>
      noInstantReason(reason, '"2026-03-29 02:30"', 'Europe/Berlin')
    assert.equal(say('empty'), 'it has no time')
    assert.match(say('unreadable'), /"2026-03-29 02:30" is not a valid time; write it like 2026-/)
    assert.match(say('no_zone'), /has no time zone; add one, or set time_zone/)
    assert.match(say('skipped_hour'), /does not exist in Europe\/Berlin/)
    assert.match(say('repeated_hour'), /exists twice in Europe\/Berlin.*; add the offset/)
  })
})

describe('typed times as JSON', () => {
  const CASES: readonly [text: string, json: string][] = [
    ['2026-03-01 09:30:00', '2026-03-01T09:30:00Z'],
    ['2026-03-01 09:30:00+00', '2026-03-01T09:30:00Z'],
    ['2026-03-01T09:30:00.000Z', '2026-03-01T09:30:00Z'],
    ['2026-03-01 09:30:00.123456+00', '2026-03-01T09:30:00.123456Z'],
    ['2026-03-01T09:30:00.120+02:00', '2026-03-01T07:30:00.12Z'],
    ['0001-01-01 00:00:00', '0001-01-01T00:00:00Z'],
    ['9999-12-31 23:59:59', '9999-12-31T23:59:59Z'],
    ['infinity', 'infinity'],
    ['0044-03-15 00:00:00 BC', '0044-03-15 00:00:00 BC'],
  ]
  for (const [text, json] of CASES)
    it(`${text} is ${json}`, () => assert.equal(utcText(text), json))

  it('ignores a text that is not a time, however long', () => {
    assert.equal(readWrittenTime(`2026-03-01T09:30:00.${'1'.repeat(100_000)}`), null)
    assert.equal(readWrittenTime(' '.repeat(100_000)), null)
  })
})
