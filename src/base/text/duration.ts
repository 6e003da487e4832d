// Durations (`30s`, `15m`, `4h`, `7d`) and phase offsets (`T-5d`, `T-0`, `T+7d`): one whole number and one unit. "1h30m",
// "1.5d" and "5 d" are refused rather than guessed: a cut-over that starts an hour late is worse than an error.

const UNIT_SEC = { s: 1, m: 60, h: 3_600, d: 86_400 } as const
type Unit = keyof typeof UNIT_SEC

/** Longer than any known wave; also keeps every due time a valid date. */
const MAX_DURATION_SEC = 365 * UNIT_SEC.d

export const DURATION_PATTERN = '^[1-9][0-9]{0,7}[smhd]$'
export const OFFSET_PATTERN = '^T(-0|[-+][1-9][0-9]{0,7}[smhd])$'

const duration = new RegExp(DURATION_PATTERN)
const offset = new RegExp(OFFSET_PATTERN)

/** Seconds, or null when the text is not a duration or exceeds a year. */
export function parseDurationSec(text: string): number | null {
  if (!duration.test(text)) return null
  const seconds = Number(text.slice(0, -1)) * UNIT_SEC[text.at(-1) as Unit]
  return seconds <= MAX_DURATION_SEC ? seconds : null
}

/**
 * Minutes before the batch's start time: `T-5d` is 7200, `T+7d` is -10080; null when the text is not an offset. Seconds round
 * up to whole minutes, away from zero: `T-90s` is 2, `T+90s` is -2.
 */
export function parseOffsetMinutes(text: string): number | null {
  if (!offset.test(text)) return null
  if (text === 'T-0') return 0
  const seconds = parseDurationSec(text.slice(2))
  if (seconds === null) return null
  const minutes = Math.ceil(seconds / 60)
  return text[1] === '+' ? -minutes : minutes
}

/** The two largest units: `4d 23h`, `14m`, `30s`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.round(seconds / 60)
  const parts: [number, string][] = [
    [Math.floor(minutes / 1_440), 'd'],
    [Math.floor(minutes / 60) % 24, 'h'],
    [minutes % 60, 'm'],
  ]
  const first = parts.findIndex(([n]) => n > 0)
  const units = parts.slice(first, first + 2).filter(([n]) => n > 0)
  return units.map(([n, unit]) => `${n}${unit}`).join(' ')
}

/** `T-5d`, `T-0`, `T+1d`, as the runbook writes it. */
export const phaseOffsetText = (offsetMinutes: number): string =>
  offsetMinutes === 0
    ? 'T-0'
    : `T${offsetMinutes > 0 ? '-' : '+'}${durationText(Math.abs(offsetMinutes) * 60_000).replaceAll(' ', '')}`
