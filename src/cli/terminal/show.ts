// Shows answers as a table that fits the terminal, as the API's JSON, as YAML, or as CSV with the table's columns. Foreign text is
// made printable. Only tables on a terminal are cut, and a note on stderr says so.
import { printable } from '../../base/text/printable.ts'
import { type Io, inViewersZone, type Style, safeFor, withoutLineEnd } from './io.ts'
import { fieldsText, type TableColumn, tableOf } from './table.ts'
import { wrapped } from './text-width.ts'

export const OUTPUT_FORMATS = ['table', 'json', 'yaml', 'csv'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

type FieldOf<T> = T extends readonly unknown[] ? never : T extends object ? keyof T & string : never
/** A field of the row, or a field of a field such as `members.failed`. */
type Path<R> =
  | (keyof R & string)
  | { [K in keyof R & string]-?: `${K}.${FieldOf<NonNullable<R[K]>>}` }[keyof R & string]
export type ColumnValue<R> = Path<R> | ((row: R) => unknown)

/** What CSV has, and how a table says it. */
interface Worded<R> {
  readonly value: ColumnValue<R>
  readonly say: (value: unknown, row: R) => unknown
}

/**
 * A heading and its value, typed by the row: a field that is renamed is an error of the compiler. On a narrow terminal `spare` columns are
 * omitted first, and `whole` columns are never cut.
 */
export type Column<R> = readonly [
  title: string,
  value: ColumnValue<R> | Worded<R>,
  room?: 'spare' | 'whole',
]

export interface Listing<R> {
  /** The API's answer. */
  readonly whole: unknown
  readonly rows: readonly R[]
  readonly columns: readonly Column<NoInfer<R>>[]
  /** Printed instead of an empty table. */
  readonly empty: string
}

export interface Show {
  readonly format: OutputFormat
  list<R>(listing: Listing<R>): Promise<void>
  /** One record, a line per field. A table omits fields without a value. */
  one<R>(whole: R, fields: readonly Column<NoInfer<R>>[]): Promise<void>
  /** One record of a stream: a JSON line, a YAML document or a CSV record. */
  entry<R>(whole: R, fields: readonly Column<NoInfer<R>>[]): Promise<void>
  /** A sentence for people; printed with tables only. */
  say(text: string, style?: Style): void
}

export function makeShow(format: OutputFormat, io: Io): Show {
  const out = (text: string) => io.out(safeFor(io, text))
  const structured = async (whole: unknown) => {
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
      if (format === 'csv') return out(await csvText([whole], fields))
      io.out(recordText(whole, fields, io))
    },
    entry: async (whole, fields) => {
      entries += 1
      if (format === 'json') out(JSON.stringify(whole))
      else if (format === 'yaml') out(`---\n${await yamlText(whole)}`)
      else if (format === 'csv') out(await csvText([whole], fields, entries === 1))
      else io.out(recordText(whole, fields, io))
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
export async function showSection<R>(
  show: Show,
  title: string,
  rows: readonly R[],
  columns: readonly Column<NoInfer<R>>[],
): Promise<void> {
  if (rows.length === 0) return
  show.say(`\n${title}`)
  await show.list({ whole: null, rows, columns, empty: '' })
}

/** The columns of a list as the fields of one record. */
export const fieldsFrom = <R>(columns: readonly Column<R>[]): Column<R>[] =>
  columns.map(([title, value]) => [title.toLowerCase(), value])

/** The last field of every action that can be tried first. */
export const DRY_RUN_FIELD: Column<{ readonly isDryRun: boolean }> = [
  'dry run',
  ({ isDryRun }) => (isDryRun ? 'yes, nothing was changed' : null),
]

function valueFor<R>(format: 'csv' | 'table', row: R, value: Column<R>[1]): unknown {
  if (typeof value !== 'object') return valueAt(row, value)
  const found = valueAt(row, value.value)
  return format === 'table' ? value.say(found, row) : found
}

function valueAt<R>(row: R, value: ColumnValue<R>): unknown {
  if (typeof value === 'function') return value(row) ?? null
  return value.split('.').reduce<unknown>((at, name) => {
    const isMap = typeof at === 'object' && at !== null && !Array.isArray(at)
    return isMap && Object.hasOwn(at, name) ? Reflect.get(at, name) : null
  }, row)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value)
}

const shown = (value: unknown, io: Io): string =>
  printable(inViewersZone(io, textOf(value))).replaceAll(/\s+/g, ' ')

async function yamlText(whole: unknown): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(whole, { lineWidth: 0 }).trimEnd()
}

async function csvText<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  hasHeader = true,
): Promise<string> {
  const { csvLine } = await import('../../base/files/csv.ts')
  const header = hasHeader ? [columns.map(([title]) => title)] : []
  const lines = rows.map((row) => columns.map(([, value]) => textOf(valueFor('csv', row, value))))
  return withoutLineEnd([...header, ...lines].map(csvLine).join(''))
}

function showTable<R>(rows: readonly R[], columns: readonly Column<R>[], io: Io): void {
  const { text, omitted } = tableOf(
    columns.map((column) => tableColumn(rows, column, io)),
    io,
  )
  io.out(text)
  if (omitted.length === 0) return
  io.err(`Omitted columns: ${omitted.join(', ')}. Use a wider window or --output json.`)
}

function tableColumn<R>(rows: readonly R[], [title, value, room]: Column<R>, io: Io): TableColumn {
  const values = rows.map((row) => valueFor('table', row, value))
  const isAll = (test: (value: unknown) => boolean) =>
    values.every((each) => each === null || each === undefined || test(each))
  const isNumber = isAll((each) => typeof each === 'number')
  const isTime = isAll((each) => typeof each === 'string' && TIME.test(each))
  const isWhole = isNumber || isTime || room === 'whole'
  const cells = values.map((each) => shown(each, io))
  return { title, cells, isNumber, isWhole, isSpare: room === 'spare' }
}

const recordText = <R>(whole: R, fields: readonly Column<R>[], io: Io): string =>
  fieldsText(
    fields.map(([title, value]) => [title, shown(valueFor('table', whole, value), io)] as const),
    io,
  )
