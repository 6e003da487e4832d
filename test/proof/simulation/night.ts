// The guards of a cut-over night, drawn from the seed: a gate, a ramp, change windows that open and close many times, effects that can be
// undone. Drawn from streams of their own, so seeds without them keep their course.

import type { Json } from '../../../src/base/text/json.ts'
import type { LedgerEffect } from '../../../src/domain/state/effects.ts'
import type { ChangeWindows } from '../../../src/domain/windows/change-windows.ts'
import { readSystemWindows } from '../../../src/domain/windows/read-settings.ts'
import { type Chance, makeChance } from './chance.ts'

/** Open for `openMin` minutes from `fromMin` after midnight (UTC), and again every `periodMin`, which divides a day. */
export interface Pattern {
  readonly fromMin: number
  readonly openMin: number
  readonly periodMin: number
}

export interface Ramp {
  readonly percents: readonly number[]
  readonly soakMin: number
  readonly maxFailedPercent: number
}

export interface Night {
  /** For people who approve, override and undo. */
  readonly chance: Chance
  /** The place of the phase with a gate; null: none has one. */
  readonly gateAt: number | null
  readonly readyPercent: number | null
  readonly rampAt: number | null
  readonly ramp: Ramp
  /** Of the versions in turn. Null: always open. */
  readonly windows: readonly (Pattern | null)[]
  /** Of the system. */
  readonly systemWindows: Pattern | null
  /** Functions tell what they changed. */
  readonly effects: Chance | null
}

/** Every second seed. */
const SHARE = 0.5
const DAY_MIN = 1_440
const MINUTE_MS = 60_000

export function drawNight(seed: number): Night | null {
  const chance = makeChance(seed).stream('a cut-over night')
  if (!chance.happens(SHARE)) return null
  const hasWindows = chance.happens(0.45)
  const pattern = () => (hasWindows ? drawPattern(chance) : null)
  return {
    chance: chance.stream('people'),
    gateAt: chance.happens(0.55) ? chance.pick([0, 0, 1, 1, 2]) : null,
    readyPercent: chance.pick([null, 50, 100]),
    rampAt: chance.happens(0.55) ? chance.pick([0, 0, 1]) : null,
    ramp: {
      percents: chance.pick([
        [20, 100],
        [5, 50, 100],
        [30, 60, 100],
      ]),
      soakMin: chance.pick([2, 10]),
      maxFailedPercent: chance.pick([10, 50]),
    },
    windows: [pattern(), chance.happens(0.3) ? null : pattern()],
    systemWindows: hasWindows && chance.happens(0.3) ? drawPattern(chance) : null,
    effects: chance.happens(0.6) ? chance.stream('effects') : null,
  }
}

function drawPattern(chance: Chance): Pattern {
  const periodMin = chance.pick([20, 60])
  return {
    periodMin,
    openMin: Math.round(periodMin * chance.pick([0.4, 0.6, 0.75])),
    fromMin: chance.below(periodMin),
  }
}

const wallTime = (min: number): string => {
  const at = min % DAY_MIN
  return `"${String(Math.floor(at / 60)).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}"`
}

/** The windows as lines of YAML. */
function patternLines({ fromMin, openMin, periodMin }: Pattern): string[] {
  const lines = ['time_zone: UTC', 'hours:']
  const days = 'days: [mon, tue, wed, thu, fri, sat, sun]'
  for (let from = fromMin; from < DAY_MIN; from += periodMin)
    lines.push(`  - { ${days}, from: ${wallTime(from)}, to: ${wallTime(from + openMin)} }`)
  return lines
}

export const patternOf = ({ windows }: Night, version: number): Pattern | null =>
  windows[version % windows.length]!

/** Keys of the runbook besides its phases. */
export function windowLines(night: Night | null, version: number): string[] {
  const pattern = night && patternOf(night, version)
  return pattern ? ['windows:', ...patternLines(pattern).map((line) => `  ${line}`)] : []
}

/** Keys of the phase at this place. A later version asks for another number of approvals. */
export function guardLines(night: Night | null, place: number, version: number): string[] {
  if (!night) return []
  const { gateAt, rampAt, ramp, readyPercent } = night
  const lines: string[] = []
  if (gateAt === place) {
    const ready = readyPercent === null ? '' : `, ready: ${readyPercent}%`
    lines.push(`    gate: { approvals: ${1 + (version % 2)}${ready} }`)
  }
  if (rampAt === place) {
    lines.push(`    ramp: [${ramp.percents.map((percent) => `${percent}%`).join(', ')}]`)
    lines.push(`    soak: ${ramp.soakMin}m`, `    max_failed_percent: ${ramp.maxFailedPercent}`)
  }
  return lines
}

/** As the file of the system's windows says them. */
export function systemWindowsOf(night: Night | null): ChangeWindows | null {
  if (!night?.systemWindows) return null
  const read = readSystemWindows(patternLines(night.systemWindows).join('\n'))
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  return read.windows
}

/** When the span that covers this moment ends; null outside. Worked out from the numbers, without the program. */
export function openUntil(patterns: readonly (Pattern | null)[], at: number): number | null {
  let until = Infinity
  for (const pattern of patterns) {
    if (!pattern) continue
    const period = pattern.periodMin * MINUTE_MS
    const since = (((at - pattern.fromMin * MINUTE_MS) % period) + period) % period
    const left = pattern.openMin * MINUTE_MS - since
    if (left <= 0) return null
    until = Math.min(until, at + left)
  }
  return until
}

/** What a job says that it changed. Nobody knows of one that tells nothing. */
export function drawEffect(
  chance: Chance,
  job: { jobId: string; about: Json },
): LedgerEffect | null {
  const target = String(job.about)
  const kind = chance.weighed({
    reversible: 12,
    nothing: 2,
    irreversible: 2,
    noReturn: 1,
    silent: 2,
  })
  if (kind === 'silent') return null
  if (kind === 'nothing') return { changed: false }
  if (kind === 'irreversible') return { changed: true, target, irreversible: 'A mail was sent.' }
  if (kind === 'noReturn')
    return { changed: true, target, irreversible: 'It is in use.', isPointOfNoReturn: true }
  const undo = { functionName: 'Undo-it', parameters: { Upn: target, Change: job.jobId } }
  return { changed: true, target, before: {}, undo }
}
