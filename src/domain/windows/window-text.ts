// A closed change window in words.

import { durationText } from '../../base/text/duration.ts'
import { fullTimeText } from '../../base/text/zoned-time.ts'
import type { ChangeWindows, WindowState } from './change-windows.ts'
import type { PhaseWindow } from './phase-window.ts'

type Closed = Extract<WindowState, { isOpen: false }>

/** Completes "steps wait for …"; without a full stop. */
export const windowText = (opensAt: Date | null): string =>
  opensAt === null
    ? 'a change window, and none opens within a year'
    : `the change window, which opens at ${opensAt.toISOString()}`

/** `opens Sat 07 Mar 2026 22:00 CET (Europe/Berlin)`: in the zone of the window. */
export const openingText = ({ until, timeZone }: Pick<Closed, 'until' | 'timeZone'>): string =>
  until === null ? 'never opens' : `opens ${zoned(until, timeZone)}`

/** A time as the program has it, or as JSON writes it. */
export type AsJson<T> = {
  readonly [K in keyof T]: T[K] extends Date | null ? Date | string | null : T[K]
}

/** `due inside the change window, which closes …` or `changes wait 8h for the change window, which opens …`; without a full stop. */
export function phaseWindowText(
  { isOpen, closesAt, opensAt, timeZone, freezeReason }: AsJson<PhaseWindow>,
  /** Null when it would start at once. */
  dueAt: Date | string | null,
): string {
  if (isOpen) {
    const closing = closesAt === null ? '' : `, which closes ${zoned(closesAt, timeZone)}`
    return `due inside the change window${closing}`
  }
  const freeze = freezeReason === null ? '' : ` (freeze: ${freezeReason})`
  if (opensAt === null) return `changes wait for ${windowText(null)}${freeze}`
  const wait = dueAt === null ? '' : ` ${durationText(+new Date(opensAt) - +new Date(dueAt))}`
  return `changes wait${wait} for the change window, which opens ${zoned(opensAt, timeZone)}${freeze}`
}

const zoned = (at: Date | string, zone: string): string =>
  `${fullTimeText(new Date(at), zone)} (${zone})`

const clockOf = (min: number): string =>
  `${String(Math.floor(min / 60) % 24).padStart(2, '0')}:${String(min % 60).padStart(2, '0')}`

/** `fri, sat 22:00–06:00 (Europe/Berlin)`, then a line for each freeze. */
export function weeklyText({ hours, freezes, timeZone }: ChangeWindows): string[] {
  const weekly = hours.map(
    ({ days, fromMin, toMin }) =>
      `${days.join(', ')} ${clockOf(fromMin)}–${clockOf(toMin)} (${timeZone})`,
  )
  return [
    ...(weekly.length === 0 ? [`at any time (${timeZone})`] : weekly),
    ...freezes.map(({ from, to, reason }) => `frozen ${from} to ${to}: ${reason}`),
  ]
}
