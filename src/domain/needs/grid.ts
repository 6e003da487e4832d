// The grid of a batch: members down, steps across, one letter a cell. 200 members of 10 steps fit into 2 KB, and so a screen can
// scroll through 100,000 members. Zoomed out, a row stands for many members and a cell counts them by class.
import type { StepStatus } from '../state/transitions.ts'

export interface GridColumn {
  readonly phaseName: string
  readonly stepName: string
}

/** `.` is a step that has not been written yet. */
export const CELL_OF: Readonly<Record<StepStatus, string>> = {
  pending: 'w',
  dispatched: 'd',
  polling: 'p',
  succeeded: 's',
  skipped: 'k',
  failed: 'f',
  poll_timeout: 't',
  rolled_back: 'r',
  undone: 'u',
  cancelled: 'c',
}
const NOT_WRITTEN = '.'

/** What the counts of an overview cell stand for, in this order. */
export const CELL_CLASSES = ['waiting', 'running', 'passed', 'failed', 'undone'] as const

const CLASS_OF: Readonly<Record<StepStatus, number>> = {
  pending: 0,
  dispatched: 1,
  polling: 1,
  succeeded: 2,
  skipped: 2,
  failed: 3,
  poll_timeout: 3,
  rolled_back: 4,
  undone: 4,
  cancelled: 4,
}

/** How a member stands in a phase: every step passed, one failed or undone, or something to come. */
export type PhaseMark = 'passed' | 'failed' | 'open'

const CLASS_OF_CELL: ReadonlyMap<string, number> = new Map(
  Object.entries(CELL_OF).map(([status, letter]) => [letter, CLASS_OF[status as StepStatus]]),
)

/** By phase name. */
export function phaseMarks(columns: readonly GridColumn[], cells: string): Map<string, PhaseMark> {
  const places = columns.map(({ phaseName }, at) => ({
    phaseName,
    is: CELL_CLASSES[CLASS_OF_CELL.get(cells[at] ?? NOT_WRITTEN) ?? 0]!,
  }))
  const byPhase = Map.groupBy(places, ({ phaseName }) => phaseName)
  return new Map(
    [...byPhase].map(([phaseName, all]) => {
      if (all.some(({ is }) => is === 'failed' || is === 'undone')) return [phaseName, 'failed']
      return [phaseName, all.every(({ is }) => is === 'passed') ? 'passed' : 'open']
    }),
  )
}

interface StepPlace {
  readonly phaseName: string
  readonly stepName: string
  readonly status: StepStatus
}

/** The column of a step by its names, which are compared without case; undefined for a step that no current version has. */
function columnFinder(columns: readonly GridColumn[]): (place: GridColumn) => number | undefined {
  const key = ({ phaseName, stepName }: GridColumn) => `${phaseName}/${stepName}`.toLowerCase()
  const places = new Map(columns.map((column, at) => [key(column), at]))
  return (place) => places.get(key(place))
}

export interface GridStep extends StepPlace {
  readonly memberId: number
}

/** The cells of each member, by id. Steps come oldest first: a newer one of the same place wins. */
export function packCells(
  columns: readonly GridColumn[],
  memberIds: readonly number[],
  steps: readonly GridStep[],
): ReadonlyMap<number, string> {
  const columnOf = columnFinder(columns)
  const rows = new Map(memberIds.map((id) => [id, columns.map(() => NOT_WRITTEN)]))
  for (const step of steps) {
    const at = columnOf(step)
    const row = rows.get(step.memberId)
    if (at !== undefined && row) row[at] = CELL_OF[step.status]
  }
  return new Map([...rows].map(([id, cells]) => [id, cells.join('')]))
}

export interface GridCount extends StepPlace {
  readonly bucket: number
  readonly count: number
}

/** One row of cells a bucket; each cell counts its members by class. */
export function packOverview(
  columns: readonly GridColumn[],
  buckets: number,
  counts: readonly GridCount[],
): number[][][] {
  const columnOf = columnFinder(columns)
  const rows = Array.from({ length: buckets }, () => columns.map(() => CELL_CLASSES.map(() => 0)))
  for (const { bucket, count, ...step } of counts) {
    const at = columnOf(step)
    const cell = at === undefined ? undefined : rows[bucket]?.[at]
    if (cell) cell[CLASS_OF[step.status]]! += count
  }
  return rows
}
