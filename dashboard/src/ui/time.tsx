// Times: in the viewer's zone, with UTC on hover; distances that count by themselves.
import { useSyncExternalStore } from 'react'
import { serverNow, watchServerClock } from '../api/server-clock.ts'

const SECOND_MS = 1_000
const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const clockOnly = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

// One clock for the page, the server's: every second, and only while something shows it.
let now = serverNow()
let timer: ReturnType<typeof setInterval> | undefined
const viewers = new Set<() => void>()
function tick(): void {
  now = serverNow()
  for (const one of viewers) one()
}
watchServerClock(tick)
function watchClock(viewer: () => void): () => void {
  viewers.add(viewer)
  timer ??= setInterval(tick, SECOND_MS)
  return () => {
    viewers.delete(viewer)
    if (viewers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
/** The server's time, in milliseconds since 1970. */
export const useNow = (): number => useSyncExternalStore(watchClock, () => now)

/** Where an element cannot stand, as in an option. */
export const timeText = (at: string): string => local.format(new Date(at))

interface TimeProps {
  readonly at: string | null
  readonly none?: string
  readonly isClockOnly?: boolean
}
export function Time({ at, none = '–', isClockOnly = false }: TimeProps) {
  if (at === null) return <span className="quiet">{none}</span>
  return (
    <time dateTime={at} title={`${at.slice(0, 19).replace('T', ' ')} UTC`}>
      {(isClockOnly ? clockOnly : local).format(new Date(at))}
    </time>
  )
}

/** `in 2 h 5 min`, `3 min ago`. */
export function Distance({ to }: { readonly to: string }) {
  const ms = new Date(to).getTime() - useNow()
  return (
    <time
      dateTime={to}
      title={`${local.format(new Date(to))} (${to.slice(0, 19).replace('T', ' ')} UTC)`}
    >
      {distanceText(ms)}
    </time>
  )
}

export const distanceText = (ms: number): string =>
  Math.abs(ms) < SECOND_MS * 5
    ? 'now'
    : ms > 0
      ? `in ${durationText(ms)}`
      : `${durationText(-ms)} ago`

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** The two largest units: `2 d 3 h`, `45 s`. */
export function durationText(ms: number): string {
  let rest = Math.round(ms / SECOND_MS)
  const parts: string[] = []
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor(rest / seconds)
    rest -= count * seconds
    if (count > 0) parts.push(`${count} ${unit}`)
    else if (parts.length > 0) break
  }
  return parts.slice(0, 2).join(' ') || '0 s'
}
