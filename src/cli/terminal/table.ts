// Tables that fit the terminal. If they are too wide, long cells are cut, but the last column wraps; then spare columns are omitted
// and named; then each row becomes a block with a line per column. Ids, numbers and times are never cut: half an id is another id.
// Without a terminal nothing is cut.
import type { Io, Style } from './io.ts'
import { cutTo, padBefore, padTo, textWidth, wrapped } from './text-width.ts'

export interface TableColumn {
  readonly title: string
  readonly cells: readonly string[]
  readonly isNumber: boolean
  /** Never cut. */
  readonly isWhole: boolean
  /** Omitted first if the table is too wide. */
  readonly isSpare: boolean
}

export interface Table {
  readonly text: string
  /** Titles of filled columns that are not shown. */
  readonly omitted: readonly string[]
}

interface Layout {
  readonly columns: readonly TableColumn[]
  readonly widths: readonly number[]
}

const GAP = 2
/** Enough to tell texts apart, and the minimum worth showing. */
const CELL_WIDTH_GOOD = 16
const CELL_WIDTH_MIN = 8
/** The last column has errors and reasons. */
const LAST_WIDTH_GOOD = 32
const LAST_LINES_MAX = 4

export function tableOf(columns: readonly TableColumn[], io: Pick<Io, 'width' | 'paint'>): Table {
  const { width, paint } = io
  const natural = { columns, widths: columns.map(naturalWidth) }
  if (width === null || widthOf(natural.widths) <= width) {
    return { text: linesOf(natural, paint).join('\n'), omitted: [] }
  }
  const filled = columns.filter(({ cells }) => cells.some((cell) => cell !== ''))
  const layout = layoutFor(filled, width)
  if (!layout) return { text: blocksOf(filled, io), omitted: [] }
  const omitted = filled.filter((column) => !layout.columns.includes(column))
  return { text: linesOf(layout, paint).join('\n'), omitted: omitted.map(({ title }) => title) }
}

const naturalWidth = ({ title, cells }: TableColumn): number =>
  cells.reduce((widest, cell) => Math.max(widest, textWidth(cell)), textWidth(title))

const widthOf = (widths: readonly number[]): number =>
  widths.reduce((sum, one) => sum + one, GAP * (widths.length - 1))

/** Null if nothing fits. */
function layoutFor(filled: readonly TableColumn[], width: number): Layout | null {
  for (let columns = filled; ; ) {
    const widths = fitted(columns, width, CELL_WIDTH_GOOD, LAST_WIDTH_GOOD)
    if (widths) return { columns, widths }
    const spare = columns.findLastIndex(({ isSpare }) => isSpare)
    if (spare < 0) {
      const tight = fitted(columns, width, CELL_WIDTH_MIN, CELL_WIDTH_GOOD)
      return tight && { columns, widths: tight }
    }
    columns = columns.toSpliced(spare, 1)
  }
}

/** Shrinks the widest columns, down to `minimum`, the last one to `lastMinimum`; null if that is not enough. */
function fitted(
  columns: readonly TableColumn[],
  width: number,
  minimum: number,
  lastMinimum: number,
): number[] | null {
  const natural = columns.map(naturalWidth)
  const floors = natural.map((one, at) => {
    if (columns[at]!.isWhole) return one
    return Math.min(one, at === columns.length - 1 ? lastMinimum : minimum)
  })
  if (widthOf(floors) > width) return null
  const widths = natural.map((one, at) => (columns[at]!.isWhole ? one : Math.min(one, width)))
  for (let over = widthOf(widths) - width; over > 0; over -= 1) {
    const shrinkable = widths.map((one, at) => (one > floors[at]! ? one : 0))
    const widest = shrinkable.indexOf(Math.max(...shrinkable))
    widths[widest] = widths[widest]! - 1
  }
  return widths
}

function linesOf({ columns, widths }: Layout, paint: Io['paint']): string[] {
  const last = columns.length - 1
  const padded = (text: string, at: number) => {
    const cut = cutTo(text, widths[at]!)
    if (columns[at]!.isNumber) return padBefore(cut, widths[at]!)
    return at === last ? cut : padTo(cut, widths[at]!)
  }
  const line = (parts: readonly string[]) => parts.join(' '.repeat(GAP)).trimEnd()
  const blanks = columns.map((_, at) => ' '.repeat(widths[at]!)).slice(0, -1)
  const rowLines = (row: number): string[] => {
    const cells = columns.map((column) => column.cells[row]!)
    const [first, ...more] = lastLines(cells[last] ?? '', widths[last] ?? 0)
    const shown = [...cells.slice(0, -1), first!]
    return [
      line(shown.map((cell, at) => painted(cell, padded(cell, at), paint))),
      ...more.map((rest) => line([...blanks, rest])),
    ]
  }
  const count = columns[0]?.cells.length ?? 0
  return [
    line(columns.map(({ title }, at) => paint('bold', padded(title, at)))),
    ...Array.from({ length: count }, (_, row) => rowLines(row)).flat(),
  ]
}

/** A sentence wrapped to at most LAST_LINES_MAX lines. */
function lastLines(text: string, width: number): string[] {
  const lines = wrapped(text, width)
  if (lines.length <= LAST_LINES_MAX) return lines.map((one) => cutTo(one, width))
  const [kept, rest] = [lines.slice(0, LAST_LINES_MAX - 1), lines.slice(LAST_LINES_MAX - 1)]
  return [...kept, rest.join(' ')].map((one) => cutTo(one, width))
}

function blocksOf(columns: readonly TableColumn[], io: Pick<Io, 'width' | 'paint'>): string {
  const count = columns[0]?.cells.length ?? 0
  const blocks = Array.from({ length: count }, (_, row) =>
    fieldsText(
      columns.map(({ title, cells }) => [title, cells[row]!] as const),
      io,
    ),
  )
  return blocks.join('\n\n')
}

const WRAPPED_WIDTH_MIN = 20

/** A line per field with a value; long values wrap. */
export function fieldsText(
  fields: readonly (readonly [title: string, text: string])[],
  { width, paint }: Pick<Io, 'width' | 'paint'>,
): string {
  const filled = fields.filter(([, text]) => text !== '')
  const indent = filled.reduce((widest, [title]) => Math.max(widest, textWidth(title)), 0) + GAP
  const valueWidth = width === null ? Number.POSITIVE_INFINITY : width - indent
  return filled
    .map(([title, text]) => {
      const lines = valueWidth < WRAPPED_WIDTH_MIN ? [text] : wrapped(text, valueWidth)
      const value = painted(text, lines.join(`\n${' '.repeat(indent)}`), paint)
      return `${paint('bold', padTo(title, indent - GAP))}${' '.repeat(GAP)}${value}`
    })
    .join('\n')
}

const STYLES: Readonly<Record<string, Style>> = {
  failed: 'red',
  'timed out': 'red',
  broken: 'red',
  held: 'yellow',
  polling: 'yellow',
  cancelled: 'yellow',
  warning: 'yellow',
  completed: 'green',
  succeeded: 'green',
  ok: 'green',
}

const painted = (cell: string, shown: string, paint: Io['paint']): string => {
  const style = STYLES[cell]
  return style ? paint(style, shown) : shown
}

/** Columns padded to the widest cell; the first row may be the header. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, textWidth(row[column] ?? '')), 0),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => padTo(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
