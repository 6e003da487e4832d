// The screen of `matoolkit batch watch` as text: pure functions from the API's answers to lines that fit the width.

import { countText } from '../../../domain/count-text.ts'
import { durationText } from '../../../domain/duration.ts'

import type { Phase } from '../../../domain/facts.ts'
import { type OutcomeCounts, outcomeText } from '../../../domain/outcome.ts'
import type { ProgressEvent } from '../../../domain/progress.ts'
import { fullTimeText } from '../../../domain/zoned-time.ts'
import { printable } from '../../terminal/io.ts'
import {
  countsText,
  type NewsItem,
  newsLine,
  newsOf,
  offsetText,
  type Paint,
  progressBar,
  type Size,
  stateText,
} from '../../terminal/progress-text.ts'
import { cutTo } from '../../terminal/text-width.ts'
import { BATCH_ENDED } from './lists.ts'

/** The parts of GET /api/batches/{id}/summary that are shown. */
export interface Summary {
  readonly batch: {
    readonly id: number
    readonly runbookName: string
    readonly status: string
    readonly batchStartTime: string | null
    readonly held: { readonly by: string; readonly reason: string } | null
    readonly members: OutcomeCounts & { readonly total: number }
  }
  readonly phases: readonly ShownPhase[]
  readonly throughput: { readonly stepsPerMin: number }
  readonly estimate: { readonly endsAt: string | null; readonly because: string }
  readonly openReviews: Readonly<Record<string, number>>
}

type Times = 'dueAt' | 'dispatchedAt' | 'completedAt'
export type ShownPhase = Omit<
  Phase,
  Times | 'name' | 'index' | 'expandedThrough' | 'expandedAt' | 'fuseAcknowledged'
> & { readonly phaseName: string } & Readonly<Record<Times, string | null>>

/** The parts of an event that are shown. */
export interface ShownEvent {
  readonly id: number
  readonly at: string
  readonly entity: string
  readonly event: string
  readonly because: string
  readonly memberKey: string | null
  readonly phaseName: string | null
  readonly stepName: string | null
}

export interface WatchFrame {
  readonly summary: Summary
  readonly news: readonly NewsItem[]
  readonly now: Date
  /** Why the frame is outdated; null if it is current. */
  readonly trouble: string | null
  /** The viewer's. */
  readonly zone: string
}

/** Whole keys, unlike in the demonstration: names repeat across domains, and other commands take keys. */
export const newsFrom = ({ at, ...event }: ShownEvent): NewsItem | null => {
  const progressEvent: ProgressEvent = { ...event, at: new Date(at), stepKind: null }
  return newsOf(progressEvent, (key) => key)
}

const dateOf = (text: string | null): Date | null => (text === null ? null : new Date(text))

const phaseOf = ({ phaseName, ...phase }: ShownPhase, index: number): Phase => {
  const dispatchedAt = dateOf(phase.dispatchedAt)
  return {
    ...phase,
    name: phaseName,
    index,
    dueAt: dateOf(phase.dueAt),
    dispatchedAt,
    completedAt: dateOf(phase.completedAt),
    expandedThrough: 0,
    expandedAt: dispatchedAt,
    fuseAcknowledged: 0,
  }
}

const WIDTH_MIN = 40
const WIDTH_MAX = 140
const NAME_CHARS = 16
const STATE_CHARS = 18
const NEWS_SHOWN_MAX = 12

/** Head, a bar and counts per phase, pace and end, and as much news as fits. */
export function watchLines(frame: WatchFrame, size: Size, paint: Paint): string[] {
  const width = Math.max(WIDTH_MIN, Math.min(size.width - 1, WIDTH_MAX))
  const { summary, now, trouble, zone } = frame
  const { batch } = summary
  const time =
    `${fullTimeText(now, zone)}  ${offsetText(dateOf(batch.batchStartTime), now)}`.trimEnd()
  const title = cutTo(titleOf(summary), width - time.length - 2)
  const state = batch.held ? paint('yellow', cutTo(heldText(summary), width)) : batch.status
  const above = [
    `${paint('bold', title)}${' '.repeat(width - title.length - time.length)}${time}`,
    trouble === null ? state : paint('red', cutTo(trouble, width)),
    '',
    ...summary.phases.flatMap((phase, index) =>
      phaseLines(phaseOf(phase, index), now, width, paint),
    ),
    '',
    cutTo(outlookText(summary, now), width),
    '',
  ]
  const newsMax = Math.max(0, Math.min(NEWS_SHOWN_MAX, size.height - 1 - above.length))
  const shown = newsMax === 0 ? [] : frame.news.slice(-newsMax)
  return [...above, ...shown.map((item) => newsLine(item, width, paint, zone))]
}

const titleOf = ({ batch }: Summary): string =>
  `Batch ${batch.id} of ${printable(batch.runbookName)} · ${countText(batch.members.total, 'member')}`

const heldText = ({ batch }: Summary): string =>
  printable(`held by ${batch.held?.by}: ${batch.held?.reason}`)

function phaseLines(phase: Phase, now: Date, width: number, paint: Paint): string[] {
  const name = cutTo(printable(phase.name), NAME_CHARS - 1).padEnd(NAME_CHARS)
  const bar = progressBar(phase, width - NAME_CHARS - STATE_CHARS - 2, paint)
  const state = cutTo(stateText(phase, now), STATE_CHARS)
  const counts = cutTo(countsText(phase), width - NAME_CHARS)
  return [
    `${paint('bold', name)}${bar}  ${state}`,
    `${' '.repeat(NAME_CHARS)}${paint('dim', counts)}`,
  ]
}

function outlookText({ batch, throughput, estimate, openReviews }: Summary, now: Date): string {
  const waiting = Object.values(openReviews).reduce((sum, count) => sum + count, 0)
  const ends = BATCH_ENDED.includes(batch.status) ? null : dateOf(estimate.endsAt)
  const perMin = BATCH_ENDED.includes(batch.status) ? 0 : Math.round(throughput.stepsPerMin)
  return [
    outcomeText(batch.members),
    ...(perMin > 0 ? [`${perMin} steps/min`] : []),
    ...(ends === null ? [] : [`ends in ${durationText(+ends - +now)}`]),
    ...(waiting > 0 ? [`${countText(waiting, 'review')} open`] : []),
  ].join(' · ')
}

/** One line for a log or a pipe. */
export function watchLine({ summary, now }: WatchFrame): string {
  const running = summary.phases
    .map(phaseOf)
    .filter(({ status }) => status === 'dispatched')
    .map((phase) => `${phase.name}: ${countsText(phase)}`)
  const { batch } = summary
  const state = batch.held ? heldText(summary) : batch.status
  return printable([state, ...running, outlookText(summary, now)].join(' | '))
}
