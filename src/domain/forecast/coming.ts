// When a phase to come starts and ends: as long as in the rehearsal; without one at the pace of the batch's other phases.
import { countText } from '../../base/text/count-text.ts'
import type { Phase } from '../state/facts.ts'
import type { ForecastFacts, FoundEnd } from './forecast.ts'
import { endOfWork } from './open-time.ts'
import { rateText } from './pace.ts'
import { rehearsedMs } from './rehearsed.ts'
import { REHEARSAL_P90, rehearsalText } from './running.ts'

interface Reached {
  readonly p50: number
  readonly p90: number
}

interface Coming {
  readonly startsAt: number | null
  readonly end: FoundEnd
}

/** Other phases have other steps: their pace is as uncertain as a rehearsal. */
const OTHER_PHASES_P90 = 2

/** `blockedBy`: an earlier phase whose end nobody can tell. */
export function endOfComing(
  facts: ForecastFacts,
  phase: Phase,
  reached: Reached,
  pace: { readonly stepsPerMin: number },
  blockedBy: string | null,
): Coming {
  const whyNoStart = whyStartIsUnknown(facts, phase, blockedBy)
  if (whyNoStart !== null) return { startsAt: null, end: { whyNot: whyNoStart } }
  const dueAt = +(phase.dueAt ?? facts.now)
  const from = { p50: Math.max(reached.p50, dueAt), p90: Math.max(reached.p90, dueAt) }
  const work = workOf(facts, phase, pace.stepsPerMin)
  if ('whyNot' in work) return { startsAt: from.p50, end: work }
  const p50 = endOfWork(from.p50, work.ms, facts.windowAt)
  const p90 = endOfWork(from.p90, work.slowMs, facts.windowAt)
  const { source, because } = work
  if (p50 !== null && p90 !== null)
    return { startsAt: from.p50, end: { p50, p90, source, because } }
  const whyNot = `the change windows leave no time for phase ${phase.name}`
  return { startsAt: from.p50, end: { whyNot } }
}

function whyStartIsUnknown(
  { batch, now }: ForecastFacts,
  { name, dueAt, gateLookAt }: Phase,
  blockedBy: string | null,
): string | null {
  if (batch.isManual) return `phase ${name} waits to be advanced`
  if (gateLookAt !== null && dueAt !== null && dueAt <= now)
    return `phase ${name} waits at its gate`
  return blockedBy === null ? null : `phase ${name} comes after ${blockedBy}, whose end is unknown`
}

type Work =
  | {
      readonly ms: number
      readonly slowMs: number
      readonly source: 'rehearsal' | 'other_phases' | 'no_steps'
      readonly because: string
    }
  | { readonly whyNot: string }

function workOf(facts: ForecastFacts, { name }: Phase, stepsPerMin: number): Work {
  const members = facts.batch.membersActive
  const steps = members * facts.stepsPerMember(name)
  if (steps === 0)
    return { ms: 0, slowMs: 0, source: 'no_steps', because: 'no one has a step in it' }
  const rehearsed = rehearsedMs(facts.rehearsed, name, members, facts.slots(name))
  if (rehearsed !== null) {
    const because = rehearsalText(facts, rehearsed, members)
    return { ms: rehearsed, slowMs: rehearsed * REHEARSAL_P90, source: 'rehearsal', because }
  }
  if (stepsPerMin === 0)
    return {
      whyNot: `neither a rehearsal nor an earlier phase of this batch says how long phase ${name} takes`,
    }
  const ms = (steps / stepsPerMin) * 60_000
  const soakMs = facts.soakMs(name)
  const because = `${countText(steps, 'step')} at ${rateText(stepsPerMin)}, the pace of other phases; it was never rehearsed`
  return {
    ms: ms + soakMs,
    slowMs: ms * OTHER_PHASES_P90 + soakMs,
    source: 'other_phases',
    because,
  }
}
