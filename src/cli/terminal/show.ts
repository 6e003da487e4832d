// Shows answers as a table that fits the terminal, as the API's JSON, as YAML, or as CSV with the table's columns. Foreign text is
// made printable. Only tables on a terminal are cut, and a note on stderr says so.
import type { Json } from '../../base/text/json.ts'
import { printable } from '../../base/text/printable.ts'
import { type Io, inViewersZone, type Style, safeFor, withoutLineEnd } from './io.ts'
import { fieldsText, type TableColumn, tableOf } from './table.ts'
import { wrapped } from './text-width.ts'

export const OUTPUT_FORMATS = ['table', 'json', 'yaml', 'csv'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

export type Row = Readonly<Record<string, Json>>
/** A path in the row such as `members.failed`, or a function. */
export type ColumnValue = string | ((row: Row) => Json | undefined)

/** What CSV has, and how a table says it. */
interface Worded {
  readonly value: ColumnValue
  readonly say: (value: Json, row: Row) => Json
}

/** A heading and its value. On a narrow terminal `spare` columns are omitted first, and `whole` columns are never cut. */
export type Column = readonly [title: string, value: ColumnValue | Worded, room?: 'spare' | 'whole']

export interface Listing {
  /** The API's answer. */
  readonly whole: Json
  readonly rows: readonly Row[]
  readonly columns: readonly Column[]
  /** Printed instead of an empty table. */
  readonly empty: string
}

export interface Show {
  readonly format: OutputFormat
  list(listing: Listing): Promise<void>
  /** One record, a line per field. A table omits fields without a value. */
  one(whole: Json, fields: readonly Column[]): Promise<void>
  /** One record of a stream: a JSON line, a YAML document or a CSV record. */
  entry(whole: Json, fields: readonly Column[]): Promise<void>
  /** A sentence for people; printed with tables only. */
  say(text: string, style?: Style): void
}

export function makeShow(format: OutputFormat, io: Io): Show {
  const out = (text: string) => io.out(safeFor(io, text))
  const structured = async (whole: Json) => {
    if (format === 'json') return out(JSON.stringify(whole, null, 2))
    out(await yamlText(whole))
  }
  const isStructured = format === 'json' || format === 'yaml'
  let entries = 0
  return {
    format,
    list: async ({ whole, rows, columns, empty }) => {
      if (isStructured) await structured(whole)
      else if (format === 'csv') out(await csvText(rows, columns))
      else if (rows.length === 0) io.out(wrappedFor(io, empty))
      else showTable(rows, columns, io)
    },
    one: async (whole, fields) => {
      if (isStructured) return structured(whole)
      if (format === 'csv') return out(await csvText([whole as Row], fields))
      io.out(recordText(whole as Row, fields, io))
    },
    entry: async (whole, fields) => {
      entries += 1
      if (format === 'json') out(JSON.stringify(whole))
      else if (format === 'yaml') out(`---\n${await yamlText(whole)}`)
      else if (format === 'csv') out(await csvText([whole as Row], fields, entries === 1))
      else io.out(recordText(whole as Row, fields, io))
    },
    say: (text, style) => {
      if (format !== 'table') return
      const said = wrappedFor(io, inViewersZone(io, text))
      io.out(style ? io.paint(style, said) : said)
    },
  }
}

const wrappedFor = ({ width }: Io, text: string): string =>
  width
    ? text
        .split('\n')
        .flatMap((line) => wrapped(line, width))
        .join('\n')
    : text

/** A table under a title; prints nothing without rows. */
export async function showSection(
  show: Show,
  title: string,
  rows: readonly Row[],
  columns: readonly Column[],
): Promise<void> {
  if (rows.length === 0) return
  show.say(`\n${title}`)
  await show.list({ whole: null, rows, columns, empty: '' })
}

/** The last field of every action that can be tried first. */
export const DRY_RUN_FIELD: Column = [
  'dry run',
  ({ isDryRun }) => (isDryRun ? 'yes, nothing was changed' : null),
]

/** The rows under a name of an answer. */
export const rowsIn = (body: Row, name: string): Row[] => (body[name] ?? []) as unknown as Row[]

function valueFor(format: 'csv' | 'table', row: Row, value: Column[1]): Json {
  if (typeof value !== 'object') return valueAt(row, value)
  const found = valueAt(row, value.value)
  return format === 'table' ? value.say(found, row) : found
}

function valueAt(row: Row, value: ColumnValue): Json {
  if (typeof value === 'function') return value(row) ?? null
  return value.split('.').reduce<Json>((at, name) => {
    const isMap = typeof at === 'object' && at !== null && !Array.isArray(at)
    return isMap && Object.hasOwn(at, name) ? at[name]! : null
  }, row as Json)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function textOf(value: Json): string {
  if (value === null) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value)
}

const shown = (value: Json, io: Io): string =>
  printable(inViewersZone(io, textOf(value))).replaceAll(/\s+/g, ' ')

async function yamlText(whole: Json): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(whole, { lineWidth: 0 }).trimEnd()
}

async function csvText(
  rows: readonly Row[],
  columns: readonly Column[],
  hasHeader = true,
): Promise<string> {
  const { csvLine } = await import('../../base/files/csv.ts')
  const header = hasHeader ? [columns.map(([title]) => title)] : []
  const lines = rows.map((row) => columns.map(([, value]) => textOf(valueFor('csv', row, value))))
  return withoutLineEnd([...header, ...lines].map(csvLine).join(''))
}

function showTable(rows: readonly Row[], columns: readonly Column[], io: Io): void {
  const { text, omitted } = tableOf(
    columns.map((column) => tableColumn(rows, column, io)),
    io,
  )
  io.out(text)
  if (omitted.length === 0) return
  io.err(`Omitted columns: ${omitted.join(', ')}. Use a wider window or --output json.`)
}

function tableColumn(rows: readonly Row[], [title, value, room]: Column, io: Io): TableColumn {
  const values = rows.map((row) => valueFor('table', row, value))
  const isAll = (test: (value: Json) => boolean) =>
    values.every((each) => each === null || test(each))
  const isNumber = isAll((each) => typeof each === 'number')
  const isTime = isAll((each) => typeof each === 'string' && TIME.test(each))
  const isWhole = isNumber || isTime || room === 'whole'
  const cells = values.map((each) => shown(each, io))
  return { title, cells, isNumber, isWhole, isSpare: room === 'spare' }
}

const recordText = (whole: Row, fields: readonly Column[], io: Io): string =>
  fieldsText(
    fields.map(([title, value]) => [title, shown(valueFor('table', whole, value), io)] as const),
    io,
  )
