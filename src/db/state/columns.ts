// Columns that decisions change, each named once as data: the select that loads a row and the guarded update that writes it are made from
// the same list. The compiler asks for a property that is missing; the tests next to each list compare it with the table.
import { timeParam } from '../connection/arrays.ts'

type SqlType = 'text' | 'int' | 'bigint' | 'bool' | 'timestamptz' | 'jsonb'
/** A column's name and type. */
export type TypedColumn = readonly [name: string, type: SqlType]

export interface ChangedColumn<Row> {
  readonly column: string
  readonly type: SqlType
  readonly pick: (row: Row) => string | number | boolean | null
}

/** By the property that holds each. */
export const changedColumns = <Row extends object>(
  columns: {
    readonly [Property in keyof Row]?: TypedColumn
  },
): ChangedColumn<Row>[] =>
  (Object.entries(columns) as [keyof Row, TypedColumn][]).map(([property, [column, type]]) => ({
    column,
    type,
    pick: (row) => asCell(row[property]),
  }))

function asCell(value: unknown): string | number | boolean | null {
  if (value instanceof Date) return timeParam(value)
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : (value as string | number | boolean | null)
}

/** Columns as their properties, for a select. */
export const selected = (columns: Readonly<Record<string, TypedColumn>>): string[] =>
  Object.entries(columns).map(([property, [column]]) => `${column} as "${property}"`)

/**
 * Writes the columns of rows that are as they were loaded. Parameters: ids, statuses as loaded, then each column's values. `more` sets
 * what follows from them: the row is `t`, its new values are `c`. JSON is parsed after the guard, row by row.
 */
export function updateOf<Row>(
  table: string,
  columns: readonly ChangedColumn<Row>[],
  more = '',
): string {
  const isJson = ({ type }: ChangedColumn<Row>) => type === 'jsonb'
  const sets = columns.map(
    (one) => `${one.column} = c.${one.column}${isJson(one) ? '::jsonb' : ''}`,
  )
  const arrays = columns.map((one, at) => `$${at + 3}::${isJson(one) ? 'text' : one.type}[]`)
  return `update ${table} t set ${sets.join(', ')}${more}
    from unnest($1::bigint[], $2::text[], ${arrays.join(', ')})
         as c (id, from_status, ${columns.map(({ column }) => column).join(', ')})
   where t.id = c.id and t.status = c.from_status`
}
