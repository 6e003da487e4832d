// The comparison of two rehearsals of one batch, as it is and with a change. Pure: the same reports give the same comparison.
import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import type { WhatIf } from '../../domain/plan/what-if.ts'
import type { RehearsalReport, TimelinePhase } from './report.ts'

export interface PhaseEnd {
  readonly startedAt: string | null
  /** Null: it does not end. */
  readonly endedAt: string | null
  readonly failed: number
  /** `T-0`, or the next phase: it begins before this one has ended. Null: nothing is missed. */
  readonly misses: string | null
}

export interface ComparedPhase {
  readonly phase: string
  readonly dueAt: string | null
  readonly asItIs: PhaseEnd
  readonly changed: PhaseEnd
  /** Negative: it ends later. Null: one of them does not end. */
  readonly savedSec: number | null
}

type Told = Pick<RehearsalReport, 'verdict' | 'reasons' | 'members' | 'failures' | 'endedAt'>

export interface WhatIfRun extends Told {
  readonly workerSlots: Readonly<Record<string, number>>
}

export interface WhatIfReport {
  /** Of the rehearsal with the change, so that lists of rehearsals show it. */
  readonly verdict: RehearsalReport['verdict']
  readonly headline: string
  readonly batchId: number
  readonly runbook: string
  readonly at: string
  readonly cutoverAt: string | null
  readonly seed: number
  readonly change: WhatIf
  readonly phases: readonly ComparedPhase[]
  readonly asItIs: WhatIfRun
  readonly changed: WhatIfRun
  readonly assumptions: readonly string[]
}

type SlotsByWorker = WhatIfRun['workerSlots']

export interface ComparedRuns {
  readonly batchId: number
  readonly at: string
  readonly change: WhatIf
  /** The change in words. */
  readonly changeText: string
  readonly before: RehearsalReport
  readonly after: RehearsalReport
  readonly slotsBefore: SlotsByWorker
  readonly slotsAfter: SlotsByWorker
}

export function compareRuns(runs: ComparedRuns): WhatIfReport {
  const { batchId, at, change, changeText, before, after } = runs
  const phases = comparedPhases(before, after)
  return {
    verdict: after.verdict,
    headline: whatIfHeadline(changeText, phases, before, after),
    batchId,
    runbook: before.runbook,
    at,
    cutoverAt: cutoverOf(before),
    seed: before.seed,
    change,
    phases,
    asItIs: { ...toldOf(before), workerSlots: runs.slotsBefore },
    changed: { ...toldOf(after), workerSlots: runs.slotsAfter },
    assumptions: before.assumptions,
  }
}

const toldOf = ({ verdict, reasons, members, failures, endedAt }: RehearsalReport): Told => ({
  verdict,
  reasons,
  members,
  failures,
  endedAt,
})

const cutoverOf = ({ batches }: RehearsalReport): string | null => batches[0]?.startTime ?? null

/** The phases that are left; both rehearsals have the same. */
function comparedPhases(before: RehearsalReport, after: RehearsalReport): ComparedPhase[] {
  const others = new Map(after.timeline.map((phase) => [phase.phase, phase]))
  return before.timeline.flatMap((phase) => {
    const other = others.get(phase.phase)
    if (!other) return []
    const [asItIs, changed] = [endOf(phase, before), endOf(other, after)]
    const isEnded = asItIs.endedAt !== null && changed.endedAt !== null
    const savedMs = isEnded ? Date.parse(asItIs.endedAt) - Date.parse(changed.endedAt) : null
    const savedSec = savedMs === null ? null : Math.round(savedMs / 1_000)
    return [{ phase: phase.phase, dueAt: phase.dueAt, asItIs, changed, savedSec }]
  })
}

function endOf(phase: TimelinePhase, report: RehearsalReport): PhaseEnd {
  const { startedAt, endedAt, failed, dueAt, isLate } = phase
  const cutoverAt = cutoverOf(report)
  const isAfter = (limit: string) => endedAt === null || endedAt > limit
  const missesCutover =
    cutoverAt !== null && dueAt !== null && dueAt < cutoverAt && isAfter(cutoverAt)
  const next = report.timeline[report.timeline.indexOf(phase) + 1]
  const missesNext = isLate ? `phase ${next?.phase}` : null
  return { startedAt, endedAt, failed, misses: missesCutover ? 'T-0' : missesNext }
}

/** Less is noise: the rehearsal's clock moves in steps. */
const NOTABLE_SEC = 60

/** One sentence about the phase that matters most: one whose miss comes or goes, else one that misses, else the one that changes most. */
export function whatIfHeadline(
  change: string,
  phases: readonly ComparedPhase[],
  before: Pick<RehearsalReport, 'members'>,
  after: Pick<RehearsalReport, 'members'>,
): string {
  const failed = [before.members.failed, after.members.failed] as const
  const failures =
    failed[0] === failed[1]
      ? ''
      : ` ${countText(failed[1], 'person fails', 'people fail')} instead of ${failed[0]}.`
  const bySaving = phases.toSorted((a, b) => Math.abs(b.savedSec ?? 0) - Math.abs(a.savedSec ?? 0))
  const phase =
    phases.find(({ asItIs, changed }) => asItIs.misses !== changed.misses) ??
    bySaving.find(({ changed }) => changed.misses !== null) ??
    bySaving.find(({ savedSec }) => Math.abs(savedSec ?? 0) >= NOTABLE_SEC)
  if (!phase) return `${change}, every phase ends within a minute of the time it would.${failures}`
  return `${change}, ${phaseSentence(phase)}.${failures}`
}

function phaseSentence({ phase, asItIs, changed, savedSec }: ComparedPhase): string {
  if (changed.endedAt === null) return `phase ${phase} does not end`
  const ends = `phase ${phase} ends ${changed.endedAt}`
  if (asItIs.endedAt === null) return `${ends}; as it is, it does not end`
  if (Math.abs(savedSec!) < NOTABLE_SEC) return `${ends}, as it would${missText(asItIs, changed)}`
  const miss = missText(asItIs, changed)
  return `${ends} instead of ${asItIs.endedAt}${miss === '' ? `, ${differenceText(savedSec!)}` : miss}`
}

function missText({ misses: was }: PhaseEnd, { misses: is }: PhaseEnd): string {
  if (is === null) return was === null ? '' : `, before ${was}`
  return was === is ? `, still after ${is}` : `, after ${is}`
}

/** `28m earlier`, `no difference`. */
export function differenceText(savedSec: number): string {
  if (savedSec === 0) return 'no difference'
  return `${durationText(Math.abs(savedSec) * 1_000)} ${savedSec > 0 ? 'earlier' : 'later'}`
}
