// What a query returns and what the next tick would make of it, without doing it. Works for a text that was never published: then
// everybody is new. Reads the source to its end, as a tick does; asks for no lease and writes nothing.
import type { Queryable } from '../db/db.ts'
import { type Issue, isoSeconds } from '../domain/detection/compare.ts'
import type { NewReview } from '../domain/detection/reviews.ts'
import type { TickChanges } from '../domain/detection/scheduled.ts'
import type { SourceColumn, SourceRow } from '../domain/detection/source-values.ts'
import type { Runbook } from '../domain/runbook/read.ts'
import { detect } from './detection.ts'
import type { KeptRow, SourceAccess } from './reading.ts'

const SAMPLE_MAX = 100
const GROUPS_MAX = 200
const NAMED_MAX = 100

/** How many there are, and the first of them. */
export interface Some<T> {
  readonly total: number
  readonly first: readonly T[]
}

export interface SourcePreview {
  readonly columns: readonly SourceColumn[]
  readonly sample: readonly SourceRow[]
  readonly rowCount: number
  /** The first groups by time, and how many there are. Immediate runbooks have one, without a time. */
  readonly batchGroups: readonly { readonly batchTime: Date | null; readonly memberCount: number }[]
  readonly groupCount: number
  readonly problems: readonly Issue[]
  readonly problemCount: number
  readonly durationMs: number
  readonly nextTick: NextTick
}

export interface NextTick {
  readonly newBatches: Some<{
    readonly time: string
    readonly members: number
    readonly held: string | null
  }>
  readonly joiners: Some<{ readonly batchId: number; readonly key: string }>
  readonly rejoiners: Some<{ readonly batchId: number; readonly key: string }>
  readonly moves: Some<{ readonly batchId: number; readonly key: string; readonly toTime: string }>
  readonly leavers: Some<{ readonly batchId: number; readonly key: string }>
  /** Missing for the first time: they leave if they are missing from the next good tick too. */
  readonly missing: number
  readonly refreshed: number
  readonly reviews: Some<Pick<NewReview, 'kind' | 'cause' | 'key' | 'batchId' | 'reason'>>
  readonly holds: readonly { readonly batchId: number; readonly reason: string }[]
}

export interface PreviewRequest {
  readonly db: Queryable
  readonly sources: SourceAccess
  readonly runbook: Runbook
  readonly now: Date
  readonly stopping: AbortSignal
}

export async function previewSource(request: PreviewRequest): Promise<SourcePreview> {
  const { clock } = request.sources.settings
  const startedMs = +clock.now()
  const sample: SourceRow[] = []
  const { reading, changes } = await detect({
    ...request,
    onRow: (row) => {
      if (sample.length < SAMPLE_MAX) sample.push(row)
    },
  })
  reading.issues.addAll(changes.issues)
  const isImmediate = request.runbook.dataSource.batchTimeColumn === null
  const groups = [...reading.found.groups].sort(([a], [b]) => a - b)
  return {
    columns: reading.columns,
    sample,
    rowCount: reading.rowCount,
    batchGroups: groups.slice(0, GROUPS_MAX).map(([timeMs, memberCount]) => ({
      batchTime: isImmediate ? null : new Date(timeMs),
      memberCount,
    })),
    groupCount: groups.length,
    problems: reading.issues.first.slice(0, NAMED_MAX),
    problemCount: reading.issues.total,
    durationMs: +clock.now() - startedMs,
    nextTick: nextTickOf(changes),
  }
}

const some = <T, Shown>(all: readonly T[], show: (one: T) => Shown): Some<Shown> => ({
  total: all.length,
  first: all.slice(0, NAMED_MAX).map(show),
})

const member = ({ batchId, key }: { batchId: number; key: string }) => ({ batchId, key })

function nextTickOf(changes: TickChanges<KeptRow>): NextTick {
  const joiners = [...changes.joins].flatMap(([batchId, rows]) =>
    rows.map(({ key }) => ({ batchId, key })),
  )
  const moves = changes.moves.flatMap(({ fromBatchId, timeMs, pairs }) =>
    pairs.map(({ row }) => ({ batchId: fromBatchId, key: row.key, toTime: isoSeconds(timeMs) })),
  )
  const reviews = [...changes.reviews.add, ...changes.reviews.change.map(({ to }) => to)]
  return {
    newBatches: some(changes.batches, ({ timeMs, rows, hold }) => ({
      time: isoSeconds(timeMs),
      members: rows.length,
      held: hold?.reason ?? null,
    })),
    joiners: some(joiners, member),
    rejoiners: some(changes.rejoins, member),
    moves: some(moves, (one) => one),
    leavers: some(changes.removals, member),
    missing: [...changes.absences.values()].filter((missed) => missed === 1).length,
    refreshed: changes.refreshes.length,
    reviews: some(reviews, ({ kind, cause, key, batchId, reason }) => ({
      ...{ kind, cause, key },
      ...{ batchId, reason },
    })),
    holds: [...changes.holds].map(([batchId, reason]) => ({ batchId, reason })),
  }
}
