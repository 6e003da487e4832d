// A chunk of rows on its way into a statement. What many of them share (a worker, a status, a time) travels once, as their kind: a
// time costs the server as much to read as ten numbers do. And the arrays are taken apart in the list of a select, where that
// costs half of what it does in `from`: there the server writes each of them down as a table first.
import { columns, idsParam, timeParam } from './columns.ts'

type Shared = string | number | boolean | null | Date

const isSame = (a: Shared, b: Shared): boolean =>
  a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())

/**
 * First the kind of each row, counted from 1, for `int[]`; then a column a pick with the value of each kind, to be asked for as
 * `($n::text[])[kind]`. Only for what has few values in a chunk: the server counts its way to a text of an array.
 */
export function kinds<Row>(rows: Iterable<Row>, ...picks: ((row: Row) => Shared)[]): string[] {
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
    ...columns(
      found,
      ...picks.map((_, i) => (kind: Shared[]) => {
        const value = kind[i]!
        return value instanceof Date ? timeParam(value) : value
      }),
    ),
  ]
}

/** A table of these arrays, a column each; they are equally long. */
export const rowsOf = (arrays: Readonly<Record<string, string>>): string =>
  `(select ${Object.entries(arrays)
    .map(([name, array]) => `unnest(${array}) as ${name}`)
    .join(', ')})`
