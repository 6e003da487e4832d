// The hours of change windows within a week, on the clock of their zone: for what must hold in every week, without freezes and clock changes.
import { WEEKDAYS } from '../notifications/quiet-hours.ts'
import type { WindowHours } from './change-windows.ts'

const DAY_MIN = 1_440
export const WEEK_MIN = 7 * DAY_MIN

/** Minutes after the start of Monday. `to` is later than `from`, and may lie in the next week. */
export interface WeekSpan {
  readonly from: number
  readonly to: number
}

/** Joined where they touch, in the order of their starts. Hours that fill the week, or none, are one span of a week. */
export function weekSpans(hours: readonly WindowHours[]): WeekSpan[] {
  const single = hours
    .flatMap(({ days, fromMin, toMin }) =>
      days.map((day) => {
        const from = WEEKDAYS.indexOf(day) * DAY_MIN + fromMin
        const minutes = toMin <= fromMin ? toMin + DAY_MIN - fromMin : toMin - fromMin
        return { from, to: from + minutes }
      }),
    )
    .sort((a, b) => a.from - b.from)
  if (single.length === 0) return [{ from: 0, to: WEEK_MIN }]
  // A second week shows what the end of the first touches.
  const second = single.map(({ from, to }) => ({ from: from + WEEK_MIN, to: to + WEEK_MIN }))
  const joined: { from: number; to: number }[] = []
  for (const span of [...single, ...second]) {
    const last = joined.at(-1)
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else joined.push({ ...span })
  }
  if (joined.length === 1) return [{ from: 0, to: WEEK_MIN }]
  const whole = joined.filter(({ from }) => from < WEEK_MIN)
  // One that begins on Sunday may hold those of Monday.
  const isHeldBy = (inner: WeekSpan, outer: WeekSpan) =>
    outer !== inner && outer.from - WEEK_MIN <= inner.from && inner.to <= outer.to - WEEK_MIN
  return whole.filter((span) => !whole.some((other) => isHeldBy(span, other)))
}

/** From 0 to the end of the week. */
export const inWeek = (minute: number): number => ((minute % WEEK_MIN) + WEEK_MIN) % WEEK_MIN

/** Until the next opening after this minute; 0 while it is open. */
export function waitAt(spans: readonly WeekSpan[], minute: number): number {
  const at = inWeek(minute)
  const isIn = ({ from, to }: WeekSpan, time: number) => from <= time && time < to
  if (spans.some((span) => isIn(span, at) || isIn(span, at + WEEK_MIN))) return 0
  return Math.min(...spans.map(({ from }) => inWeek(from - at)))
}

/** `Fri 22:00`. */
export function weekTimeText(minute: number): string {
  const at = inWeek(minute)
  const day = WEEKDAYS[Math.floor(at / DAY_MIN)]!
  const two = (value: number) => String(value).padStart(2, '0')
  const inDay = at % DAY_MIN
  return `${day[0]!.toUpperCase()}${day.slice(1)} ${two(Math.floor(inDay / 60))}:${two(inDay % 60)}`
}
