// Reads times from data sources. A time with an offset is an instant. One without needs the runbook's `time_zone`, and twice a
// year that is not enough: a skipped hour does not exist, a repeated hour exists twice. Such a row is reported: a wave that
// starts an hour early locks people out of their mail.
import type { Json } from '../../base/text/json.ts'

export type WrittenTime = {
  /** The written time read as UTC, to the second. */
  readonly localMs: number
  /** Fraction digits without trailing zeros; '' for none. */
  readonly fraction: string
  /** East of UTC; null without a zone. */
  readonly offsetMs: number | null
}

const WRITTEN =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d{1,9}))?)?\s?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?)?)?$/i

/** An ISO 8601 date with or without a time and a zone: `2026-03-01`, `2026-03-01 09:30`, `2026-03-01T09:30:00.5+01:00`. */
export function readWrittenTime(text: string): WrittenTime | null {
  const match = WRITTEN.exec(text.trim())
  if (!match) return null
  const [, date, time = '00:00', seconds = ':00', fraction = '', utc, sign, hours, minutes] = match
  const plain = `${date}T${time}${seconds}`
  const localMs = Date.parse(`${plain}Z`)
  // Date.parse turns 30 February into 2 March; a date that does not round-trip is invalid.
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(plain)) return null
  const offsetMin = Number(hours ?? 0) * 60 + Number(minutes ?? 0)
  const east = sign === '-' ? -offsetMin : offsetMin
  return {
    localMs,
    fraction: fraction.replace(/(?<!0)0+$/, ''),
    offsetMs: utc || sign ? east * 60_000 : null,
  }
}

/** A typed time as JSON: `2026-03-01T08:30:00Z`, with a fraction if it has one. Without a zone it is UTC (R33). */
export function utcText(text: string): string {
  const written = readWrittenTime(text)
  // "infinity", years BC and five-digit years stay as they are; they cannot be a cut-over time.
  if (!written) return text
  return utcTextOf(written.localMs - (written.offsetMs ?? 0), written.fraction)
}

/** `ms` is in whole seconds; `fraction` holds the digits. */
export function utcTextOf(ms: number, fraction = ''): string {
  const seconds = new Date(ms).toISOString().slice(0, 19)
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`
}

export type NoInstant = 'empty' | 'unreadable' | 'no_zone' | 'skipped_hour' | 'repeated_hour'
export type InstantOrReason = { readonly at: Date } | { readonly reason: NoInstant }

/** The instant of a `batch_time_column` value, to the second, or why there is none. */
export function instantOf(value: Json | undefined, timeZone: string | null): InstantOrReason {
  if (value === null || value === undefined || value === '') return { reason: 'empty' }
  const written = typeof value === 'string' ? readWrittenTime(value) : null
  if (!written) return { reason: 'unreadable' }
  if (written.offsetMs !== null) return { at: new Date(written.localMs - written.offsetMs) }
  if (timeZone === null) return { reason: 'no_zone' }
  const [first, second] = instantsOf(written.localMs, timeZone)
  if (first === undefined) return { reason: 'skipped_hour' }
  return second === undefined ? { at: new Date(first) } : { reason: 'repeated_hour' }
}

/** Completes "This row is not used: …". */
export function noInstantReason(reason: NoInstant, value: string, timeZone: string | null): string {
  switch (reason) {
    case 'empty':
      return 'it has no time'
    case 'unreadable':
      return `${value} is not a valid time; write it like 2026-03-01T09:30:00Z`
    case 'no_zone':
      return `${value} has no time zone; add one, or set time_zone in data_source`
    case 'skipped_hour':
      return `${value} does not exist in ${timeZone}, where clocks skip that hour; choose another time`
    case 'repeated_hour':
      return `${value} exists twice in ${timeZone}, where clocks repeat that hour; add the offset from UTC`
  }
}

const DAY_MS = 86_400_000

/** Every instant at which the zone shows this local time: normally one, none or two at a clock change. */
export function instantsOf(localMs: number, timeZone: string): number[] {
  // No zone changes its offset twice within two days, so only the offsets a day before and after can apply.
  const offsets = new Set([
    offsetAt(localMs - DAY_MS, timeZone),
    offsetAt(localMs + DAY_MS, timeZone),
  ])
  return [...offsets]
    .map((offsetMs) => ({ offsetMs, at: localMs - offsetMs }))
    .filter(({ offsetMs, at }) => offsetAt(at, timeZone) === offsetMs)
    .map(({ at }) => at)
}

const formats = new Map<string, Intl.DateTimeFormat>()
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

export function offsetAt(ms: number, timeZone: string): number {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    formats.set(timeZone, format)
  }
  const [, sign, hours = 0, minutes = 0, seconds = 0] = OFFSET.exec(format.format(ms)) ?? []
  const offsetSec = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return (sign === '-' ? -offsetSec : offsetSec) * 1000
}
