// What a step does now and at which attempt, in the words of operators. Attempts count from 1.
import type { ListedRow } from '../../api/client/endpoints.ts'
import { countText } from '../../base/text/count-text.ts'
import type { Column } from '../terminal/show.ts'

type Step = ListedRow<'GET /api/batches/{batchId}/steps'>

/** Empty before a step has begun. */
const attemptOf = ({ attempt, dispatchedAt, waitsFor }: Step): number | null =>
  dispatchedAt === null && waitsFor === null ? null : attempt + 1

/** `polled 1,344 times, last at …: The move is syncing`; null for a step that was never polled again. */
export function polledText({ pollCount, lastPolledAt, pollSaid }: Step): string | null {
  if (!pollCount) return null
  const said = pollSaid === null ? '' : `: ${pollSaid}`
  return `polled ${countText(pollCount, 'time')}, last at ${lastPolledAt}${said}`
}

export function stepNow({ waitsFor, workerId, attempt, wakeAt }: Step): string | null {
  switch (waitsFor) {
    case 'job':
      return `running on worker ${workerId}`
    case 'slot':
      return `waits for a free slot of worker ${workerId}`
    case 'window':
      return `waits for the change window${wakeAt === null ? '' : `, which opens at ${wakeAt}`}`
    case 'retry':
      return `attempt ${attempt + 1} at ${wakeAt}`
    case 'poll':
      return `next poll at ${wakeAt}`
    default:
      return null
  }
}

export const ATTEMPT_COLUMN: Column<Step> = ['ATTEMPT', attemptOf, 'spare']
export const NOW_COLUMN: Column<Step> = ['NOW', stepNow]
