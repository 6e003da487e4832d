// The file of the system's windows: read, or every problem with its place.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readSystemWindows } from '../../../src/domain/windows/read-settings.ts'

it('reads hours, days and freezes', () => {
  const read = readSystemWindows(`time_zone: Europe/Berlin
hours:
  - { days: [Fri, sat], from: "22:00", to: "06:00" }
  - { from: "03:00", to: "04:30" }
freezes:
  - { from: 2026-12-19, to: 2027-01-06, reason: year-end closing }
`)
  assert.deepEqual(read, {
    windows: {
      timeZone: 'Europe/Berlin',
      hours: [
        { days: ['fri', 'sat'], fromMin: 1_320, toMin: 360 },
        { days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], fromMin: 180, toMin: 270 },
      ],
      freezes: [{ from: '2026-12-19', to: '2027-01-06', reason: 'year-end closing' }],
    },
  })
})

it('lists every problem with line and column', () => {
  const read = readSystemWindows(`time_zone: Berlin
open: []
freezes:
  - { from: 2026-12-19, to: 2026-12-01, reason: x }
`)
  assert.ok('problems' in read)
  assert.deepEqual(
    read.problems.map(({ code, line, column }) => `${line}:${column} ${code}`).sort(),
    ['1:12 BAD_TIME_ZONE', '2:1 UNKNOWN_KEY', '4:29 FREEZE_BACKWARDS'],
  )
  const empty = readSystemWindows('')
  assert.ok('problems' in empty && empty.problems[0]!.code === 'EMPTY_DOCUMENT')
})
