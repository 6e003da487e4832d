// The pace of a batch and when it ends: the one estimate of summary, watch and status.
import { loadHolds } from '../db/holds.ts'
import { loadPace } from '../db/views/insight.ts'
import { type Forecast, forecastEnd } from '../domain/forecast.ts'
import { holdsOnBatch } from '../domain/holds.ts'
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
  const { line, phases } = state
  const pace = await loadPace(engine.db, line.id, new Date(+now - PACE_WINDOW_MS))
  const throughput = throughputOf(pace, phases, now)
  const estimate = forecastEnd({
    batch: line,
    holds: holdsOnBatch(await loadHolds(engine.db, line.id)),
    phases,
    ...(await workAhead(engine, state)),
    stepsPerMin: throughput.stepsPerMin,
    now,
  })
  return { throughput, estimate }
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
