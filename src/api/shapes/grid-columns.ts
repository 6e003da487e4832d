// The columns of a batch's grid: the steps of its phases, in the order of time.

import type { GridColumn } from '../../domain/needs/grid.ts'
import { phaseNamed } from '../../domain/runbook/steps.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import type { BatchState } from './batch-state.ts'

/** The steps of each phase in the version that it runs. */
export async function gridColumns(
  engine: Engine,
  { line, phases }: Pick<BatchState, 'line' | 'phases'>,
): Promise<GridColumn[]> {
  const columns: GridColumn[] = []
  for (const { name, status, runbookVersion } of phases) {
    if (status === 'superseded') continue
    const runbook = await engine.runbooks.get(engine.db, line.runbookName, runbookVersion)
    const phase = phaseNamed(runbook, name)
    for (const step of phase?.steps ?? []) columns.push({ phaseName: name, stepName: step.name })
  }
  return columns
}
