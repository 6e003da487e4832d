// The plan of a programme before anything is published: the batches that the first tick would create from these rows, each with its
// phases and examples, and the rows that it could not use. The scheduler's own functions read and compare the rows.

import type { FactsOf } from '../runbook/function-facts.ts'
import type { Runbook } from '../runbook/model.ts'
import { compareWithSource, type FoundRow, type Issue } from '../sources/compare.ts'
import { immediateChanges, slotOf } from '../sources/immediate.ts'
import { RowCollector } from '../sources/row-collector.ts'
import { rowReader } from '../sources/row-reader.ts'
import { scheduledChanges, type TickChanges } from '../sources/scheduled.ts'
import type { SourceColumn, SourceRow } from '../sources/source-values.ts'
import { foldKey } from '../state/member-key.ts'
import { planRun, type RunPlan, type SampleMember } from './run-plan.ts'

const EXAMPLES_MAX = 3

export interface BatchesFacts {
  readonly runbook: Runbook
  readonly columns: readonly SourceColumn[]
  readonly rows: readonly SourceRow[]
  readonly now: Date
  /** What functions declare. */
  readonly factsOf: FactsOf
}

export interface PlannedBatch extends RunPlan {
  readonly startTime: Date
  readonly memberCount: number
  /** Why it would start on hold; null when it would not. */
  readonly held: string | null
}

export interface BatchesPlan {
  readonly rowCount: number
  /** By their start. */
  readonly batches: readonly PlannedBatch[]
  /** The first unusable rows. */
  readonly problems: readonly Issue[]
  readonly problemCount: number
}

interface PlannedRow extends FoundRow {
  readonly data: SourceRow
}

export function planBatches({ runbook, columns, rows, now, factsOf }: BatchesFacts): BatchesPlan {
  const collector = new RowCollector<PlannedRow>()
  const read = rowReader(runbook.dataSource, columns)
  for (const row of rows) {
    const result = read(row)
    if ('problem' in result) {
      collector.takeProblem(result.problem)
      continue
    }
    const { key, time, data } = result.member
    const timeMs = +(time ?? slotOf(+now))
    collector.take({ key, folded: foldKey(key), timeMs, hash: JSON.stringify(data), data })
  }
  const { batches: created, issues } = firstTick(runbook, collector, +now)
  collector.issues.addAll(issues)
  const batches = created
    .toSorted((a, b) => a.timeMs - b.timeMs)
    .map(({ timeMs, rows: members, hold }) => {
      const startTime = new Date(timeMs)
      const samples = members.slice(0, EXAMPLES_MAX).map(sampleOf)
      const nothing = { batchId: null, batchOutputs: {} }
      const windows = runbook.windows ? [runbook.windows] : []
      const facts = { runbook, startTime, ...nothing, members: samples, windows, now, factsOf }
      const held = hold?.reason ?? null
      return { startTime, memberCount: members.length, held, ...planRun(facts) }
    })
  const { first: problems, total: problemCount } = collector.issues
  return { rowCount: collector.rowCount, batches, problems, problemCount }
}

const sampleOf = ({ key, data }: PlannedRow): SampleMember => ({ key, data, outputs: {} })

/** With an empty database nobody is known. */
function firstTick(
  { dataSource, safeguards }: Runbook,
  { found }: RowCollector<PlannedRow>,
  nowMs: number,
): TickChanges<PlannedRow> {
  const nobody = { absences: new Map(), reviews: [], past: new Map() }
  if (dataSource.batchTimeColumn === null) {
    const maxPercent = safeguards.maxRemovalPercent
    return immediateChanges(found, { ...nobody, batches: [], members: [], maxPercent, nowMs })
  }
  const lookups = {
    ...nobody,
    cutOverBegun: new Set<number>(),
    compensating: new Set<number>(),
    removedLastDay: new Map<number, number>(),
  }
  return scheduledChanges(compareWithSource(found, [], []), [], lookups, safeguards, nowMs)
}
