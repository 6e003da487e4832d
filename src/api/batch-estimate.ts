// The pace of batches and when they end: the one estimate of summary, watch, status and wall.
import { loadHoldsOf } from '../db/holds.ts'
import { loadPaces } from '../db/views/insight.ts'
import { type Forecast, forecastEnd } from '../domain/forecast.ts'
import { holdsAmong } from '../domain/holds.ts'
import { PACE_WINDOW_MS, type Throughput, throughputOf } from '../domain/pace.ts'
import type { Engine } from '../engine/engine.ts'
import type { BatchState } from './batch-state.ts'

export interface BatchEstimate {
  readonly throughput: Throughput
  readonly estimate: Forecast
}

export async function estimateBatch(
  engine: Engine,
  state: BatchState,
  now: Date,
): Promise<BatchEstimate> {
  return (await estimateBatches(engine, [state], now)).get(state.line.id)!
}

/** By batch, in two statements for all of them. */
export async function estimateBatches(
  engine: Engine,
  states: readonly BatchState[],
  now: Date,
): Promise<ReadonlyMap<number, BatchEstimate>> {
  const ids = states.map(({ line }) => line.id)
  const paces = await loadPaces(engine.db, ids, new Date(+now - PACE_WINDOW_MS))
  const holds = await loadHoldsOf(engine.db, ids)
  const found = new Map<number, BatchEstimate>()
  for (const state of states) {
    const { line, phases } = state
    const throughput = throughputOf(paces.get(line.id)!, phases, now)
    const estimate = forecastEnd({
      batch: line,
      holds: holdsAmong(holds, line),
      phases,
      ...(await workAhead(engine, state)),
      stepsPerMin: throughput.stepsPerMin,
      now,
    })
    found.set(line.id, { throughput, estimate })
  }
  return found
}

/** What the runbook says about the phases that have not ended. */
async function workAhead(engine: Engine, { line, phases }: BatchState) {
  const runbook = await engine.runbooks.get(engine.db, line.runbookName, line.runbookVersion)
  const byName = new Map(runbook.phases.map(({ name, steps }) => [name.toLowerCase(), steps]))
  const stepsOf = (phaseName: string) => byName.get(phaseName.toLowerCase()) ?? []
  const ahead = phases.filter(({ status }) => status === 'pending' || status === 'dispatched')
  return {
    stepsPerMember: (phaseName: string): number => stepsOf(phaseName).length,
    workerIds: new Set(ahead.flatMap(({ name }) => stepsOf(name).map((step) => step.workerId))),
  }
}
