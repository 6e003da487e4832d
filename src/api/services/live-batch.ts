// A running batch as a rehearsal takes it, read from the database: its runbook, the rows of its people, and which steps they have passed.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { findRunbookVersion } from '../../db/state/runbooks.ts'
import { listGridSteps } from '../../db/views/grid.ts'
import { listActiveMembers } from '../../db/views/members.ts'
import { listInitSteps } from '../../db/views/steps.ts'
import { listWorkers } from '../../db/views/workers.ts'
import { type GridColumn, packCells } from '../../domain/needs/grid.ts'
import {
  type LivePast,
  type LivePerson,
  liveRowReader,
  passedInRow,
  placeKey,
  unfitCount,
  unfitReason,
} from '../../domain/needs/live-batch.ts'
import { slotsAsTheyAre } from '../../domain/plan/what-if.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { isPassed } from '../../domain/state/transitions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { type BatchState, loadBatchState } from '../shapes/batch-state.ts'
import { gridColumns } from '../shapes/grid-columns.ts'

interface LoadedBatch {
  readonly yaml: string
  readonly runbookName: string
  /** In the order of the batch. */
  readonly people: readonly LivePerson[]
  readonly past: LivePast
  readonly workerSlots: Readonly<Record<string, number>>
  readonly assumed: readonly string[]
}

const PAGE = 500
const INIT_STEPS_MAX = 500

/** Throws BATCH_NOT_FOUND and REHEARSAL_BATCH_UNFIT. */
export async function loadLiveBatch(
  engine: Engine,
  batchId: number,
  now: Date,
): Promise<LoadedBatch> {
  const { db } = engine
  const state = await loadBatchState(db, batchId)
  const { line } = state
  const { runbookName, runbookVersion, batchStartTime } = line
  const reason = unfitReason(stateOf(state)) ?? unfitCount(line.membersActive)
  if (reason !== null) throw unfit(batchId, reason)
  const runbook = await engine.runbooks.get(db, runbookName, runbookVersion)
  const column = runbook.dataSource.batchTimeColumn
  if (column === null) throw unfit(batchId, 'its runbook has no batch_time_column')
  const { people, passed } = await loadPeople(
    db,
    batchId,
    await gridColumns(engine, state),
    liveRowReader(runbook, column, batchStartTime!.toISOString()),
  )
  for (const { stepName, status } of await listInitSteps(db, batchId, INIT_STEPS_MAX))
    if (isPassed(status)) passed.push(placeKey({ memberKey: null, phaseName: null, stepName }))
  const version = await findRunbookVersion(db, runbookName, runbookVersion)
  const ended = state.phases.filter(({ completedAt }) => completedAt !== null)
  return {
    yaml: version!.yaml,
    runbookName,
    people,
    past: {
      batchId,
      at: now.toISOString(),
      passed,
      endedPhases: ended.map(({ name }) => foldKey(name)),
      isHeld: line.heldAt !== null,
    },
    ...slotsAsTheyAre(runbook, await listWorkers(db)),
  }
}

const unfit = (batchId: number, reason: string) =>
  new MatoolkitError('REHEARSAL_BATCH_UNFIT', { batchId, reason })

const stateOf = ({ line, phases }: BatchState) => ({
  status: line.status,
  isManual: line.isManual,
  hasStartTime: line.batchStartTime !== null,
  hasEnded: line.endedAt !== null,
  phases: phases.map(({ name, status }) => ({ phaseName: name, status })),
})

async function loadPeople(
  db: Queryable,
  batchId: number,
  columns: readonly GridColumn[],
  rowOf: ReturnType<typeof liveRowReader>,
): Promise<{ people: LivePerson[]; passed: string[] }> {
  const people: LivePerson[] = []
  const passed: string[] = []
  for (let after = 0; ; ) {
    const page = await listActiveMembers(db, batchId, after, PAGE)
    const ids = page.map(({ id }) => id)
    const cells = packCells(columns, ids, await listGridSteps(db, ids))
    for (const { id, key, data, outputs } of page) {
      people.push({ key, row: rowOf(data, outputs) })
      passed.push(...passedInRow(columns, { memberKey: key, cells: cells.get(id)! }))
    }
    if (page.length < PAGE) return { people, passed }
    after = ids.at(-1)!
  }
}
