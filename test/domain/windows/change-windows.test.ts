// Change windows by the clock on the wall: over midnight, in zones, across clock changes, with freezes and together.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { WEEKDAYS, type Weekday } from '../../../src/domain/notifications/quiet-hours.ts'
import {
  type ChangeWindows,
  stateAt,
  stateOfAll,
  withOverride,
} from '../../../src/domain/windows/change-windows.ts'

const minutes = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
const ALL = WEEKDAYS as readonly Weekday[]

/** `22:00-06:00`, on these days. */
const windows = (
  hours: string,
  days = ALL,
  timeZone = 'Europe/Berlin',
  freezes: ChangeWindows['freezes'] = [],
): ChangeWindows => {
  const [from, to] = hours.split('-') as [string, string]
  return { timeZone, hours: [{ days, fromMin: minutes(from), toMin: minutes(to) }], freezes }
}

/** `open until …` or `closed until …`. */
function said(state: ReturnType<typeof stateAt>): string {
  const until = state.until?.toISOString().replace('.000Z', 'Z') ?? 'ever'
  return `${state.isOpen ? 'open' : 'closed'} until ${until}`
}
const at = (some: ChangeWindows, now: string) => said(stateAt(some, new Date(now)))

it('opens and closes by the clock on the wall of its zone', () => {
  const night = windows('22:00-06:00', ['fri', 'sat'])
  // Saturday 7 March 2026, CET.
  assert.equal(at(night, '2026-03-07T20:59:59Z'), 'closed until 2026-03-07T21:00:00Z')
  assert.equal(at(night, '2026-03-07T21:00:00Z'), 'open until 2026-03-08T05:00:00Z')
  assert.equal(at(night, '2026-03-08T04:59:59Z'), 'open until 2026-03-08T05:00:00Z')
  assert.equal(at(night, '2026-03-08T05:00:00Z'), 'closed until 2026-03-13T21:00:00Z')
  assert.equal(
    at(windows('22:00-06:00', ['sat'], 'Asia/Kolkata'), '2026-03-07T16:29:59Z'),
    'closed until 2026-03-07T16:30:00Z',
  )
})

it('joins hours that follow each other, and never closes when they fill the week', () => {
  const joined: ChangeWindows = {
    ...windows('22:00-00:00', ['sat']),
    hours: [
      ...windows('22:00-00:00', ['sat']).hours,
      ...windows('00:00-03:00', ['sun']).hours,
      ...windows('02:00-04:00', ['sun']).hours,
    ],
  }
  assert.equal(at(joined, '2026-03-07T21:30:00Z'), 'open until 2026-03-08T03:00:00Z')
  assert.equal(at(windows('00:00-00:00'), '2026-03-07T21:30:00Z'), 'open until ever')
})

it('does not open before a skipped hour has passed, and closes at the change', () => {
  // 29 March 2026: 02:00 CET becomes 03:00 CEST at 01:00Z.
  const inGap = windows('02:30-05:00', ['sun'])
  assert.equal(at(inGap, '2026-03-29T00:59:59Z'), 'closed until 2026-03-29T01:00:00Z')
  assert.equal(at(inGap, '2026-03-29T01:00:00Z'), 'open until 2026-03-29T03:00:00Z')
  const endsInGap = windows('01:00-02:30', ['sun'])
  assert.equal(at(endsInGap, '2026-03-29T00:30:00Z'), 'open until 2026-03-29T01:00:00Z')
  // Both in the gap: that day has no window.
  const lost = windows('02:10-02:50', ['sun'])
  assert.equal(at(lost, '2026-03-29T00:30:00Z'), 'closed until 2026-04-05T00:10:00Z')
  const night = windows('22:00-06:00', ['sat'])
  assert.equal(at(night, '2026-03-28T21:00:00Z'), 'open until 2026-03-29T04:00:00Z')
})

it('takes the shorter reading of a repeated hour', () => {
  // 25 October 2026: 03:00 CEST becomes 02:00 CET at 01:00Z, so 02:30 is at 00:30Z and at 01:30Z.
  const begins = windows('02:30-05:00', ['sun'])
  assert.equal(at(begins, '2026-10-25T00:45:00Z'), 'closed until 2026-10-25T01:30:00Z')
  const ends = windows('01:00-02:30', ['sun'])
  assert.equal(at(ends, '2026-10-24T23:30:00Z'), 'open until 2026-10-25T00:30:00Z')
  assert.equal(at(ends, '2026-10-25T00:45:00Z'), 'closed until 2026-11-01T00:00:00Z')
  const night = windows('22:00-06:00', ['sat'])
  assert.equal(at(night, '2026-10-24T21:00:00Z'), 'open until 2026-10-25T05:00:00Z')
})

it('stays closed during a freeze, to the end of its last day', () => {
  const freezes = [{ from: '2026-12-19', to: '2027-01-06', reason: 'year-end' }]
  const nights = windows('22:00-06:00', ALL, 'Europe/Berlin', freezes)
  assert.equal(at(nights, '2026-12-18T22:00:00Z'), 'open until 2026-12-18T23:00:00Z')
  const frozen = stateAt(nights, new Date('2026-12-24T22:00:00Z'))
  assert.equal(said(frozen), 'closed until 2027-01-06T23:00:00Z')
  assert.equal(!frozen.isOpen && frozen.freezeReason, 'year-end')
  const always: ChangeWindows = { timeZone: 'Europe/Berlin', hours: [], freezes }
  assert.equal(at(always, '2026-12-01T00:00:00Z'), 'open until 2026-12-18T23:00:00Z')
  assert.equal(at(always, '2027-02-01T00:00:00Z'), 'open until ever')
  const long = [{ from: '2026-01-01', to: '2036-01-01', reason: 'sold' }]
  assert.equal(
    at(windows('22:00-06:00', ALL, 'UTC', long), '2026-03-01T00:00:00Z'),
    'closed until ever',
  )
})

it('needs all windows open at once', () => {
  const nights = windows('22:00-06:00')
  const american = windows('20:00-23:00', ALL, 'America/New_York')
  const both = (now: string) => said(stateOfAll([nights, american], new Date(now)))
  // New York's evening begins at 01:00Z.
  assert.equal(both('2026-03-03T21:30:00Z'), 'closed until 2026-03-04T01:00:00Z')
  assert.equal(both('2026-03-04T01:00:00Z'), 'open until 2026-03-04T04:00:00Z')
  const never = windows('08:00-09:00')
  assert.equal(
    said(stateOfAll([nights, never], new Date('2026-03-03T21:30:00Z'))),
    'closed until ever',
  )
  assert.equal(said(stateOfAll([], new Date('2026-03-03T21:30:00Z'))), 'open until ever')
})

it('is open during an override, and on from its end if the windows are open then', () => {
  const nights = windows('22:00-06:00', ALL, 'UTC')
  const over = (now: string, until: string | null) =>
    said(
      withOverride(
        (moment) => stateAt(nights, moment),
        until === null ? null : new Date(until),
        new Date(now),
      ),
    )
  assert.equal(
    over('2026-03-03T12:00:00Z', '2026-03-03T14:00:00Z'),
    'open until 2026-03-03T14:00:00Z',
  )
  assert.equal(
    over('2026-03-03T14:00:00Z', '2026-03-03T14:00:00Z'),
    'closed until 2026-03-03T22:00:00Z',
  )
  assert.equal(
    over('2026-03-03T21:00:00Z', '2026-03-03T23:00:00Z'),
    'open until 2026-03-04T06:00:00Z',
  )
  assert.equal(
    over('2026-03-04T05:00:00Z', '2026-03-04T08:00:00Z'),
    'open until 2026-03-04T08:00:00Z',
  )
  assert.equal(over('2026-03-04T05:00:00Z', null), 'open until 2026-03-04T06:00:00Z')
})

it('stays open through a midnight that comes twice, and closes once where hours end there', () => {
  // Havana, 1 November 2026: 01:00 becomes 00:00 again at 05:00Z, so midnight is at 04:00Z and at 05:00Z.
  const days = windows('00:00-00:00', ALL, 'America/Havana')
  for (const now of ['03:59:59', '04:00:00', '04:30:00', '05:00:00'])
    assert.equal(at(days, `2026-11-01T${now}Z`), 'open until ever')
  const nights: ChangeWindows = {
    ...days,
    hours: [
      ...windows('22:00-00:00', ['sat']).hours,
      ...windows('00:00-00:30', ['sun']).hours,
      ...windows('00:30-06:00', ['sun']).hours,
    ],
  }
  assert.equal(at(nights, '2026-11-01T04:30:00Z'), 'open until 2026-11-01T11:00:00Z')
  // Alone, the hours before midnight end at the first, and those after it begin at the second.
  const evening = windows('22:00-00:00', ['sat'], 'America/Havana')
  assert.equal(at(evening, '2026-11-01T03:59:59Z'), 'open until 2026-11-01T04:00:00Z')
  assert.equal(at(evening, '2026-11-01T04:30:00Z'), 'closed until 2026-11-08T03:00:00Z')
  const morning = windows('00:00-06:00', ['sun'], 'America/Havana')
  assert.equal(at(morning, '2026-11-01T04:30:00Z'), 'closed until 2026-11-01T05:00:00Z')
  // Empty on that night: it would begin after its end.
  const short = windows('00:00-00:30', ['sun'], 'America/Havana')
  assert.equal(at(short, '2026-11-01T03:00:00Z'), 'closed until 2026-11-08T05:00:00Z')
  // A freeze covers both midnights, on its first day and on its last.
  const frozen = { ...days, freezes: [{ from: '2026-10-30', to: '2026-10-31', reason: 'x' }] }
  assert.equal(at(frozen, '2026-11-01T04:30:00Z'), 'closed until 2026-11-01T05:00:00Z')
})
