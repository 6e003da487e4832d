// Rows into columns: one array a column, for `unnest`. One statement then writes one row or ten thousand.
// The arrays are written out here, in PostgreSQL's own notation: the parameters of the next statement are then ready while the
// database works on the last, and no driver has to guess what is in them (a JSON array would pass for a nested array).
// JSON goes as text and is cast in the statement; there it is the quotes that cost, so JSON texts travel as lines (`lines`).
import type { Json } from '../domain/json.ts'

type Cell = string | number | boolean | null

export function columns<Row>(rows: Iterable<Row>, ...pick: ((row: Row) => Cell)[]): string[] {
  const all = Array.isArray(rows) ? (rows as readonly Row[]) : [...rows]
  return pick.map((one) => column(all, one))
}

/** Many columns hold the same in row after row (a worker, a time, a sentence): it is written once and repeated. */
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

/** Ids, as one parameter. */
export const idsParam = (ids: readonly number[]): string => `{${ids.join(',')}}`

const SPECIAL = /["\\]/g

function cell(value: Cell): string | number | boolean {
  if (typeof value !== 'string') return value ?? 'null'
  const isPlain = !value.includes('"') && !value.includes('\\')
  return `"${isPlain ? value : value.replace(SPECIAL, '\\$&')}"`
}

let lastMs = Number.NaN
let lastText = ''

/** Most times of a transaction are its own: the one that was written last is not written anew. */
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
 * JSON texts as one parameter, for `string_to_array($n, E'\\n', '')`: JSON.stringify writes no line breaks, so nothing has to be
 * escaped and read back, which took ten times as long. Null is the empty line.
 */
export const lines = <Row>(rows: readonly Row[], pick: (row: Row) => string | null): string =>
  rows.map(pick).join('\n')

// And back: a chunk's rows as one array a column. A row of a result costs as much as ten numbers of an array, in the driver alone.

/** A column of whole numbers, none of them null; no rows give an empty array. `where`: of these rows only. */
export function numbers(column: string, name: string, where?: string): string {
  const some = where === undefined ? '' : ` filter (where ${where})`
  return `coalesce(array_agg((${column})::bigint)${some}, '{}') as "${name}"`
}

export const milliseconds = (column: string): string => `date_part('epoch', ${column}) * 1000`

const ZERO = '0'.charCodeAt(0)
const NINE = '9'.charCodeAt(0)
const MINUS = '-'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)

/** Such a column as the server writes it, `{1,22,-333}`: digit by digit, as splitting makes a text of every number first (62 → 19 ns). */
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

/** An array that grows number by number leaves three times its size to the garbage collector. */
function countIn(text: string): number {
  let count = 1
  for (let at = 1; at < text.length; at += 1) if (text.charCodeAt(at) === COMMA) count += 1
  return count
}
