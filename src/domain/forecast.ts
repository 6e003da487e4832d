// The one forecast of when phases and a batch end: each phase starts at its time and after the previous one has ended, and its open
// steps run at the pace of the last minutes of work. Where that would be a guess, or a hold stops the work, it gives the reason instead.
import { countText } from './count-text.ts'
import { holdsOnAll } from './decide/held.ts'
import { shareText } from './decide/ramp.ts'
import { type Batch, openSteps, type Phase } from './facts.ts'
import { type Hold, type HoldsOnBatch, nameOfHeld } from './holds.ts'
import { stepsIn } from './progress.ts'
import { windowText } from './windows/window-text.ts'

export interface ForecastFacts {
  readonly batch: Pick<
    Batch,
    | 'endedAt'
    | 'heldAt'
    | 'heldBy'
    | 'heldReason'
    | 'id'
    | 'isManual'
    | 'membersActive'
    | 'status'
    | 'windowClosedAt'
  > & { readonly windowOpensAt: Date | null }
  readonly holds: HoldsOnBatch
  /** Workers of the batch's steps that are not done. */
  readonly workerIds: ReadonlySet<string>
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
  /** Times in UTC. */
  readonly because: string
  /** A hold stops the batch, or people or steps without which it cannot end. */
  readonly heldSince: Date | null
  /** Ends of the running phases; a phase without an estimate is left out. */
  readonly phases: PhaseEnd[]
}

interface PhaseEnd {
  readonly phaseId: number
  readonly endsAt: Date
}

const guess = (because: string, phases: PhaseEnd[] = []): Forecast => ({
  endsAt: null,
  because,
  heldSince: null,
  phases,
})

export function forecastEnd(facts: ForecastFacts): Forecast {
  const { batch, phases, stepsPerMember, stepsPerMin, now } = facts
  if (batch.endedAt !== null) {
    const because = `it ended at ${batch.endedAt.toISOString()}`
    return { endsAt: batch.endedAt, because, heldSince: null, phases: [] }
  }
  const [held] = holdsInTheWay(facts)
  if (held) {
    const what = held.scope === 'batch' ? '' : `${nameOfHeld(held)} is `
    const because = `${what}held since ${held.heldAt.toISOString()}`
    return { ...guess(because), heldSince: held.heldAt }
  }
  // The pace says nothing about the time until the window opens.
  if (batch.windowClosedAt !== null)
    return guess(`steps wait for ${windowText(batch.windowOpensAt)}`)
  const running = endsOfRunning(phases, stepsPerMin, now)
  const known = running.flatMap(({ phaseId, endsAt }) => (endsAt ? [{ phaseId, endsAt }] : []))
  const toCome = phases.filter(({ status }) => status === 'pending')
  // The last few steps of a phase do not keep the next one from its time.
  const unknown = running.find(({ whyNot, isTail }) => whyNot && !(isTail && toCome.length > 0))
  if (unknown) return guess(unknown.whyNot!, known)
  if (batch.isManual && toCome[0])
    return guess(`phase ${toCome[0].name} waits to be advanced`, known)
  let at = Math.max(+now, ...known.map(({ endsAt }) => +endsAt))
  let open = phases.filter(isRunning).reduce((sum, phase) => sum + openSteps(phase), 0)
  for (const { name, dueAt } of toCome) {
    const steps = batch.membersActive * stepsPerMember(name)
    at = Math.max(at, +(dueAt ?? now))
    if (stepsPerMin > 0) at += (steps / stepsPerMin) * 60_000
    open += steps
  }
  const because = restText(open, stepsPerMin)
  return { endsAt: new Date(at), because, heldSince: null, phases: known }
}

function restText(open: number, stepsPerMin: number): string {
  if (open === 0) return 'nobody has a step left'
  const left = `${countText(open, 'step')} left`
  return stepsPerMin === 0
    ? `its last phase is due then, ${left}`
    : `${left} at ${stepsPerMin} steps a minute`
}

const isRunning = ({ status }: Phase): boolean => status === 'dispatched'

/** Those of the whole batch first. */
function holdsInTheWay({ batch, holds, workerIds }: ForecastFacts): Hold[] {
  const ofWorkers = [...holds.workers.values()].filter(({ target }) => workerIds.has(target))
  return [...holdsOnAll(batch, holds), ...ofWorkers, ...holds.members.values()]
}

/** With a smaller share of the steps ended, or open, an estimate would be wrong: the last few are slow. */
const ESTIMATE_FROM_SHARE = 0.05

interface EndOfPhase {
  readonly phaseId: number
  readonly endsAt: Date | null
  /** Why there is no estimate. */
  readonly whyNot: string | null
  /** Only the last few steps are open. */
  readonly isTail: boolean
}

/** When each running phase ends, one after the other. */
function endsOfRunning(phases: readonly Phase[], stepsPerMin: number, now: Date): EndOfPhase[] {
  let at = +now
  return phases.filter(isRunning).map((phase) => {
    const { total, ended } = stepsIn(phase)
    const open = total - ended
    const isTail = open > 0 && open < total * ESTIMATE_FROM_SHARE
    const whyNot = whyNoEnd(phase, isTail, stepsPerMin)
    if (whyNot !== null) return { phaseId: phase.id, endsAt: null, whyNot, isTail }
    at += open === 0 ? 0 : (open / stepsPerMin) * 60_000
    return { phaseId: phase.id, endsAt: new Date(at), whyNot, isTail }
  })
}

function whyNoEnd(phase: Phase, isTail: boolean, stepsPerMin: number): string | null {
  const { total, ended } = stepsIn(phase)
  const open = total - ended
  if (phase.rampThrough !== null)
    return `phase ${phase.name} has started for ${shareText(phase)} of its members`
  if (phase.expandedAt === null) return `phase ${phase.name} has just started`
  if (open === 0) return null
  if (isTail)
    return `the last ${countText(open, 'step')} of phase ${phase.name} ${open === 1 ? 'is' : 'are'} open`
  if (stepsPerMin === 0)
    return `no step passed lately and ${countText(open, 'step is', 'steps are')} open`
  return ended < total * ESTIMATE_FROM_SHARE ? `phase ${phase.name} has just started` : null
}

/** Ends of the running phases, for a view that shows nothing else of the forecast. */
export const phaseEnds = (
  phases: readonly Phase[],
  stepsPerMin: number,
  now: Date,
): ReadonlyMap<number, Date> =>
  new Map(
    endsOfRunning(phases, stepsPerMin, now).flatMap(({ phaseId, endsAt }) =>
      endsAt ? [[phaseId, endsAt]] : [],
    ),
  )
