// The forecasts of batches, for API and timers alike: reads what they rest on in a handful of statements for all of them.
import type { Queryable } from '../../db/connection/db.ts'
import { loadMisses } from '../../db/orders/forecast-misses.ts'
import { loadRehearsed } from '../../db/orders/rehearsals.ts'
import { loadHoldsOf } from '../../db/state/holds.ts'
import { listWorkerShares } from '../../db/state/workers.ts'
import { loadPaces } from '../../db/views/batch-summary.ts'
import type { BatchLine } from '../../db/views/batches.ts'
import { type Forecast, forecastBatch } from '../../domain/forecast/forecast.ts'
import { spreadOf, type Throughput, throughputOf } from '../../domain/forecast/pace.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import type { Phase } from '../../domain/state/facts.ts'
import { holdsAmong } from '../../domain/state/holds.ts'
import type { Engine } from '../transactions/engine.ts'
import { hasWindows, windowStateOf } from '../transactions/window-state.ts'

export interface BatchForecast {
  readonly throughput: Throughput
  readonly forecast: Forecast
}

interface BatchWithPhases {
  readonly line: BatchLine
  /** In order of time. */
  readonly phases: readonly Phase[]
}

/** By batch. */
export async function forecastBatches(
  engine: Engine,
  batches: readonly BatchWithPhases[],
  now: Date,
  db: Queryable = engine.db,
): Promise<ReadonlyMap<number, BatchForecast>> {
  const ids = batches.map(({ line }) => line.id)
  const runbooks = new Map<number, Runbook>()
  for (const { line } of batches)
    runbooks.set(line.id, await engine.runbooks.get(db, line.runbookName, line.runbookVersion))
  const paces = await loadPaces(db, ids, now)
  const holds = await loadHoldsOf(db, ids)
  const misses = await loadMisses(db, ids)
  const rehearsed = await loadRehearsed(db, [
    ...new Set(batches.map(({ line }) => line.runbookName)),
  ])
  const workers = [...new Set([...runbooks.values()].flatMap(workersOf))]
  const shares = rehearsed.size === 0 ? new Map() : await listWorkerShares(db, workers)
  const found = new Map<number, BatchForecast>()
  for (const { line, phases } of batches) {
    const runbook = runbooks.get(line.id)!
    const pace = paces.get(line.id)!
    const throughput = throughputOf(pace, phases, now)
    const forecast = forecastBatch({
      batch: line,
      holds: holdsAmong(holds, line),
      phases,
      ...workAhead(runbook, phases, shares),
      pace: throughput,
      spread: spreadOf(pace, phases, now),
      rehearsed: rehearsed.get(line.runbookName.toLowerCase()) ?? null,
      windowAt: hasWindows(engine, runbook)
        ? (at) => windowStateOf(engine, runbook, line, at)
        : null,
      misses,
      now,
    })
    found.set(line.id, { throughput, forecast })
  }
  return found
}

const workersOf = ({ phases }: Runbook): string[] =>
  phases.flatMap(({ steps }) => steps.map(({ workerId }) => workerId))

/** What the runbook says about the phases that have not ended. */
function workAhead(
  runbook: Runbook,
  phases: readonly Phase[],
  shares: ReadonlyMap<string, number | null>,
) {
  const byName = new Map(runbook.phases.map((phase) => [phase.name.toLowerCase(), phase]))
  const definitionOf = (phaseName: string) => byName.get(phaseName.toLowerCase())
  const workerIdsOf = (phaseName: string) =>
    (definitionOf(phaseName)?.steps ?? []).map(({ workerId }) => workerId)
  const ahead = phases.filter(({ status }) => status === 'pending' || status === 'dispatched')
  return {
    stepsPerMember: (phaseName: string): number => definitionOf(phaseName)?.steps.length ?? 0,
    soakMs: (phaseName: string): number => {
      const ramp = definitionOf(phaseName)?.ramp
      return ramp ? (ramp.percents.length - 1) * ramp.soakSec * 1_000 : 0
    },
    slots: (phaseName: string): number | null => {
      const known = workerIdsOf(phaseName).flatMap((id) => shares.get(id) ?? [])
      return known.length === 0 ? null : Math.min(...known)
    },
    workerIds: new Set(ahead.flatMap(({ name }) => workerIdsOf(name))),
  }
}
