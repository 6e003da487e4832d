// How answers are shown: as a table that fits the terminal, as the API's own JSON, as YAML, or as CSV with the table's columns in
// full. Whatever came from elsewhere is made printable; nothing is cut unless a person looks at it.
import { csvLine } from '../csv.ts'
import type { Json } from '../domain/json.ts'
import { type Io, printable, type Style } from './io.ts'

export const FORMATS = ['table', 'json', 'yaml', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export type Row = Readonly<Record<string, Json>>
/** A heading, and where its value stands in a row: a path such as `members.failed`, or how to make it. */
export type Column = readonly [title: string, value: string | ((row: Row) => Json | undefined)]

export interface Listing {
  /** The API's answer. */
  readonly whole: Json
  readonly rows: readonly Row[]
  readonly columns: readonly Column[]
  /** Said instead of an empty table. */
  readonly empty: string
}

export interface Show {
  readonly format: Format
  list(listing: Listing): Promise<void>
  /** One thing, a line for each field; fields without a value are left out of the table. */
  one(whole: Json, fields: readonly Column[]): Promise<void>
  /** A sentence for people: left out where a program reads. */
  say(text: string): void
}

export function makeShow(format: Format, io: Io): Show {
  const structured = async (whole: Json) => {
    if (format === 'json') return io.out(JSON.stringify(whole, null, 2))
    const { stringify } = await import('yaml')
    io.out(stringify(whole, { lineWidth: 0 }).trimEnd())
  }
  const isStructured = format === 'json' || format === 'yaml'
  return {
    format,
    list: async ({ whole, rows, columns, empty }) => {
      if (isStructured) await structured(whole)
      else if (format === 'csv') io.out(csvText(rows, columns))
      else if (rows.length === 0) io.out(empty)
      else io.out(listText(rows, columns, io))
    },
    one: async (whole, fields) => {
      if (isStructured) return structured(whole)
      if (format === 'csv') return io.out(csvText([whole as Row], fields))
      io.out(fieldsText(whole as Row, fields, io))
    },
    say: (text) => {
      if (format === 'table') io.out(text)
    },
  }
}

/** `1 batch`, `2 batches`. */
export const counted = (count: number, word: string, many = `${word}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? word : many}`

function valueAt(row: Row, value: Column[1]): Json {
  if (typeof value === 'function') return value(row) ?? null
  return value.split('.').reduce<Json>((at, name) => {
    const isMap = typeof at === 'object' && at !== null && !Array.isArray(at)
    return isMap && Object.hasOwn(at, name) ? at[name]! : null
  }, row as Json)
}

/** Milliseconds are for programs. */
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z$/

function textOf(value: Json): string {
  if (value === null) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value)
}

const shown = (value: Json): string =>
  printable(textOf(value).replace(TIME, '$1 $2Z')).replaceAll(/\s+/g, ' ')

function csvText(rows: readonly Row[], columns: readonly Column[]): string {
  const lines = rows.map((row) => columns.map(([, value]) => textOf(valueAt(row, value))))
  return [columns.map(([title]) => title), ...lines].map(csvLine).join('').trimEnd()
}

const GAP = 2
const WIDTH_MIN = 8

function listText(rows: readonly Row[], columns: readonly Column[], io: Io): string {
  const values = rows.map((row) => columns.map(([, value]) => valueAt(row, value)))
  const cells = values.map((row) => row.map(shown))
  const titles = columns.map(([title]) => title)
  const widths = fitted(
    titles.map((title, at) =>
      cells.reduce((widest, row) => Math.max(widest, row[at]!.length), title.length),
    ),
    io.width,
  )
  const isNumber = titles.map((_, at) =>
    values.every((row) => row[at] === null || typeof row[at] === 'number'),
  )
  const line = (row: readonly string[], paint: (cell: string, padded: string) => string) =>
    row
      .map((cell, at) => {
        const cut = cutTo(cell, widths[at]!)
        const isLast = at === row.length - 1
        const padded = isNumber[at]
          ? cut.padStart(widths[at]!)
          : isLast
            ? cut
            : cut.padEnd(widths[at]!)
        return paint(cell, padded)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return [
    line(titles, (_, padded) => io.paint('bold', padded)),
    ...cells.map((row) => line(row, (cell, padded) => painted(cell, padded, io))),
  ].join('\n')
}

const cutTo = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/** The widest columns give way until the table fits, or none can. */
function fitted(natural: readonly number[], width: number | null): number[] {
  const widths = [...natural]
  if (width === null) return widths
  const room = width - GAP * (widths.length - 1)
  for (let over = widths.reduce((sum, one) => sum + one, 0) - room; over > 0; over -= 1) {
    const widest = Math.max(...widths)
    if (widest <= WIDTH_MIN) break
    widths[widths.indexOf(widest)] = widest - 1
  }
  return widths
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

const painted = (cell: string, padded: string, io: Io): string => {
  const style = STYLES[cell]
  return style ? io.paint(style, padded) : padded
}

function fieldsText(whole: Row, fields: readonly Column[], io: Io): string {
  const lines = fields
    .map(([title, value]) => [title, shown(valueAt(whole, value))] as const)
    .filter(([, text]) => text !== '')
  const widest = lines.reduce((width, [title]) => Math.max(width, title.length), 0)
  return lines
    .map(([title, text]) => `${io.paint('bold', title.padEnd(widest))}  ${painted(text, text, io)}`)
    .join('\n')
}
