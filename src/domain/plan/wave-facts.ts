// A wave as it was planned and as it went, fact by fact, so that two of them can stand side by side. Times are instants.
import { durationText } from '../../base/text/duration.ts'
import { type StateCounts, statesText } from '../state/person-state.ts'

export interface ToldWave {
  readonly batch: {
    readonly batchStartTime: string | null
    readonly members: StateCounts
    readonly endedAt: string | null
  }
  readonly phases: readonly {
    readonly phaseName: string
    readonly status: string
    readonly dueAt: string | null
    readonly dispatchedAt: string | null
    readonly completedAt: string | null
    readonly members: { readonly total: number; readonly passed: number; readonly failed: number }
  }[]
  /** Failures by cause, the largest first. */
  readonly groups: readonly {
    readonly count: number
    readonly phaseName: string | null
    readonly stepName: string
    readonly pattern: string
  }[]
}

const CAUSES_MAX = 3
const MINUTE_MS = 60_000

/** By the name of the fact, in order; a phase is a fact. */
export function waveFacts({ batch, phases, groups }: ToldWave): ReadonlyMap<string, string> {
  const lasting = phases.filter(({ status }) => status !== 'superseded')
  const causes = groups
    .slice(0, CAUSES_MAX)
    .map(
      ({ count, phaseName, stepName, pattern }) =>
        `${count} at ${phaseName ?? 'init'} / ${stepName}: ${pattern}`,
    )
  return new Map([
    ['people', statesText(batch.members)],
    ['cut-over', batch.batchStartTime ?? 'by hand'],
    ...lasting.map((phase) => [phase.phaseName, phaseFact(phase)] as const),
    ['ended', batch.endedAt ?? 'not yet'],
    ['failures', causes.join('; ') || 'none'],
  ])
}

/** `10:00, 2m late, took 12m, 16.8 people a minute: 202 of 210 passed, 8 failed`; before it begins, when it is due. */
function phaseFact(phase: ToldWave['phases'][number]): string {
  const { status, dueAt, dispatchedAt, completedAt, members } = phase
  if (dispatchedAt === null) return dueAt !== null && status === 'pending' ? `due ${dueAt}` : status
  const since = (from: string, to: string | null) =>
    to === null ? 0 : Date.parse(to) - +new Date(from)
  const late = since(dueAt ?? dispatchedAt, dispatchedAt)
  const took = since(dispatchedAt, completedAt)
  const perMin = Number(((members.passed * MINUTE_MS) / Math.max(took, MINUTE_MS)).toPrecision(3))
  const start = `${dispatchedAt}${late >= MINUTE_MS ? `, ${durationText(late)} late` : ''}`
  const pace =
    completedAt === null ? 'runs' : `took ${durationText(took)}, ${perMin} people a minute`
  const failed = members.failed > 0 ? `, ${members.failed} failed` : ''
  return `${start}, ${pace}: ${members.passed} of ${members.total} passed${failed}`
}
