// A closed change window in words.
import { fullTimeText } from '../zoned-time.ts'
import type { ChangeWindows, WindowState } from './change-windows.ts'

type Closed = Extract<WindowState, { isOpen: false }>

/** Completes "steps wait for …"; without a full stop. */
export const windowText = (opensAt: Date | null): string =>
  opensAt === null
    ? 'a change window, and none opens within a year'
    : `the change window, which opens at ${opensAt.toISOString()}`

/** `opens Sat 07 Mar 2026 22:00 CET (Europe/Berlin)`: in the zone of the window. */
export const openingText = ({ until, timeZone }: Pick<Closed, 'until' | 'timeZone'>): string =>
  until === null ? 'never opens' : `opens ${fullTimeText(until, timeZone)} (${timeZone})`

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
