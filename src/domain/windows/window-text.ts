// A closed change window in words.
import { fullTimeText } from '../zoned-time.ts'
import type { WindowState } from './change-windows.ts'

type Closed = Extract<WindowState, { isOpen: false }>

/** Completes "steps wait for …"; without a full stop. */
export const windowText = (opensAt: Date | null): string =>
  opensAt === null
    ? 'a change window, and none opens within a year'
    : `the change window, which opens at ${opensAt.toISOString()}`

/** `opens Sat 07 Mar 2026 22:00 CET (Europe/Berlin)`: in the zone of the window. */
export const openingText = ({ until, timeZone }: Pick<Closed, 'until' | 'timeZone'>): string =>
  until === null ? 'never opens' : `opens ${fullTimeText(until, timeZone)} (${timeZone})`
