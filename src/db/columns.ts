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

/** Many columns hold the same in row after row (a worker, a time, a sentence): what was written last is not written anew. */
function column<Row>(rows: readonly Row[], pick: (row: Row) => Cell): string {
  let text = ''
  let last: Cell | undefined
  let lastText = ''
  for (const row of rows) {
    const value = pick(row)
    if (value !== last) {
      last = value
      lastText = `,${cell(value)}`
    }
    text += lastText
  }
  return `{${text.slice(1)}}`
}

/** Ids, as one parameter. */
export const idArray = (ids: readonly number[]): string => `{${ids.join(',')}}`

const SPECIAL = /["\\]/g

function cell(value: Cell): string | number | boolean {
  if (typeof value !== 'string') return value ?? 'null'
  const isPlain = !value.includes('"') && !value.includes('\\')
  return `"${isPlain ? value : value.replace(SPECIAL, '\\$&')}"`
}

let lastMs = Number.NaN
let lastText = ''

/** Most times of a transaction are its own: the one that was written last is not written anew. */
export function time(at: Date | null): string | null {
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
export function lines<Row>(rows: Iterable<Row>, pick: (row: Row) => string | null): string {
  let text = ''
  let isFirst = true
  for (const row of rows) {
    if (!isFirst) text += '\n'
    text += pick(row) ?? ''
    isFirst = false
  }
  return text
}

// And back: a chunk's rows as one array a column. A row of a result costs as much as ten numbers of an array, in the driver alone.

/** A column of whole numbers, none of them null; no rows give an empty array. */
export const numbers = (column: string, name: string): string =>
  `coalesce(array_agg((${column})::bigint), '{}') as "${name}"`

export const milliseconds = (column: string): string => `date_part('epoch', ${column}) * 1000`

const ZERO = '0'.charCodeAt(0)
const NINE = '9'.charCodeAt(0)
const MINUS = '-'.charCodeAt(0)

/** Such a column as the server writes it, `{1,22,-333}`: digit by digit, as splitting makes a text of every number first (62 → 19 ns). */
export function parseIntegers(text: string): number[] {
  const found: number[] = []
  if (text === '{}') return found
  let size = 0
  let sign = 1
  for (let at = 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code >= ZERO && code <= NINE) size = size * 10 + (code - ZERO)
    else if (code === MINUS) sign = -1
    else {
      found.push(sign * size)
      size = 0
      sign = 1
    }
  }
  return found
}
