// Tells of phases that are forecast to miss their time: an event when the forecast turns late, one when it is in time again, each with the
// mark of the phase that says so, under the lock of the batch. It follows from the state: a look that never happened costs a minute and no event, and of
// several orchestrators that find the same one writes it.

import {
  deleteMiss,
  insertMiss,
  listBatchesToForecast,
  loadMisses,
  type StoredMiss,
} from '../db/orders/forecast-misses.ts'
import { loadPhasesOf } from '../db/state/facts.ts'
import { findBatchLines } from '../db/views/batches.ts'
import { phaseOrder } from '../domain/decide/next.ts'
import type { PhaseForecast } from '../domain/forecast/forecast.ts'
import { AHEAD_MS, clearedText, deadlineOf } from '../domain/forecast/miss.ts'
import { forecastBatches } from '../engine/needs/batch-forecasts.ts'
import type { BatchTransaction, Engine } from '../engine/transactions/engine.ts'
import { changeBatch } from '../engine/transactions/locking.ts'

const ACTOR = 'orchestrator'
/** Those that start first; more are not at work at once. */
const BATCHES_MAX = 500

interface Change {
  readonly batchId: number
  readonly begun: readonly PhaseForecast[]
  readonly ended: readonly { readonly told: StoredMiss; readonly because: string }[]
}

/** Returns how many events it wrote. A batch that cannot be changed keeps no other from being told; its error is thrown last. */
export async function tellMisses(engine: Engine): Promise<number> {
  let events = 0
  const failures: unknown[] = []
  for (const change of await findChanges(engine))
    try {
      events += await changeBatch(engine, change.batchId, ACTOR, (batchTx) =>
        write(batchTx, change),
      )
    } catch (error) {
      failures.push(error)
    }
  if (failures.length > 0) throw failures[0]
  return events
}

async function findChanges(engine: Engine): Promise<Change[]> {
  const { db } = engine
  const now = engine.clock.now()
  const ids = await listBatchesToForecast(db, new Date(+now + AHEAD_MS), BATCHES_MAX)
  if (ids.length === 0) return []
  const told = [...(await loadMisses(db, ids)).values()]
  const lines = await findBatchLines(db, ids)
  const phasesOf = await loadPhasesOf(db, ids)
  const batches = [...lines.values()].map((line) => ({
    line,
    phases: phaseOrder(phasesOf.get(line.id)!),
  }))
  const forecasts = await forecastBatches(engine, batches, now)
  return batches.flatMap(({ line, phases }) => {
    const found = forecasts.get(line.id)!.forecast.phases
    const missed = found.filter(({ miss }) => miss !== null)
    const known = told.filter(({ batchId }) => batchId === line.id)
    const begun = missed.filter(({ miss }) => miss!.since === null)
    const ended = known
      .filter(({ phaseId }) => !missed.some((one) => one.phaseId === phaseId && one.miss!.since))
      .map((one) => {
        const phase = phases.find(({ id }) => id === one.phaseId)!
        const p90 = found.find(({ phaseId }) => phaseId === one.phaseId)?.p90 ?? null
        const because = clearedText(phase, one, deadlineOf(phase, phases, line), p90)
        return { told: one, because }
      })
    return begun.length + ended.length === 0 ? [] : [{ batchId: line.id, begun, ended }]
  })
}

/** What another orchestrator has written meanwhile is not written again. */
async function write({ tx, draft }: BatchTransaction, { begun, ended }: Change): Promise<number> {
  let events = 0
  for (const { told, because } of ended) {
    if (!(await deleteMiss(tx, told))) continue
    draft.note('forecast_in_time', because, { phaseId: told.phaseId })
    events += 1
  }
  for (const { phaseId, miss } of begun) {
    const { deadline, deadlineOf: of, bySec, text } = miss!
    const row = { phaseId, deadline, deadlineOf: of, bySec, because: text }
    if (!(await insertMiss(tx, row, draft.now))) continue
    draft.note('forecast_miss', text, { phaseId })
    events += 1
  }
  return events
}
