// Progress as text, for `batch watch` and the demonstration: pure functions from counters and events to lines. Lines are cut before
// they are coloured. Names and reasons come from files and are made printable.
import { durationText, phaseOffsetText } from '../../base/text/duration.ts'
import { printable } from '../../base/text/printable.ts'
import { dayTimeText, fullTimeText, withZonedTimes } from '../../base/text/zoned-time.ts'
import { openIn, type ProgressEvent, stepsIn } from '../../domain/forecast/progress.ts'
import type { Phase } from '../../domain/state/facts.ts'
import type { Io, Style } from './io.ts'
import { cutTo } from './text-width.ts'

export type Paint = Io['paint']

export interface NewsItem {
  readonly at: Date
  readonly mark: string
  readonly style: Style
  readonly text: string
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** A bar of members: passed, failed or removed, in progress by their finished steps, and open. */
export function progressBar(phase: Phase, width: number, paint: Paint): string {
  const { total, passed, failed, stopped, removed } = phase.members
  const cells = Math.max(0, width)
  // A part that is not empty gets at least one character.
  const share = (part: number, whole: number) =>
    part === 0 || whole === 0 ? 0 : Math.max(1, Math.floor((part / whole) * cells))
  const bad = share(failed + stopped + removed, total)
  const open = openIn(phase)
  // Rounded down while members are open: the bar is full only at the end.
  const good = Math.min(cells - bad, open === 0 && passed > 0 ? cells : share(passed, total))
  const steps = stepsIn(phase)
  const begun = open === 0 ? 0 : share(steps.ended, steps.total) - good - bad
  const half = Math.max(0, begun)
  const rest = Math.max(0, cells - good - bad - half)
  return [
    paint('green', '█'.repeat(good)),
    paint('red', '▓'.repeat(bad)),
    paint('green', '▒'.repeat(half)),
    paint('dim', '░'.repeat(rest)),
  ].join('')
}

/** `endsAt` is the forecast of a running phase. */
export function stateText(phase: Phase, now: Date, endsAt: Date | undefined): string {
  if (phase.status === 'pending') {
    return phase.dueAt === null ? 'not started' : `in ${durationText(+phase.dueAt - +now)}`
  }
  if (phase.status !== 'dispatched') return phase.status
  const { total, ended } = stepsIn(phase)
  if (total > 0 && ended === total) return 'about to end'
  if (endsAt) return `${leftText(endsAt, now)} left`
  return ended * 2 < total || total === 0 ? 'running' : `${openIn(phase)} to go`
}

/** `~3m`, and never zero: an estimate in the past says only that it is soon. */
export const leftText = (endsAt: Date, now: Date): string =>
  +endsAt - +now < 60_000 ? 'under a minute' : `~${durationText(+endsAt - +now)}`

export function countsText(phase: Phase): string {
  const { total, passed, failed, stopped, removed } = phase.members
  if (total === 0) return phase.status === 'pending' ? 'not due yet' : 'no members yet'
  const parts: [number, string][] = [
    [passed, 'passed'],
    [failed, 'failed'],
    [stopped, 'stopped'],
    [removed, 'removed'],
    [openIn(phase), 'open'],
  ]
  const counts = parts
    .filter(([members]) => members > 0)
    .map(([members, how]) => `${members} ${how}`)
  const { total: steps, ended } = stepsIn(phase)
  return [...counts, ...(ended < steps ? [`${ended} of ${steps} steps`] : [])].join(' · ')
}

/** Begins with the day: a migration lasts longer than one. A log has no head that says the date and the zone. */
export function newsLine(
  { at, mark, style, text }: NewsItem,
  width: number,
  paint: Paint,
  zone: string,
  timeText = dayTimeText,
): string {
  const time = timeText(at, zone)
  const shown = withZonedTimes(text, at, zone)
  return `${paint('dim', time)} ${paint(style, mark)} ${cutTo(shown, width - time.length - 3)}`
}

const firstPart = (memberKey: string): string => memberKey.split('@')[0]!

/** The line of a noteworthy event; null for routine ones. */
export function newsOf(
  event: ProgressEvent,
  nameOf: (memberKey: string) => string = firstPart,
): NewsItem | null {
  const found = LINES[`${event.entity} ${event.event}`]
  if (!found) return null
  const { memberKey, stepName, phaseName, stepKind, because, at, actor } = event
  if (found.kinds && !found.kinds.includes(stepKind ?? '')) return null
  const member = memberKey === null ? '' : `${nameOf(memberKey)}: `
  const what = stepName ?? (phaseName ? `phase ${phaseName}` : '')
  const words = [what, found.word, found.isByPerson ? `by ${actor}` : ''].filter(Boolean).join(' ')
  const text = found.isSentence ? because : `${member}${words ? `${words}: ` : ''}${because}`
  return { at, mark: found.mark, style: found.style, text: printable(text) }
}

interface Line {
  readonly mark: string
  readonly style: Style
  readonly word: string
  readonly kinds?: readonly string[]
  /** Says who did it. */
  readonly isByPerson?: true
  /** The reason names the phase itself. */
  readonly isSentence?: true
}

const LINES: Readonly<Record<string, Line>> = {
  'step fail': { mark: '✗', style: 'red', word: 'failed' },
  'step time_out': { mark: '✗', style: 'red', word: 'timed out' },
  'step unresolved': { mark: '✗', style: 'red', word: 'failed' },
  'step retry': { mark: '↻', style: 'yellow', word: '' },
  'step rollback_begun': { mark: '↩', style: 'yellow', word: '' },
  'step roll_back': { mark: '↩', style: 'green', word: 'rolled back' },
  'step rollback_incomplete': { mark: '↩', style: 'red', word: '' },
  'step succeed': { mark: '−', style: 'green', word: 'done', kinds: ['removal'] },
  'member remove': { mark: '−', style: 'yellow', word: 'removed', isByPerson: true },
  'member rejoin': { mark: '+', style: 'green', word: 'rejoined' },
  'batch members_added': { mark: '+', style: 'green', word: '' },
  'batch resumed': { mark: '▶', style: 'green', word: 'resumed', isByPerson: true },
  'batch cancel': { mark: '■', style: 'yellow', word: 'cancelled', isByPerson: true },
  'batch held': { mark: '!', style: 'red', word: 'held', isByPerson: true },
  'batch activate': { mark: '▶', style: 'green', word: 'started' },
  'batch complete': { mark: '■', style: 'green', word: 'completed' },
  'batch fail': { mark: '■', style: 'red', word: 'failed' },
  'phase start': { mark: '▶', style: 'green', word: 'started' },
  'phase complete': { mark: '■', style: 'green', word: 'completed' },
  'phase reopen': { mark: '▶', style: 'yellow', word: 'reopened' },
  'phase fail': { mark: '■', style: 'red', word: 'failed' },
  'phase forecast_miss': { mark: '!', style: 'red', word: '', isSentence: true },
  'phase forecast_in_time': { mark: '✓', style: 'green', word: '', isSentence: true },
  'phase empty': { mark: '■', style: 'yellow', word: 'skipped' },
}

/** `T-4d 23h`, `T+14m`, `T-0`. */
export function offsetText(startTime: Date | null, now: Date): string {
  if (startTime === null) return ''
  const ms = +now - +startTime
  if (Math.abs(ms) < 60_000) return 'T-0'
  return `T${ms < 0 ? '-' : '+'}${durationText(Math.abs(ms))}`
}

/** Cut before it is coloured. */
export type StyledLine = readonly [text: string, style?: Style | undefined]

/** The live screen of a batch. */
export interface ProgressFrame {
  readonly title: string
  readonly startTime: Date | null
  readonly now: Date
  /** The viewer's. */
  readonly zone: string
  /** Below the title. */
  readonly state: StyledLine
  readonly phases: readonly { readonly phase: Phase; readonly state: string }[]
  readonly below: readonly StyledLine[]
  /** Newest last. */
  readonly news: readonly NewsItem[]
}

const WIDTH_MIN = 40
const WIDTH_MAX = 140
const NAME_CHARS = 12
const OFFSET_CHARS = 7
const INDENT_CHARS = NAME_CHARS + OFFSET_CHARS
const STATE_CHARS = 18
const NEWS_SHOWN_MAX = 12

/** Head, a bar and counts per phase, what stands below them, and as much news as fits. */
export function frameLines(frame: ProgressFrame, size: Size, paint: Paint): string[] {
  const width = Math.max(WIDTH_MIN, Math.min(size.width - 1, WIDTH_MAX))
  const { startTime, now, zone, state, phases, below, news } = frame
  const time = `${fullTimeText(now, zone)}  ${offsetText(startTime, now)}`.trimEnd()
  const title = cutTo(frame.title, width - time.length - 2)
  const styled = ([text, style]: StyledLine) => {
    const line = cutTo(text, width)
    return style === undefined ? line : paint(style, line)
  }
  const above = [
    `${paint('bold', title)}${' '.repeat(width - title.length - time.length)}${time}`,
    styled(state),
    '',
    ...phases.flatMap(({ phase, state: stands }) => phaseLines(phase, stands, width, paint)),
    '',
    ...below.map(styled),
    '',
  ]
  const newsMax = Math.max(0, Math.min(NEWS_SHOWN_MAX, size.height - 1 - above.length))
  const shown = newsMax === 0 ? [] : news.slice(-newsMax)
  return [...above, ...shown.map((item) => newsLine(item, width, paint, zone))]
}

function phaseLines(phase: Phase, state: string, width: number, paint: Paint): string[] {
  const name = cutTo(printable(phase.name), NAME_CHARS - 1).padEnd(NAME_CHARS)
  const offset = phaseOffsetText(phase.offsetMinutes).padEnd(OFFSET_CHARS)
  const bar = progressBar(phase, width - INDENT_CHARS - STATE_CHARS - 2, paint)
  const counts = cutTo(countsText(phase), width - INDENT_CHARS)
  return [
    `${paint('bold', name)}${offset}${bar}  ${cutTo(state, STATE_CHARS)}`,
    `${' '.repeat(INDENT_CHARS)}${paint('dim', counts)}`,
  ]
}
