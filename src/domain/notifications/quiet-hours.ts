// Quiet hours of a channel: on these days, from this time to that, in its zone. Over midnight they belong to the day on which they begin.

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

export interface QuietHours {
  /** The days on which they begin. */
  readonly days: readonly Weekday[]
  /** Minutes after midnight. Equal ones mean the whole day. */
  readonly fromMin: number
  readonly toMin: number
}

const MINUTE_MS = 60_000
const DAY_MIN = 1_440
/** No zone changes its clock by more. */
const CLOCK_CHANGE_MIN = 180

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
  formats.set(zone, format)
  return format
}

interface LocalTime {
  /** 0 is Monday. */
  readonly day: number
  readonly min: number
}

function localTime(at: Date, zone: string): LocalTime {
  const parts = formatOf(zone).formatToParts(at)
  const part = (type: string) => parts.find((one) => one.type === type)!.value
  const day = WEEKDAYS.indexOf(part('weekday').toLowerCase() as Weekday)
  return { day, min: Number(part('hour')) * 60 + Number(part('minute')) }
}

/** When the quiet hours that cover `now` end; `now` itself outside them. Hours that follow each other count as one. */
export function quietUntil(quiet: QuietHours, zone: string, now: Date): Date {
  let at = now
  for (let days = 0; days < WEEKDAYS.length; days += 1) {
    const end = endOf(quiet, zone, at)
    if (end === null) return at
    at = end
  }
  return at
}

function endOf(quiet: QuietHours, zone: string, at: Date): Date | null {
  const left = minutesLeft(quiet, localTime(at, zone))
  return left === null ? null : laterByWall(quiet, zone, at, left)
}

/** By the clock on the wall; null outside of quiet hours. */
function minutesLeft({ days, fromMin, toMin }: QuietHours, { day, min }: LocalTime): number | null {
  const isQuietDay = (offset: number) => days.includes(WEEKDAYS[(day + offset + 7) % 7]!)
  const isOvernight = toMin <= fromMin
  if (isOvernight && min < toMin && isQuietDay(-1)) return toMin - min
  if (min < fromMin || (!isOvernight && min >= toMin) || !isQuietDay(0)) return null
  return isOvernight ? DAY_MIN - min + toMin : toMin - min
}

/** So many minutes later by the clock on the wall, also across a change of that clock. */
function laterByWall(quiet: QuietHours, zone: string, at: Date, minutes: number): Date {
  const whole = Math.floor(+at / MINUTE_MS) * MINUTE_MS
  const wanted = (localTime(at, zone).min + minutes) % DAY_MIN
  const guess = whole + minutes * MINUTE_MS
  const off = (localTime(new Date(guess), zone).min - wanted + 1.5 * DAY_MIN) % DAY_MIN
  const change = off - DAY_MIN / 2
  if (Math.abs(change) > CLOCK_CHANGE_MIN) return new Date(guess)
  const end = new Date(guess - change * MINUTE_MS)
  if (localTime(end, zone).min === wanted) return end
  // The clock skips that time: the first minute after it.
  for (let ms = +end; ms < guess; ms += MINUTE_MS)
    if (minutesLeft(quiet, localTime(new Date(ms), zone)) === null) return new Date(ms)
  return new Date(guess)
}
