// Times as people read them: in a zone, with the zone's name, and with the date unless it is today.

const YEAR_CHARS = 4

/** Zones have local abbreviations: Europe's are known in British English, America's in American, Australia's in Australian. */
const ABBREVIATING = ['en-GB', 'en-US', 'en-AU', 'en-IN', 'en-NZ', 'en-ZA'] as const

interface ZoneFormats {
  readonly parts: Intl.DateTimeFormat
  readonly names: readonly Intl.DateTimeFormat[]
}

const formats = new Map<string, ZoneFormats>()

function formatsOf(zone: string): ZoneFormats {
  const known = formats.get(zone)
  if (known) return known
  const made = {
    parts: new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      weekday: 'short',
      year: 'numeric',
      month: 'short',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    }),
    names: ABBREVIATING.map(
      (locale) => new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'short' }),
    ),
  }
  formats.set(zone, made)
  return made
}

/** `CET`, `EST`, `UTC`; `GMT+3` for a zone without an abbreviation. */
function zoneName(at: Date, zone: string): string {
  const names = formatsOf(zone).names.map(
    (format) => format.formatToParts(at).find(({ type }) => type === 'timeZoneName')!.value,
  )
  return names.find((name) => !/^GMT[+-]/.test(name)) ?? names[0]!
}

function partsOf(at: Date, zone: string): Readonly<Record<string, string>> {
  const parts = formatsOf(zone).parts.formatToParts(at)
  const found = Object.fromEntries(parts.map(({ type, value }) => [type, value]))
  // British English alone writes "Sept".
  return { ...found, month: found.month!.slice(0, 3) }
}

/** `Fri 01 Mar 2030`. */
function dateText(at: Date, zone: string): string {
  const { weekday, day, month, year } = partsOf(at, zone)
  return `${weekday} ${day} ${month} ${year}`
}

/** `23:00`; with `seconds`, `23:00:05` unless the minute is whole. */
function clockText(at: Date, zone: string, seconds: boolean): string {
  const { hour, minute, second } = partsOf(at, zone)
  return `${hour}:${minute}${seconds && second !== '00' ? `:${second}` : ''}`
}

/** `23:00 CET`, `Fri 01 Mar 23:00 CET` on another day than now, `Fri 01 Mar 2031 23:00 CET` in another year. */
export function zonedTimeText(at: Date, now: Date, zone: string, seconds = false): string {
  const date = dateText(at, zone)
  const today = dateText(now, zone)
  const [day, year] = [date.slice(0, -YEAR_CHARS), date.slice(-YEAR_CHARS)]
  const shown = date === today ? '' : today.endsWith(year) ? day : `${date} `
  return `${shown}${clockText(at, zone, seconds)} ${zoneName(at, zone)}`
}

/** `Fri 01 Mar 2030 20:14 CET`. */
export const fullTimeText = (at: Date, zone: string): string =>
  `${dateText(at, zone)} ${clockText(at, zone, false)} ${zoneName(at, zone)}`

/** `Fri 20:14`: for logs, whose head says the date. */
export const dayTimeText = (at: Date, zone: string): string =>
  `${partsOf(at, zone).weekday} ${clockText(at, zone, false)}`

/** The zone as the system spells it; null if it knows none of that name. */
export function knownZone(name: string): string | null {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return null
  }
}

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

/** The text with every instant in it as people read it. Instants are written as JSON writes them. */
export const withZonedTimes = (text: string, now: Date, zone: string): string =>
  text.replaceAll(INSTANT, (instant) => zonedTimeText(new Date(instant), now, zone, true))
