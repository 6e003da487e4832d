// Rows into columns: one array a column, for `unnest`. One statement then writes one row or ten thousand.
// JSON goes as text and is cast in the statement, because an array inside an array parameter would be taken for a nested array.
import type { Json } from '../domain/json.ts'

export function columns<Row>(
  rows: Iterable<Row>,
  ...pick: ((row: Row) => string | number | boolean | null)[]
): (string | number | boolean | null)[][] {
  const result: (string | number | boolean | null)[][] = pick.map(() => [])
  for (const row of rows) {
    for (let i = 0; i < pick.length; i++) result[i]!.push(pick[i]!(row))
  }
  return result
}

export const time = (at: Date | null): string | null => (at === null ? null : at.toISOString())
export const jsonText = (value: Json | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value)
