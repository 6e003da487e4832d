// Shows what a source returns and what the next tick would change, and changes nothing. Works for an unpublished runbook, whose
// members are all new. Reads the source to its end, as a tick does; takes no lease and writes nothing.

import { countText } from '../base/text/count-text.ts'
import type { Json } from '../base/text/json.ts'
import type { Queryable } from '../db/connection/db.ts'
import type { Runbook } from '../domain/runbook/read.ts'
import { isoSeconds } from '../domain/sources/compare.ts'
import type { CountedSample, NextTick, SourcePreview } from '../domain/sources/preview.ts'
import type { TickChanges } from '../domain/sources/scheduled.ts'
import type { SourceRow } from '../domain/sources/source-values.ts'
import { detect } from './detection.ts'
import type { StoredRow } from './read-source.ts'
import type { SourceAccess } from './sources/source.ts'

const SAMPLE_MAX = 100
const GROUPS_MAX = 200
const NAMED_MAX = 100
const CELL_CHARS_MAX = 2_000
const SAMPLE_CHARS_MAX = 1_000_000

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
  const sample = new SampleRows()
  const { reading, changes } = await detect({ ...request, onRow: (row) => sample.add(row) })
  reading.issues.addAll(changes.issues)
  const isImmediate = request.runbook.dataSource.batchTimeColumn === null
  const groups = [...reading.found.groups].sort(([a], [b]) => a - b)
  return {
    columns: reading.columns,
    sample: sample.rows,
    warnings: sample.warnings(),
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

/** The first rows, with long cells cut: one cell can have the size of the whole file. */
class SampleRows {
  readonly rows: SourceRow[] = []
  #charsLeft = SAMPLE_CHARS_MAX
  #hasLongCells = false
  #isFull = false

  add(row: SourceRow): void {
    if (this.#isFull || this.rows.length === SAMPLE_MAX) return
    const cells = Object.entries(row).map(([name, value]): [string, Json] => [
      name,
      this.#cut(value),
    ])
    this.#isFull = this.#charsLeft < 0
    if (!this.#isFull) this.rows.push(Object.fromEntries(cells))
  }

  #cut(value: Json): Json {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    this.#charsLeft -= Math.min(text.length, CELL_CHARS_MAX)
    if (text.length <= CELL_CHARS_MAX) return value
    this.#hasLongCells = true
    return `${text.slice(0, CELL_CHARS_MAX)}…`
  }

  warnings(): string[] {
    const long = `Cells of more than ${CELL_CHARS_MAX} characters are cut in the sample.`
    const full = `The sample ends after ${countText(this.rows.length, 'row')}: together they have ${SAMPLE_CHARS_MAX} characters.`
    return [...(this.#hasLongCells ? [long] : []), ...(this.#isFull ? [full] : [])]
  }
}

const sampleOf = <T, Shown>(all: readonly T[], show: (item: T) => Shown): CountedSample<Shown> => ({
  total: all.length,
  first: all.slice(0, NAMED_MAX).map(show),
})

const member = ({ batchId, key }: { batchId: number; key: string }) => ({ batchId, key })

function nextTickOf(changes: TickChanges<StoredRow>): NextTick {
  const joiners = [...changes.joins].flatMap(([batchId, rows]) =>
    rows.map(({ key }) => ({ batchId, key })),
  )
  const moves = changes.moves.flatMap(({ fromBatchId, timeMs, pairs }) =>
    pairs.map(({ row }) => ({ batchId: fromBatchId, key: row.key, toTime: isoSeconds(timeMs) })),
  )
  const reviews = [...changes.reviews.add, ...changes.reviews.change.map(({ to }) => to)]
  return {
    newBatches: sampleOf(changes.batches, ({ timeMs, rows, hold }) => ({
      time: isoSeconds(timeMs),
      members: rows.length,
      held: hold?.reason ?? null,
    })),
    joiners: sampleOf(joiners, member),
    rejoiners: sampleOf(changes.rejoins, member),
    moves: sampleOf(moves, (move) => move),
    leavers: sampleOf(changes.removals, member),
    missing: [...changes.absences.values()].filter((missed) => missed === 1).length,
    refreshed: changes.refreshes.length,
    reviews: sampleOf(reviews, ({ kind, cause, key, batchId, reason }) => ({
      kind,
      cause,
      key,
      batchId,
      reason,
    })),
    holds: [...changes.holds].map(([batchId, reason]) => ({ batchId, reason })),
  }
}
