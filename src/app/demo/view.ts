// The screen of the demonstration as text: pure functions from progress and events to lines that fit the width. Lines are cut before
// they are coloured. Names and reasons come from files and are made printable.

import { countText } from '../../base/text/count-text.ts'
import { phaseOffsetText } from '../../base/text/duration.ts'
import { printable } from '../../base/text/printable.ts'
import { fullTimeText } from '../../base/text/zoned-time.ts'
import {
  countsText,
  type NewsItem,
  newsLine,
  offsetText,
  type Paint,
  progressBar,
  type Size,
  stateText,
} from '../../cli/terminal/progress-text.ts'
import { cutTo } from '../../cli/terminal/text-width.ts'
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

const WIDTH_MIN = 40
const WIDTH_MAX = 120

/** Head, a bar and counts per phase, totals, and as much news as fits. */
export function frameLines(frame: DemoFrame, size: Size, paint: Paint): string[] {
  const width = Math.max(WIDTH_MIN, Math.min(size.width - 1, WIDTH_MAX))
  const { progress, tally, now, zone } = frame
  const time = `${fullTimeText(now, zone)}  ${offsetText(progress.batch.startTime, now)}`
  const title = cutTo(titleOf(progress), width - time.length - 2)
  const pace = frame.isSkipping ? 'nothing is due: skipping ahead' : `${frame.clockFactor}× speed`
  const above = [
    `${paint('bold', title)}${' '.repeat(width - title.length - time.length)}${time}`,
    paint('dim', cutTo(pace, width)),
    '',
    ...phasesLines(progress, now, width, paint),
    '',
    cutTo(tallyText(tally), width),
    '',
  ]
  const newsMax = Math.max(0, Math.min(NEWS_SHOWN_MAX, size.height - 1 - above.length))
  const shown = newsMax === 0 ? [] : frame.news.slice(-newsMax)
  return [...above, ...shown.map((item) => newsLine(item, width, paint, zone))]
}

const NEWS_SHOWN_MAX = 8

const titleOf = (progress: Progress): string =>
  `${printable(progress.batch.runbookName)} · ${countText(membersOf(progress), 'member')}`

const tallyText = ({ jobs, retries, polls, rollbacksBegun, rolledBack }: Tally): string => {
  const rollbacks = `${countText(rollbacksBegun, 'rollback')} (${rolledBack} done)`
  return `${countText(jobs + polls, 'job')} · ${countText(retries, 'retry', 'retries')} · ${countText(polls, 'poll')} · ${rollbacks}`
}

const NAME_CHARS = 12
const OFFSET_CHARS = 7
const STATE_CHARS = 18
const INDENT_CHARS = NAME_CHARS + OFFSET_CHARS

function phasesLines({ phases, ends }: Progress, now: Date, width: number, paint: Paint): string[] {
  return phases.flatMap((phase) => {
    const name = cutTo(printable(phase.name), NAME_CHARS - 1).padEnd(NAME_CHARS)
    const offset = phaseOffsetText(phase.offsetMinutes).padEnd(OFFSET_CHARS)
    const bar = progressBar(phase, width - INDENT_CHARS - STATE_CHARS - 2, paint)
    const state = cutTo(stateText(phase, now, ends.get(phase.id)), STATE_CHARS)
    const counts = cutTo(countsText(phase), width - INDENT_CHARS)
    return [
      `${paint('bold', name)}${offset}${bar}  ${state}`,
      `${' '.repeat(INDENT_CHARS)}${paint('dim', counts)}`,
    ]
  })
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
