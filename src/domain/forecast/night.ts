// When tonight ends: the end of the phases that follow each other without a long pause. The aftercare a week later belongs to the batch and
// not to the night.
import type { PhaseForecast } from './forecast.ts'

/** Who waits longer for the next phase goes home in between. */
const PAUSE_MAX_MS = 6 * 3_600_000

export interface NightForecast {
  /** The phase that ends last. */
  readonly phaseName: string
  /** The p50; null where it would be a guess. */
  readonly endsAt: Date | null
  /** The latest: nine of ten such nights end by then. */
  readonly p90: Date | null
  /** What the end rests on, or why there is none. Times in UTC. */
  readonly because: string
}

type OpenPhase = Pick<PhaseForecast, 'phaseName' | 'startsAt' | 'endsAt' | 'p90' | 'because'> & {
  /** Of its last few steps nobody can tell the end, and the night does not wait for them. */
  readonly isTail: boolean
}

/** From the phases that have not ended, in order of time: those that run, or the next one, and what follows. Null without any. */
export function nightOf(phases: readonly OpenPhase[], now: Date): NightForecast | null {
  const night: OpenPhase[] = []
  let reached: number | null = null
  for (const phase of phases) {
    const start: number | null = phase.startsAt === null ? null : +phase.startsAt
    if (reached !== null && start !== null && start - reached > PAUSE_MAX_MS) break
    night.push(phase)
    const end = +(phase.endsAt ?? phase.startsAt ?? now)
    reached = Math.max(reached ?? end, end)
  }
  const last = night.at(-1)
  if (!last) return null
  const told = night.filter(({ isTail }) => !isTail)
  const unknown = (told.length > 0 ? told : night).find(({ endsAt }) => endsAt === null)
  if (unknown)
    return { phaseName: last.phaseName, endsAt: null, p90: null, because: unknown.because }
  const latest = told.reduce((one, other) => (+other.endsAt! >= +one.endsAt! ? other : one))
  const p90 = Math.max(...told.map((phase) => +(phase.p90 ?? phase.endsAt!)))
  return {
    phaseName: latest.phaseName,
    endsAt: latest.endsAt,
    p90: new Date(p90),
    because: latest.because,
  }
}
