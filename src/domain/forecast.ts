// When a batch will end, as far as that can be said: each phase begins at its time and not before the one before it is through,
// and takes its open steps at the rate of the last minutes. A number that would be a guess is not given; why is said instead.
import { type Batch, openSteps, type Phase } from './facts.ts'

export interface ForecastFacts {
  readonly batch: Pick<Batch, 'endedAt' | 'heldAt' | 'isManual' | 'membersActive' | 'status'>
  /** In their order. */
  readonly phases: readonly Phase[]
  /** How many steps each active member will have in a phase that has not begun. */
  readonly stepsPerMember: (phaseName: string) => number
  /** Steps passed per minute lately. */
  readonly stepsPerMin: number
  readonly now: Date
}

export interface Forecast {
  readonly endsAt: Date | null
  readonly because: string
}

export function forecastEnd(facts: ForecastFacts): Forecast {
  const { batch, phases, stepsPerMember, stepsPerMin, now } = facts
  if (batch.endedAt !== null) return { endsAt: batch.endedAt, because: `it is ${batch.status}` }
  if (batch.heldAt !== null) return { endsAt: null, because: 'it is held' }
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
    // What is under way must go at the rate that is measured; for what is still to come its time says most.
    if (!isToCome && steps > 0 && stepsPerMin === 0) {
      return { endsAt: null, because: `no step has passed lately and ${steps} are open` }
    }
    if (stepsPerMin > 0) at += (steps / stepsPerMin) * 60_000
    open += steps
  }
  const rate = stepsPerMin === 0 ? 'at the times of its phases' : `at ${stepsPerMin} steps a minute`
  return { endsAt: new Date(at), because: `${open} steps are to be done ${rate}` }
}
