// Reads times as people type them: `+2h`, `22:30`, `2026-12-01 22:00`, ISO 8601 with a zone. A time that a clock change skips or repeats
// is refused with what to type instead: a wave that starts an hour early locks people out of their mail.

import { parseDurationSec } from '../../base/text/duration.ts'
import { instantsOf, offsetAt, readWrittenTime } from './source-time.ts'

export interface TypedTimeFacts {
  /** `+2h` counts from here: the batch's start, or now. */
  readonly base: Date
  readonly now: Date
  /** An IANA name, for times without a zone. */
  readonly timeZone: string
}

export type TypedTime = { readonly at: Date } | { readonly reason: string }

const TIME_FORMS = '+2h, -30m, 22:30, "2026-12-01 22:00" or 2026-12-01T22:00:00+01:00'

/** The minus may be U+2212: the command line puts it there, because `-30m` would be a flag. */
const RELATIVE = /^([+\-\u2212])(\S+)$/
const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/
const DAY_MS = 86_400_000

export function readTypedTime(text: string, facts: TypedTimeFacts): TypedTime {
  const typed = text.trim()
  const [, sign, amount] = RELATIVE.exec(typed) ?? []
  const seconds = amount === undefined ? null : parseDurationSec(amount)
  if (seconds !== null)
    return { at: new Date(+facts.base + (sign === '+' ? seconds : -seconds) * 1_000) }
  const clock = CLOCK.exec(typed)
  if (clock) return nextClockTime(clock, facts)
  const written = readWrittenTime(typed)
  if (!written) {
    const quoted = text.replace('\u2212', '-')
    return { reason: `Invalid time "${quoted}". Use ${TIME_FORMS}.` }
  }
  if (written.offsetMs !== null) return { at: new Date(written.localMs - written.offsetMs) }
  return onlyInstant(written.localMs, facts.timeZone)
}

/** The next such time in the zone: later today, or tomorrow. */
function nextClockTime(
  [, hours, minutes, seconds = '0']: RegExpExecArray,
  { now, timeZone }: TypedTimeFacts,
): TypedTime {
  const localNow = +now + offsetAt(+now, timeZone)
  const midnight = localNow - (localNow % DAY_MS)
  const today = midnight + (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  const found = onlyInstant(today, timeZone)
  if (!('at' in found) && today > localNow) return found
  return 'at' in found && found.at > now ? found : onlyInstant(today + DAY_MS, timeZone)
}

function onlyInstant(localMs: number, timeZone: string): TypedTime {
  const found = instantsOf(localMs, timeZone).sort((a, b) => a - b)
  const [first, second] = found
  const written = localText(localMs)
  if (first === undefined) {
    const reason = `${written} does not exist in ${timeZone}: the clocks skip that hour. Choose another time.`
    return { reason }
  }
  if (second === undefined) return { at: new Date(first) }
  const [early, late] = found.map((at) => withOffset(at, timeZone))
  const reason = `${written} exists twice in ${timeZone}: the clocks repeat that hour. Say ${early} (the first) or ${late} (the second).`
  return { reason }
}

const localText = (localMs: number): string =>
  new Date(localMs).toISOString().slice(0, 19).replace('T', ' ')

/** `2026-10-25T02:30:00+02:00` */
function withOffset(ms: number, timeZone: string): string {
  const offsetMs = offsetAt(ms, timeZone)
  const minutes = Math.abs(offsetMs) / 60_000
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const local = new Date(ms + offsetMs).toISOString().slice(0, 19)
  return `${local}${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
}
