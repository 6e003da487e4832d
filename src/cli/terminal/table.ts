// Rows under headings, no wider than the terminal. Where there is too little room, long cells are cut, except in the last column,
// where sentences go on in the next line; then columns that can be spared are left out and named; and when even that does not help
// each row becomes a block with a line a column. Ids, numbers and times are never cut: half of one is another one. Without a
// terminal nothing is cut at all.
import type { Io, Style } from './io.ts'
import { cutTo, padBefore, padTo, textWidth, wrapped } from './text-width.ts'

export interface TableColumn {
  readonly title: string
  readonly cells: readonly string[]
  readonly isNumber: boolean
  /** Never cut. */
  readonly isWhole: boolean
  /** Left out where there is too little room. */
  readonly isSpare: boolean
}

export interface Table {
  readonly text: string
  /** The titles of columns that have something in them and are not shown. */
  readonly omitted: readonly string[]
}

interface Layout {
  readonly columns: readonly TableColumn[]
  readonly widths: readonly number[]
}

const GAP = 2
/** Enough to tell one text from another, and the least that is worth showing. */
const CELL_WIDTH_WANTED = 16
const CELL_WIDTH_MIN = 8
/** The last column is where errors and reasons stand. */
const LAST_WIDTH_WANTED = 32
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
  const left = filled.filter((column) => !layout.columns.includes(column))
  return { text: linesOf(layout, paint).join('\n'), omitted: left.map(({ title }) => title) }
}

const naturalWidth = ({ title, cells }: TableColumn): number =>
  cells.reduce((widest, cell) => Math.max(widest, textWidth(cell)), textWidth(title))

const widthOf = (widths: readonly number[]): number =>
  widths.reduce((sum, one) => sum + one, GAP * (widths.length - 1))

/** Null when nothing fits. */
function layoutFor(filled: readonly TableColumn[], width: number): Layout | null {
  for (let columns = filled; ; ) {
    const widths = fitted(columns, width, CELL_WIDTH_WANTED, LAST_WIDTH_WANTED)
    if (widths) return { columns, widths }
    const spare = columns.findLastIndex(({ isSpare }) => isSpare)
    if (spare < 0) {
      const tight = fitted(columns, width, CELL_WIDTH_MIN, CELL_WIDTH_WANTED)
      return tight && { columns, widths: tight }
    }
    columns = columns.toSpliced(spare, 1)
  }
}

/** The widest cells give way, down to `least`, those of the last column to `lastLeast`; null when that is not enough. */
function fitted(
  columns: readonly TableColumn[],
  width: number,
  least: number,
  lastLeast: number,
): number[] | null {
  const natural = columns.map(naturalWidth)
  const floors = natural.map((one, at) => {
    if (columns[at]!.isWhole) return one
    return Math.min(one, at === columns.length - 1 ? lastLeast : least)
  })
  if (widthOf(floors) > width) return null
  const widths = natural.map((one, at) => (columns[at]!.isWhole ? one : Math.min(one, width)))
  for (let over = widthOf(widths) - width; over > 0; over -= 1) {
    const room = widths.map((one, at) => (one > floors[at]! ? one : 0))
    const widest = room.indexOf(Math.max(...room))
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

/** A sentence on as many lines as it needs, within limits. */
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

/** A line for each field that has a value; long ones go on under their beginning. */
export function fieldsText(
  fields: readonly (readonly [title: string, text: string])[],
  { width, paint }: Pick<Io, 'width' | 'paint'>,
): string {
  const filled = fields.filter(([, text]) => text !== '')
  const indent = filled.reduce((widest, [title]) => Math.max(widest, textWidth(title)), 0) + GAP
  const room = width === null ? Number.POSITIVE_INFINITY : width - indent
  return filled
    .map(([title, text]) => {
      const lines = room < WRAPPED_WIDTH_MIN ? [text] : wrapped(text, room)
      const value = painted(text, lines.join(`\n${' '.repeat(indent)}`), paint)
      return `${paint('bold', padTo(title, indent - GAP))}${' '.repeat(GAP)}${value}`
    })
    .join('\n')
}

const STYLES: Readonly<Record<string, Style>> = {
  failed: 'red',
  poll_timeout: 'red',
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
