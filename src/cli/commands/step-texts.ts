// What a step does now and at which attempt, in the words of operators. Attempts count from 1.
import { countText } from '../../base/text/count-text.ts'
import type { Column, Row } from '../terminal/show.ts'

/** Empty before a step has begun. */
const attemptOf = ({ attempt, dispatchedAt, waitsFor }: Row): number | null =>
  dispatchedAt === null && waitsFor === null ? null : Number(attempt) + 1

/** `polled 1,344 times, last at …: The move is syncing`; null for a step that was never polled again. */
export function polledText({ pollCount, lastPolledAt, pollSaid }: Row): string | null {
  if (!pollCount) return null
  const said = pollSaid === null ? '' : `: ${String(pollSaid)}`
  return `polled ${countText(Number(pollCount), 'time')}, last at ${String(lastPolledAt)}${said}`
}

export function stepNow({ waitsFor, workerId, attempt, wakeAt }: Row): string | null {
  switch (waitsFor) {
    case 'job':
      return `running on worker ${String(workerId)}`
    case 'slot':
      return `waits for a free slot of worker ${String(workerId)}`
    case 'window':
      return `waits for the change window${wakeAt === null ? '' : `, which opens at ${String(wakeAt)}`}`
    case 'retry':
      return `attempt ${Number(attempt) + 1} at ${String(wakeAt)}`
    case 'poll':
      return `next poll at ${String(wakeAt)}`
    default:
      return null
  }
}

export const ATTEMPT_COLUMN: Column = ['ATTEMPT', attemptOf, 'spare']
export const NOW_COLUMN: Column = ['NOW', stepNow]
