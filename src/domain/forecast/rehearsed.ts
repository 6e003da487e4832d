// How long phases took in a rehearsal, and how long that makes them for other numbers of members and slots. A phase has two parts: work in
// the slots of its busiest worker, which grows with the members, and waiting, which does not (the report's own rule for ten times as many).

import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'

export interface PhaseWork {
  readonly name: string
  readonly members: number
  /** From the phase's start to the last member's last step, without waits for change windows: a forecast counts these itself. */
  readonly worstSec: number
  /** Of these members, in the slots of the busiest worker. */
  readonly slotSec: number
}

export interface RehearsedTimes {
  readonly slots: number
  readonly phases: readonly PhaseWork[]
}

/** When the rehearsal was asked for, with its times. */
export interface Rehearsed extends RehearsedTimes {
  readonly at: Date
}

/** The report gives the slowest member's time, and the same for so many times the members. */
const MORE_MEMBERS = 10

/**
 * The times in a report; null when it has none, was not ready (who failed did not take the time that success takes), or tells of faults,
 * which take longer. Of several waves the largest counts.
 */
export function rehearsedTimes(report: Json): RehearsedTimes | null {
  const { slots, faults, timeline, verdict } = objectOf(report)
  if (!Array.isArray(timeline) || !(Number(slots) > 0)) return null
  if (verdict === 'not ready' || (Array.isArray(faults) && faults.length > 0)) return null
  const largest = new Map<string, PhaseWork>()
  for (const line of timeline.map(objectOf)) {
    const phase = phaseIn(line)
    if (phase && phase.members > (largest.get(phase.name)?.members ?? 0))
      largest.set(phase.name, phase)
  }
  return largest.size === 0 ? null : { slots: Number(slots), phases: [...largest.values()] }
}

function phaseIn(fields: Fields): PhaseWork | null {
  const { phase, members, worstSec, tenTimesSec, windowWaitSec } = fields
  if (typeof phase !== 'string' || typeof members !== 'number') return null
  if (typeof worstSec !== 'number' || typeof tenTimesSec !== 'number') return null
  const slotSec = Math.max(0, (tenTimesSec - worstSec) / (MORE_MEMBERS - 1))
  const waitedSec = typeof windowWaitSec === 'number' ? windowWaitSec : 0
  const workedSec = Math.max(slotSec, worstSec - waitedSec)
  return { name: phase.toLowerCase(), members, worstSec: workedSec, slotSec }
}

type Fields = Readonly<Record<string, Json | undefined>>
const objectOf = (json: Json): Fields =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {}

/** Null when nobody rehearsed the phase. Without a number of slots: with those of the rehearsal. */
export function rehearsedMs(
  rehearsed: RehearsedTimes | null,
  phaseName: string,
  members: number,
  slots: number | null,
): number | null {
  const phase = rehearsed?.phases.find(({ name }) => sameName(name, phaseName))
  if (!rehearsed || !phase || phase.members === 0) return null
  const waitingSec = Math.max(0, phase.worstSec - phase.slotSec)
  const scale = (members / phase.members) * (rehearsed.slots / (slots ?? rehearsed.slots))
  return (waitingSec + phase.slotSec * scale) * 1_000
}
