// The screen of the demonstration as text: pure functions from progress and events to lines. Names and reasons come from files and are
// made printable.

import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import { fullTimeText } from '../../base/text/zoned-time.ts'
import {
  countsText,
  frameLines,
  type NewsItem,
  offsetText,
  type Paint,
  type Size,
  stateText,
} from '../../cli/terminal/progress-text.ts'
import { membersOf, type Progress, type Tally } from '../../domain/forecast/progress.ts'

/** Everything one frame shows. */
export interface DemoFrame {
  readonly progress: Progress
  readonly tally: Tally
  readonly now: Date
  /** Newest last. */
  readonly news: readonly NewsItem[]
  /** Seconds of the migration per second of the viewer. */
  readonly clockFactor: number
  /** Nothing is due, and the clock skips ahead. */
  readonly isSkipping: boolean
  /** The viewer's. */
  readonly zone: string
}

/** Drawn as `batch watch` draws, with the offsets of the phases and the totals so far. */
export function demoLines(frame: DemoFrame, size: Size, paint: Paint): string[] {
  const { progress, tally, now, zone, news } = frame
  const pace = frame.isSkipping ? 'nothing is due: skipping ahead' : `${frame.clockFactor}× speed`
  const { phases, ends, batch } = progress
  return frameLines(
    {
      title: titleOf(progress),
      startTime: batch.startTime,
      now,
      zone,
      state: [pace, 'dim'],
      phases: phases.map((phase) => ({ phase, state: stateText(phase, now, ends.get(phase.id)) })),
      below: [[tallyText(tally)]],
      news,
    },
    size,
    paint,
  )
}

const titleOf = (progress: Progress): string =>
  `${printable(progress.batch.runbookName)} · ${countText(membersOf(progress), 'member')}`

const tallyText = ({ jobs, retries, polls, rollbacksBegun, rolledBack }: Tally): string => {
  const rollbacks = `${countText(rollbacksBegun, 'rollback')} (${rolledBack} done)`
  return `${countText(jobs + polls, 'job')} · ${countText(retries, 'retry', 'retries')} · ${countText(polls, 'poll')} · ${rollbacks}`
}

/** One line for a log or a pipe. */
export function statusLine({ progress, tally, now, zone }: DemoFrame): string {
  const running = progress.phases.filter(({ status }) => status === 'dispatched')
  const next = progress.phases.find(({ status }) => status === 'pending')
  const phases = running.map(
    (phase) =>
      `${phase.name}: ${countsText(phase)}, ${stateText(phase, now, progress.ends.get(phase.id))}`,
  )
  const waiting = next ? `${next.name} ${stateText(next, now, undefined)}` : 'closing'
  const what = phases.length > 0 ? phases.join('; ') : waiting
  return `${clockText(progress, now, zone)}  ${printable(what)} | ${tallyText(tally)}`
}

const clockText = ({ batch }: Progress, now: Date, zone: string): string =>
  `${fullTimeText(now, zone)} ${offsetText(batch.startTime, now)}`
