// Rows as array parameters, one array per column, and back. One statement writes one row or ten thousand.
// The arrays are written here in PostgreSQL's notation: the next statement's parameters are ready while the database runs the last,
// and no driver guesses types (it would take a JSON array for a nested array). JSON travels as lines (`lineParam`) and is cast there.
import type { Json } from '../../base/text/json.ts'

type Cell = string | number | boolean | null

export function arrayParams<Row>(rows: Iterable<Row>, ...pick: ((row: Row) => Cell)[]): string[] {
  const all = Array.isArray(rows) ? (rows as readonly Row[]) : [...rows]
  return pick.map((one) => column(all, one))
}

/** Equal values in a row (a worker, a time, a sentence) are written once and repeated. */
function column<Row>(rows: readonly Row[], pick: (row: Row) => Cell): string {
  const parts: (string | number | boolean)[] = []
  let last: Cell | undefined
  let lastCell: string | number | boolean = ''
  let times = 0
  for (const row of rows) {
    const value = pick(row)
    if (value !== last) {
      if (times > 0) parts.push(repeated(lastCell, times))
      last = value
      lastCell = cell(value)
      times = 0
    }
    times += 1
  }
  if (times > 0) parts.push(repeated(lastCell, times))
  return `{${parts.join(',')}}`
}

const repeated = <T extends string | number | boolean>(text: T, times: number): T | string =>
  times === 1 ? text : `${`${text},`.repeat(times - 1)}${text}`

export const idsParam = (ids: readonly number[]): string => `{${ids.join(',')}}`

const SPECIAL = /["\\]/g

function cell(value: Cell): string | number | boolean {
  if (typeof value !== 'string') return value ?? 'null'
  const isPlain = !value.includes('"') && !value.includes('\\')
  return `"${isPlain ? value : value.replace(SPECIAL, '\\$&')}"`
}

let lastMs = Number.NaN
let lastText = ''

/** Most times of a transaction are equal, so the last text is kept. */
export function timeParam(at: Date | null): string | null {
  if (at === null) return null
  const ms = at.getTime()
  if (ms !== lastMs) {
    lastText = at.toISOString()
    lastMs = ms
  }
  return lastText
}

export const jsonText = (value: Json | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value)

/**
 * JSON texts as one parameter, for `string_to_array($n, E'\\n', '')`. JSON.stringify writes no line breaks, so nothing is escaped:
 * escaping and parsing took ten times as long. Null is the empty line.
 */
export const lineParam = <Row>(rows: readonly Row[], pick: (row: Row) => string | null): string =>
  rows.map(pick).join('\n')

type Shared = string | number | boolean | null | Date

const isSame = (a: Shared, b: Shared): boolean =>
  a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())

/**
 * What many rows share (a worker, a status, a time) travels once, as their kind: a time costs the server as much to parse as ten
 * numbers. Returns each row's kind, counted from 1, for `int[]`, then one array per pick, for `($n::text[])[kind]`. Only for few
 * distinct values: the server walks an array of texts to find one.
 */
export function kindParams<Row>(rows: Iterable<Row>, ...picks: ((row: Row) => Shared)[]): string[] {
  const found: Shared[][] = []
  const isOf = (row: Row, kind: Shared[]) => {
    for (let i = 0; i < picks.length; i += 1) if (!isSame(picks[i]!(row), kind[i]!)) return false
    return true
  }
  const numbers: number[] = []
  let last = 0
  for (const row of rows) {
    if (last === 0 || !isOf(row, found[last - 1]!)) {
      const known = found.findIndex((kind) => isOf(row, kind))
      last = known >= 0 ? known + 1 : found.push(picks.map((pick) => pick(row)))
    }
    numbers.push(last)
  }
  return [
    idsParam(numbers),
    ...arrayParams(
      found,
      ...picks.map((_, i) => (kind: Shared[]) => {
        const value = kind[i]!
        return value instanceof Date ? timeParam(value) : value
      }),
    ),
  ]
}

/** A table from arrays of equal length. Unnested in the select list, at half the cost of `from`, where the server stores each array first. */
export const unnestRows = (arrays: Readonly<Record<string, string>>): string =>
  `(select ${Object.entries(arrays)
    .map(([name, array]) => `unnest(${array}) as ${name}`)
    .join(', ')})`

// And back: a chunk's rows as one array per column. In the driver, a result row costs as much as ten numbers of an array.

/** Selects a column of non-null integers as one array; no rows give an empty one. */
export function integerArray(column: string, name: string, where?: string): string {
  const filter = where === undefined ? '' : ` filter (where ${where})`
  return `coalesce(array_agg((${column})::bigint)${filter}, '{}') as "${name}"`
}

export const epochMs = (column: string): string => `date_part('epoch', ${column}) * 1000`

const ZERO = '0'.charCodeAt(0)
const NINE = '9'.charCodeAt(0)
const MINUS = '-'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)

/** Parses `{1,22,-333}` digit by digit; splitting makes a text of every number first (62 → 19 ns). */
export function parseIntegers(text: string): number[] {
  if (text === '{}') return []
  const found = new Array<number>(countIn(text))
  let place = 0
  let size = 0
  let sign = 1
  for (let at = 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code >= ZERO && code <= NINE) size = size * 10 + (code - ZERO)
    else if (code === MINUS) sign = -1
    else {
      found[place] = sign * size
      place += 1
      size = 0
      sign = 1
    }
  }
  return found
}

/** A growing array leaves three times its size to the garbage collector. */
function countIn(text: string): number {
  let count = 1
  for (let at = 1; at < text.length; at += 1) if (text.charCodeAt(at) === COMMA) count += 1
  return count
}
