// A running batch as a rehearsal takes it: which batches can be rehearsed, the rows of its people, and which steps they have passed.

import type { Runbook } from '../runbook/model.ts'
import { stepsOf } from '../runbook/steps.ts'
import type { SourceRow } from '../sources/source-values.ts'
import { foldKey } from '../state/member-key.ts'
import { isPassed, type StepStatus } from '../state/transitions.ts'
import { CELL_OF, type GridColumn } from './grid.ts'

/** Each is read with all data. */
const LIVE_MEMBERS_MAX = 2_000

/** A member is null for init steps. */
export interface StepPlace {
  readonly memberKey: string | null
  readonly phaseName: string | null
  readonly stepName: string
}

/** What lies behind a batch, as data that goes from one process to another. */
export interface LivePast {
  readonly batchId: number
  /** Now: what happens before it does not count. */
  readonly at: string
  /** By `placeKey`. */
  readonly passed: readonly string[]
  /** By folded name. */
  readonly endedPhases: readonly string[]
  readonly isHeld: boolean
}

export interface LivePerson {
  readonly key: string
  readonly row: SourceRow
}

export interface LiveState {
  readonly status: string
  readonly isManual: boolean
  readonly hasStartTime: boolean
  readonly hasEnded: boolean
  readonly phases: readonly { readonly phaseName: string; readonly status: string }[]
}

/** Why a batch cannot be rehearsed; null if it can. */
export function unfitReason(batch: LiveState): string | null {
  if (batch.hasEnded) return `it is ${batch.status}`
  if (batch.isManual || !batch.hasStartTime) return 'its phases start by hand, at an unknown time'
  const skipped = batch.phases.find(({ status }) => status === 'skipped')
  return skipped ? `phase ${skipped.phaseName} was skipped` : null
}

/** Why its people cannot be rehearsed; null if they can. */
export function unfitCount(members: number): string | null {
  if (members === 0) return 'it has no active members'
  return members > LIVE_MEMBERS_MAX ? `it has more than ${LIVE_MEMBERS_MAX} members` : null
}

export const placeKey = ({ memberKey, phaseName, stepName }: StepPlace): string =>
  JSON.stringify([memberKey, phaseName, stepName].map((name) => name && foldKey(name)))

const PASSED_CELLS = new Set(
  Object.entries(CELL_OF)
    .filter(([status]) => isPassed(status as StepStatus))
    .map(([, letter]) => letter),
)

/** The steps that a row of the grid has passed, by `placeKey`. */
export const passedInRow = (
  columns: readonly GridColumn[],
  { memberKey, cells }: { readonly memberKey: string; readonly cells: string },
): string[] =>
  columns
    .filter((_, at) => PASSED_CELLS.has(cells[at]!))
    .map((column) => placeKey({ memberKey, ...column }))

/** The row of the source, with the variables that a person has set. Outputs of steps come from the rehearsal's own tenants. */
export function liveRowReader(
  runbook: Runbook,
  timeColumn: string,
  startTime: string,
): (data: SourceRow, outputs: SourceRow) => SourceRow {
  const steps = stepsOf(runbook, 'init', 'phase')
  const names = steps.flatMap(({ outputParams }) => Object.keys(outputParams).map(foldKey))
  const ofSteps = new Set(names)
  const column = foldKey(timeColumn)
  return (data, outputs) => {
    const byHand = Object.entries(outputs).filter(([name]) => !ofSteps.has(foldKey(name)))
    const values = [...Object.entries(data), ...byHand]
    const others = values.filter(([name]) => foldKey(name) !== column)
    return { ...Object.fromEntries(others), [timeColumn]: startTime }
  }
}

export const liveColumns = (people: readonly LivePerson[]): string[] => [
  ...new Set(people.flatMap(({ row }) => Object.keys(row))),
]
