// Where times lie on the axis of a batch, and what state its phases are in. Pure: all times are given.
import { isLate } from '../../ui/late.ts'
import { completedPhase } from '../../ui/phase-end.ts'
import type { Summary } from './batch.tsx'
import { outerHold } from './outer-hold.ts'

export type Phase = Summary['phases'][number]
export type PhaseForecast = Summary['estimate']['phases'][number]

export interface Axis {
  /** From 0 to 100. */
  at(time: number): number
  readonly ticks: readonly { readonly at: number; readonly text: string }[]
  /** Null once the batch has ended. */
  readonly now: number | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR_MS),
  ...[1, 2, 7, 14, 30, 90, 365].map((count) => count * DAY_MS),
]
const TICKS_MAX = 6
const MARGIN = 0.03

/** Phases of a former version are history; see the events. */
export const shownPhases = ({ phases }: Summary): readonly Phase[] =>
  phases.filter(({ status }) => status !== 'superseded')

export function axisOf({ batch, estimate }: Summary, phases: readonly Phase[], now: number) {
  const known = [
    ...phases.flatMap(({ dueAt, dispatchedAt, completedAt }) => [dueAt, dispatchedAt, completedAt]),
    ...estimate.phases.flatMap(({ endsAt, p90 }) => [endsAt, p90]),
    estimate.endsAt,
  ]
  const times = known.filter((at) => at !== null).map((at) => Date.parse(at))
  const hasEnded = batch.endedAt !== null
  if (!hasEnded) times.push(now)
  if (times.length === 0) return null
  const first = Math.min(...times)
  const length = Math.max(Math.max(...times) - first, 10 * MINUTE_MS)
  const from = first - length * MARGIN
  const to = first + length * (1 + MARGIN)
  const at = (time: number) => ((time - from) / (to - from)) * 100
  return { at, ticks: ticksOf(from, to), now: hasEnded ? null : now } satisfies Axis
}

const withDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const withTime = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

function ticksOf(from: number, to: number): Axis['ticks'] {
  const step = STEPS_MS.find((one) => (to - from) / one <= TICKS_MAX) ?? STEPS_MS.at(-1)!
  // Full hours and days of the viewer's zone.
  const zoneMs = new Date(from).getTimezoneOffset() * MINUTE_MS
  const format = step >= DAY_MS ? withDay : withTime
  const ticks: { at: number; text: string }[] = []
  for (let at = Math.ceil((from - zoneMs) / step) * step + zoneMs; at < to; at += step)
    ticks.push({ at, text: format.format(at) })
  return ticks
}

const UNITS = [
  ['d', 1_440],
  ['h', 60],
  ['m', 1],
] as const

/** `T-5d`, `T-1h30m`, `T-0`, `T+2h`. */
export function offsetText({ offsetMinutes }: Pick<Phase, 'offsetMinutes'>): string {
  if (offsetMinutes === 0) return 'T-0'
  let rest = Math.abs(offsetMinutes)
  let text = ''
  for (const [unit, minutes] of UNITS) {
    const count = Math.floor(rest / minutes)
    rest -= count * minutes
    if (count > 0) text += `${count}${unit}`
  }
  return `T${offsetMinutes > 0 ? '-' : '+'}${text}`
}

interface PhaseState {
  /** As people say it. */
  readonly name: string
  /** Gives sign and colour. */
  readonly status: string
  readonly look: string
}

export function stateOf(phase: Phase, summary: Summary, now: number): PhaseState {
  const { batch, phases } = summary
  const { status, dueAt, skippedBecause } = phase
  const isHeld = batch.held !== null || outerHold(summary) !== undefined
  if (batch.endedAt === null && isHeld && (status === 'pending' || status === 'dispatched'))
    return { name: 'held', status: 'held', look: 'warn' }
  if (status === 'dispatched') return { name: 'running', status: 'running', look: 'busy' }
  if (status === 'completed') return completedPhase(phase.members.failed)
  if (status === 'skipped')
    return { name: `skipped: ${skippedBecause}`, status: 'skipped', look: 'off' }
  if (status !== 'pending') return { name: status, status, look: 'off' }
  if (batch.endedAt !== null) return { name: 'not run', status: 'cancelled', look: 'off' }
  if (!batch.isManual && dueAt !== null && isLate(dueAt, now))
    return { name: 'late', status: 'late', look: 'bad' }
  const isNext = phases.find((one) => one.status === 'pending')?.id === phase.id
  return { name: isNext ? 'next' : 'to come', status: 'pending', look: 'idle' }
}
