// Forecast of a batch's end: each phase starts at its time and after the previous one has ended, and its open steps run at the rate of
// the last minutes. Where that would be a guess, the forecast gives the reason instead.
import { countText } from './count-text.ts'
import { holdOnAll } from './decide/held.ts'
import { type Batch, openSteps, type Phase } from './facts.ts'
import { type HoldsOnBatch, nameOfHeld } from './holds.ts'

export interface ForecastFacts {
  readonly batch: Pick<
    Batch,
    'endedAt' | 'heldAt' | 'heldBy' | 'heldReason' | 'id' | 'isManual' | 'membersActive' | 'status'
  >
  readonly holds: HoldsOnBatch
  /** In order of time. */
  readonly phases: readonly Phase[]
  /** Steps per active member in a phase that has not begun. */
  readonly stepsPerMember: (phaseName: string) => number
  /** Recent rate of passed steps. */
  readonly stepsPerMin: number
  readonly now: Date
}

export interface Forecast {
  readonly endsAt: Date | null
  readonly because: string
}

export function forecastEnd(facts: ForecastFacts): Forecast {
  const { batch, holds, phases, stepsPerMember, stepsPerMin, now } = facts
  if (batch.endedAt !== null) return { endsAt: batch.endedAt, because: `it is ${batch.status}` }
  const held = holdOnAll(batch, holds)
  if (held)
    return {
      endsAt: null,
      because: held.scope === 'batch' ? 'it is held' : `${nameOfHeld(held)} is held`,
    }
  const toCome = phases.filter(({ status }) => status === 'pending')
  if (batch.isManual && toCome.length > 0) {
    return { endsAt: null, because: `phase ${toCome[0]!.name} waits to be advanced` }
  }
  let at = +now
  let open = 0
  for (const phase of phases) {
    if (phase.status !== 'pending' && phase.status !== 'dispatched') continue
    const isToCome = phase.status === 'pending'
    const steps = isToCome ? batch.membersActive * stepsPerMember(phase.name) : openSteps(phase)
    if (isToCome) at = Math.max(at, +(phase.dueAt ?? now))
    // Started phases need a measured rate; for pending ones their time matters most.
    if (!isToCome && steps > 0 && stepsPerMin === 0) {
      return { endsAt: null, because: `no step passed lately and ${steps} are open` }
    }
    if (stepsPerMin > 0) at += (steps / stepsPerMin) * 60_000
    open += steps
  }
  const rate = stepsPerMin === 0 ? 'at the times of its phases' : `at ${stepsPerMin} steps a minute`
  return { endsAt: new Date(at), because: `${countText(open, 'step')} left ${rate}` }
}
