// Change windows: when a tenant may be changed. Weekly hours in a zone, and freezes between two dates. Clock changes: a window never becomes
// longer than its wall times say, and a freeze never shorter. Pure: the time is given.

import { WEEKDAYS, type Weekday } from '../notifications/quiet-hours.ts'
import { instantsOf, offsetAt } from '../sources/source-time.ts'

export interface WindowHours {
  /** The days on which they begin. */
  readonly days: readonly Weekday[]
  /** Minutes after midnight. To the same or an earlier time means the next day. */
  readonly fromMin: number
  readonly toMin: number
}

export interface Freeze {
  /** Local dates, both included: `2026-12-19`. */
  readonly from: string
  readonly to: string
  readonly reason: string
}

export interface ChangeWindows {
  readonly timeZone: string
  /** Empty: always, apart from freezes. */
  readonly hours: readonly WindowHours[]
  readonly freezes: readonly Freeze[]
}

/** Of one set of windows, or of several that must all be open. `until` is the next change; null when none comes within the horizon. */
export type WindowState =
  | { readonly isOpen: true; readonly until: Date | null }
  | {
      readonly isOpen: false
      readonly until: Date | null
      /** The zone in which `until` is told. */
      readonly timeZone: string
      /** Of a freeze that keeps it closed now. */
      readonly freezeReason: string | null
    }

export const ALWAYS_OPEN: WindowState = { isOpen: true, until: null }

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const DAY_MIN = 1_440
/** Windows that do not open within it count as never opening. */
const HORIZON_DAYS = 400

interface Span {
  readonly from: number
  readonly to: number
}

/** Days since 1970-01-01, on the wall. */
type LocalDay = number

const localDayOf = (ms: number, zone: string): LocalDay =>
  Math.floor((ms + offsetAt(ms, zone)) / DAY_MS)
const dayOfDate = (date: string): LocalDay => Math.round(Date.parse(`${date}T00:00:00Z`) / DAY_MS)
/** 1970-01-01 was a Thursday; 0 is Monday. */
const weekdayOf = (day: LocalDay): Weekday => WEEKDAYS[(((day + 3) % 7) + 7) % 7]!

/** The instant of a wall time. One that exists twice is the `first` or the `last`; one that the clocks skip is the moment of the change. */
function instantAt(day: LocalDay, min: number, zone: string, which: 'first' | 'last'): number {
  const localMs = day * DAY_MS + min * MINUTE_MS
  const found = instantsOf(localMs, zone)
  if (found.length > 0) return which === 'first' ? Math.min(...found) : Math.max(...found)
  return changeBetween(localMs - DAY_MS, localMs + DAY_MS, zone)
}

/** The moment at which the zone changes its clock, to the minute, between two instants that have different offsets. */
function changeBetween(from: number, to: number, zone: string): number {
  const before = offsetAt(from, zone)
  let [low, high] = [Math.floor(from / MINUTE_MS), Math.ceil(to / MINUTE_MS)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle * MINUTE_MS, zone) === before) low = middle
    else high = middle
  }
  return high * MINUTE_MS
}

/** Of weekly hours, with its end on the wall. */
interface WallSpan extends Span {
  readonly wallFrom: number
  readonly wallTo: number
}

/** The hours that begin on this day, in their order. One that a clock change leaves empty ends before it begins. */
function spansOn(day: LocalDay, { hours, timeZone }: ChangeWindows): WallSpan[] {
  const weekday = weekdayOf(day)
  return hours
    .filter(({ days }) => days.includes(weekday))
    .map(({ fromMin, toMin }) => {
      const endMin = toMin <= fromMin ? toMin + DAY_MIN : toMin
      return {
        from: instantAt(day, fromMin, timeZone, 'last'),
        to: instantAt(day, endMin, timeZone, 'first'),
        wallFrom: day * DAY_MIN + fromMin,
        wallTo: day * DAY_MIN + endMin,
      }
    })
    .sort((a, b) => a.wallFrom - b.wallFrom)
}

const freezeSpan = ({ from, to }: Freeze, zone: string): Span => ({
  from: instantAt(dayOfDate(from), 0, zone, 'first'),
  to: instantAt(dayOfDate(to) + 1, 0, zone, 'last'),
})

/**
 * Without freezes: the open span that covers `at`, or the next opening. Hours that follow each other on the wall are one span: where the
 * clocks repeat midnight, a window of whole days would else be closed for that hour.
 */
function weekly(windows: ChangeWindows, at: number): { open: Span | null; next: number | null } {
  if (windows.hours.length === 0) return { open: { from: at, to: Infinity }, next: null }
  const today = localDayOf(at, windows.timeZone)
  let joined: WallSpan | null = null
  for (let day = today - 1; day <= today + HORIZON_DAYS; day += 1) {
    for (const span of spansOn(day, windows)) {
      if (joined !== null && span.wallFrom <= joined.wallTo) {
        joined = endingLast(joined, span)
        continue
      }
      if (joined !== null && joined.to > joined.from) {
        if (joined.from > at) return { open: null, next: joined.from }
        if (joined.to > at) return { open: joined, next: null }
      }
      joined = span
    }
    if (joined !== null && joined.from <= at && day - today > DAYS_JOINED_MAX)
      return { open: { from: joined.from, to: Infinity }, next: null }
  }
  return { open: null, next: null }
}

/** Hours that are joined for longer never close. */
const DAYS_JOINED_MAX = 8

const endingLast = (joined: WallSpan, span: WallSpan): WallSpan => ({
  ...joined,
  to: Math.max(joined.to, span.to),
  wallTo: Math.max(joined.wallTo, span.wallTo),
})

const dateOrNull = (ms: number | null): Date | null =>
  ms === null || ms === Infinity ? null : new Date(ms)

/** The state of one set of windows at a moment. */
export function stateAt(windows: ChangeWindows, now: Date): WindowState {
  const { timeZone } = windows
  const at = +now
  const freezes = windows.freezes.map((freeze) => ({ freeze, ...freezeSpan(freeze, timeZone) }))
  const frozen = freezes.find(({ from, to }) => from <= at && at < to)
  const { open } = frozen ? { open: null } : weekly(windows, at)
  if (open) {
    const nextFreeze = Math.min(...freezes.filter(({ from }) => from > at).map(({ from }) => from))
    return { isOpen: true, until: dateOrNull(Math.min(open.to, nextFreeze)) }
  }
  const until = dateOrNull(opensAfter(windows, freezes, at))
  return { isOpen: false, until, timeZone, freezeReason: frozen?.freeze.reason ?? null }
}

function opensAfter(
  windows: ChangeWindows,
  freezes: readonly Span[],
  closedAt: number,
): number | null {
  const last = closedAt + HORIZON_DAYS * DAY_MS
  let at = closedAt
  while (at <= last) {
    const frozen = freezes.find(({ from, to }) => from <= at && at < to)
    if (frozen) {
      at = frozen.to
      continue
    }
    const { open, next } = weekly(windows, at)
    if (open) return at
    if (next === null) return null
    at = next
  }
  return null
}

/** Windows that must all be open at once: the system's and the runbook's. */
export function stateOfAll(all: readonly ChangeWindows[], now: Date): WindowState {
  const states = all.map((windows) => stateAt(windows, now))
  const closed = states.filter((state) => !state.isOpen)
  if (closed.length === 0) {
    const ends = states.flatMap(({ until }) => until ?? [])
    return { isOpen: true, until: ends.length === 0 ? null : earliest(ends) }
  }
  const frozen = closed.find(({ freezeReason }) => freezeReason !== null)
  const opening = openingOfAll(all, now)
  const { timeZone } = frozen ?? closed[0]!
  return { isOpen: false, until: opening, timeZone, freezeReason: frozen?.freezeReason ?? null }
}

/** Each round moves to a later opening, and each set opens at most three times a day. */
const ROUNDS_MAX = HORIZON_DAYS * 10

function openingOfAll(all: readonly ChangeWindows[], now: Date): Date | null {
  let at = now
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const closed = all.map((windows) => stateAt(windows, at)).filter(({ isOpen }) => !isOpen)
    if (closed.length === 0) return at
    const openings = closed.map(({ until }) => until)
    if (openings.includes(null)) return null
    at = latest(openings as Date[])
    if (+at > +now + HORIZON_DAYS * DAY_MS) return null
  }
  return null
}

const earliest = (times: readonly Date[]): Date => new Date(Math.min(...times.map(Number)))
const latest = (times: readonly Date[]): Date => new Date(Math.max(...times.map(Number)))

/** The state while an override is in force: open until its end, and on from there if the windows are open then. */
export function withOverride(
  state: (at: Date) => WindowState,
  overrideUntil: Date | null,
  now: Date,
): WindowState {
  const own = state(now)
  if (overrideUntil === null || overrideUntil <= now) return own
  if (own.isOpen && (own.until === null || own.until >= overrideUntil)) return own
  const then = state(overrideUntil)
  return { isOpen: true, until: then.isOpen ? then.until : overrideUntil }
}
