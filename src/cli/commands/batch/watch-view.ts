// The screen of `matoolkit batch watch` as text: pure functions from the API's answers to lines that fit the width.

import type { Answer } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { withZonedTimes } from '../../../base/text/zoned-time.ts'
import type { ProgressEvent } from '../../../domain/forecast/progress.ts'
import { type Phase, UNBEGUN } from '../../../domain/state/facts.ts'
import { statesText } from '../../../domain/state/person-state.ts'
import { statusWord } from '../../../domain/state/words.ts'
import type { LiveEvent } from '../../connection/event-stream.ts'
import {
  countsText,
  frameLines,
  leftText,
  type NewsItem,
  newsOf,
  type Paint,
  type Size,
  stateText,
} from '../../terminal/progress-text.ts'
import { BATCH_ENDED } from './lists.ts'

export type Summary = Answer<'GET /api/batches/{batchId}/summary'>
type ShownPhase = Summary['phases'][number]

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
export const newsFrom = ({ at, ...event }: LiveEvent): NewsItem | null => {
  const progressEvent: ProgressEvent = { ...event, at: new Date(at), stepKind: null }
  return newsOf(progressEvent, (key) => key)
}

const dateOf = (text: string | null): Date | null => (text === null ? null : new Date(text))

const phaseOf = ({ phaseName, ...phase }: ShownPhase, index: number): Phase => {
  const dispatchedAt = dateOf(phase.dispatchedAt)
  return {
    ...phase,
    ...UNBEGUN,
    name: phaseName,
    index,
    dueAt: dateOf(phase.dueAt),
    skippedBecause: phase.skippedBecause,
    dispatchedAt,
    expandedAt: dispatchedAt,
    completedAt: dateOf(phase.completedAt),
  }
}

export function watchLines(frame: WatchFrame, size: Size, paint: Paint): string[] {
  const { summary, now, zone, news, trouble } = frame
  const { batch } = summary
  const isHeld = batch.held !== null
  return frameLines(
    {
      title: titleOf(summary),
      startTime: dateOf(batch.batchStartTime),
      now,
      zone,
      state:
        trouble === null ? [stateOf(summary), isHeld ? 'yellow' : undefined] : [trouble, 'red'],
      phases: summary.phases.map((phase, index) => ({
        phase: phaseOf(phase, index),
        state: stateIn(frame, phase, index),
      })),
      below: [[outlookText(frame)], ...missTexts(frame).map((text) => [text, 'red'] as const)],
      news,
    },
    size,
    paint,
  )
}

const titleOf = ({ batch }: Summary): string =>
  `Batch ${batch.id} of ${printable(batch.runbookName)} · ${countText(batch.members.total, 'member')}`

const stateOf = ({ batch }: Summary): string =>
  batch.held
    ? printable(`held by ${batch.held.by}: ${batch.held.reason}`)
    : statusWord('batch', batch.status)

function stateIn({ summary, now }: WatchFrame, shown: ShownPhase, index: number): string {
  const { phases, heldSince } = summary.estimate
  if (shown.status === 'dispatched' && heldSince !== null) return 'held'
  const end = phases.find(({ phaseId }) => phaseId === shown.id)
  return stateText(phaseOf(shown, index), now, dateOf(end?.endsAt ?? null) ?? undefined)
}

function outlookText({ summary, now, zone }: WatchFrame): string {
  const { batch, phases, throughput, openReviews } = summary
  const waiting = Object.values(openReviews).reduce((sum, count) => sum + count, 0)
  const isRunning = phases.some(({ status }) => status === 'dispatched')
  const perMin = isRunning ? Math.round(throughput.stepsPerMin) : 0
  const end = endText(summary, now, zone)
  return [
    statesText(batch.members),
    ...(perMin > 0 ? [`${perMin} steps/min`] : []),
    ...(end === null ? [] : [end]),
    ...(waiting > 0 ? [`${countText(waiting, 'review')} open`] : []),
  ].join(' · ')
}

function endText({ batch, estimate }: Summary, now: Date, zone: string): string | null {
  if (estimate.heldSince !== null) return printable(withZonedTimes(estimate.because, now, zone))
  const endsAt = dateOf(estimate.night?.endsAt ?? estimate.endsAt)
  if (endsAt === null || BATCH_ENDED.includes(batch.status)) return null
  return `ends in ${leftText(endsAt, now).replace('~', '')}`
}

/** `prepare will miss T-0 (23:00) by 40m: …`. */
const missTexts = ({ summary, now, zone }: WatchFrame): string[] =>
  summary.estimate.phases.flatMap(({ miss }) =>
    miss === null ? [] : [printable(withZonedTimes(miss.text, now, zone))],
  )

/** One line for a log or a pipe. */
export function watchLine(frame: WatchFrame): string {
  const { summary } = frame
  const running = summary.phases
    .map(phaseOf)
    .filter(({ status }) => status === 'dispatched')
    .map((phase) => `${phase.name}: ${countsText(phase)}`)
  return printable(
    [stateOf(summary), ...running, outlookText(frame), ...missTexts(frame)].join(' | '),
  )
}
