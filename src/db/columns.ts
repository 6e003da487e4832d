// Rows into columns: one array a column, for `unnest`. One statement then writes one row or ten thousand.
// The arrays are written out here, in PostgreSQL's own notation: the parameters of the next statement are then ready while the
// database works on the last, and no driver has to guess what is in them (a JSON array would pass for a nested array).
// JSON goes as text and is cast in the statement.
import type { Json } from '../domain/json.ts'

type Cell = string | number | boolean | null

export function columns<Row>(rows: Iterable<Row>, ...pick: ((row: Row) => Cell)[]): string[] {
  const all = [...rows]
  return pick.map((one) => {
    let text = '{'
    for (const row of all) text += `${text.length > 1 ? ',' : ''}${cell(one(row))}`
    return `${text}}`
  })
}

/** Ids, as one parameter. */
export const idArray = (ids: readonly number[]): string => `{${ids.join(',')}}`

const PLAIN = /^[A-Za-z0-9_.:+-]+$/
const SPECIAL = /["\\]/g

function cell(value: Cell): string {
  if (value === null) return 'null'
  if (typeof value !== 'string') return String(value)
  // A word that reads like null would become one.
  if (PLAIN.test(value) && value.length !== 4) return value
  return `"${value.replace(SPECIAL, '\\$&')}"`
}

export const time = (at: Date | null): string | null => (at === null ? null : at.toISOString())
export const jsonText = (value: Json | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value)
