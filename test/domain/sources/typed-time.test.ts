// Times as people type them, over zones and clock changes.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readTypedTime } from '../../../src/domain/sources/typed-time.ts'

const NOW = '2026-11-30T20:00:00Z'
const BASE = '2026-12-01T22:00:00Z'

/** The instant, or the reason why there is none. */
function read(text: string, timeZone = 'Europe/Berlin', now = NOW): string {
  const read = readTypedTime(text, { base: new Date(BASE), now: new Date(now), timeZone })
  return 'at' in read ? read.at.toISOString().replace('.000Z', 'Z') : read.reason
}

const READ: [typed: string, at: string, zone?: string, now?: string][] = [
  ['+2h', '2026-12-02T00:00:00Z'],
  ['-30m', '2026-12-01T21:30:00Z'],
  ['\u221230m', '2026-12-01T21:30:00Z'],
  ['+90s', '2026-12-01T22:01:30Z'],
  ['+1d', '2026-12-02T22:00:00Z'],
  // 20:00 UTC is 21:00 in Berlin: 22:30 is still to come there, 20:30 is over.
  ['22:30', '2026-11-30T21:30:00Z'],
  ['20:30', '2026-12-01T19:30:00Z'],
  ['21:00', '2026-12-01T20:00:00Z'],
  ['9:05', '2026-12-01T08:05:00Z'],
  ['22:30:15', '2026-11-30T21:30:15Z'],
  ['22:30', '2026-11-30T22:30:00Z', 'UTC'],
  // Already the next day in Auckland, still the afternoon in New York.
  ['22:30', '2026-12-01T09:30:00Z', 'Pacific/Auckland'],
  ['22:30', '2026-12-01T03:30:00Z', 'America/New_York'],
  ['22:30', '2026-12-01T17:00:00Z', 'Asia/Kolkata'],
  ['2026-12-01 22:00', '2026-12-01T21:00:00Z'],
  ['2026-12-01T22:00', '2026-12-01T21:00:00Z'],
  [' 2026-07-01 22:00 ', '2026-07-01T20:00:00Z'],
  ['2026-12-01', '2026-11-30T23:00:00Z'],
  ['2026-12-01T22:00:00+05:30', '2026-12-01T16:30:00Z'],
  ['2026-12-01T22:00:00Z', '2026-12-01T22:00:00Z'],
  // The offset settles which of the two is meant.
  ['2026-10-25T02:30:00+01:00', '2026-10-25T01:30:00Z'],
  // On the evening before the change the next 01:30 is on the day of the change.
  ['01:30', '2026-03-29T00:30:00Z', 'Europe/Berlin', '2026-03-28T20:00:00Z'],
]

for (const [typed, at, zone, now] of READ) {
  it(`reads ${typed} in ${zone ?? 'Europe/Berlin'} as ${at}`, () => {
    assert.equal(read(typed, zone, now), at)
  })
}

for (const typed of [
  '+2x',
  '+',
  '2h',
  '25:00',
  '22:60',
  'tomorrow',
  '2026-02-30 10:00',
  '+999d',
  '',
])
  it(`refuses ${JSON.stringify(typed)} and says what to type`, () => {
    const forms = '+2h, -30m, 22:30, "2026-12-01 22:00" or 2026-12-01T22:00:00+01:00'
    assert.equal(read(typed), `Invalid time "${typed}". Use ${forms}.`)
  })

it('refuses a time that the clocks skip, and says which two a repeated one may be', () => {
  assert.equal(
    read('2026-03-29 02:30'),
    '2026-03-29 02:30:00 does not exist in Europe/Berlin: the clocks skip that hour. Choose another time.',
  )
  assert.equal(
    read('2026-10-25 02:30'),
    '2026-10-25 02:30:00 exists twice in Europe/Berlin: the clocks repeat that hour. Say 2026-10-25T02:30:00+02:00 (the first) or 2026-10-25T02:30:00+01:00 (the second).',
  )
  assert.match(read('2026-11-01 01:30', 'America/New_York'), /Say 2026-11-01T01:30:00-04:00 \(the/)
  assert.match(read('2026-10-04 02:15', 'Australia/Lord_Howe'), /does not exist in Australia/)
})

it('refuses a time of day that the clocks skip or repeat next', () => {
  const skipped = read('02:30', 'Europe/Berlin', '2026-03-28T20:00:00Z')
  assert.match(skipped, /^2026-03-29 02:30:00 does not exist/)
  const early = read('02:30', 'Europe/Berlin', '2026-03-29T00:30:00Z')
  assert.match(early, /^2026-03-29 02:30:00 does not exist/)
  const repeated = read('02:30', 'Europe/Berlin', '2026-10-24T20:00:00Z')
  assert.match(repeated, /^2026-10-25 02:30:00 exists twice/)
})
