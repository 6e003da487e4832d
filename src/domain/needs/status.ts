// Whether somebody is needed, and for what. A hold that a person set and a manual batch that waits to be advanced are as planned.
import { countText } from '../../base/text/count-text.ts'
import { HELD_BY_GATE, HELD_BY_RAMP } from '../state/holds.ts'
import type { StuckKind } from './stuck.ts'

export const NEED_KINDS = ['decision', 'failure', 'stuck', 'hold', 'miss'] as const

export interface Need {
  readonly kind: (typeof NEED_KINDS)[number]
  readonly batchId: number | null
  /** A sentence without its full stop; times are instants. */
  readonly text: string
  /** The first people concerned. */
  readonly people: string[]
  /** How many there are. */
  readonly count: number
  /** Handles it, or shows it in full. */
  readonly command: string
}

/** Waits as planned, or told elsewhere in the status. */
const NOT_NEEDED: readonly StuckKind[] = [
  'held',
  'not_advanced',
  'reviews_open',
  'worker_busy',
  'window_closed',
]
export const isBlocking = (kind: StuckKind): boolean => !NOT_NEEDED.includes(kind)

/** Holds the whole system when the disk of the embedded database is nearly full. */
export const DISK_WATCH = 'disk watch'
/** Holds the whole system after the database has become what it was earlier. */
export const RESTORE = 'restore'

/** Set by the program itself, because something is wrong. */
const PROGRAMS: readonly string[] = [
  'fuse',
  HELD_BY_GATE,
  HELD_BY_RAMP,
  'source',
  'orchestrator',
  'scheduler',
  DISK_WATCH,
  RESTORE,
]
export const isAutomaticHold = (heldBy: string): boolean => PROGRAMS.includes(heldBy)

/** The first line: whether somebody is needed, in one sentence. */
export function headlineOf(needs: readonly Need[], running: number, next: string | null): string {
  const doing =
    running > 0
      ? `${countText(running, 'phase')} ${running === 1 ? 'is' : 'are'} running`
      : next === null
        ? 'nothing is scheduled'
        : `nothing is running; next is ${next}`
  if (needs.length === 0) return `Nobody is needed: ${doing}.`
  const first = needs[0]!
  const more = needs.length === 1 ? '' : ` And ${countText(needs.length - 1, 'more thing')}.`
  return `Somebody is needed: ${first.text}.${more}`
}

/** `ada, ben and 27 more`. */
export function peopleText(people: readonly string[], count: number): string {
  const more = count - people.length
  if (more <= 0) return people.join(', ')
  return `${people.join(', ')}${people.length === 0 ? '' : ' and '}${more}${people.length === 0 ? ' people' : ' more'}`
}
