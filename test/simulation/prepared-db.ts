// PGlite with every statement prepared the first time it comes. PGlite parses and plans a statement each time it is run, and on
// tables as small as the simulated world's that was two thirds of all time. The statements and their results are the same.
import type { Db, Queryable, Tx } from '../../src/db/db.ts'

export function preparedDb(db: Db): Db {
  const names = new Map<string, string>()
  const query = async <Row>(on: Queryable, sql: string, values?: readonly unknown[]) => {
    if (!isPreparable(sql)) return on.query<Row>(sql, values)
    const known = names.get(sql)
    const name = known ?? `p${names.size + 1}`
    names.set(sql, name)
    const given = values?.length ? `(${values.map(literal).join(', ')})` : ''
    // Given to the connection together: whoever gives several statements at once relies on their order.
    const prepared = known ? undefined : on.query(`prepare ${name} as ${sql}`)
    const rows = on.query<Row>(`execute ${name}${given}`)
    await prepared
    return rows
  }
  return {
    ...db,
    query: (sql, values) => query(db, sql, values),
    transaction: (work) =>
      db.transaction((tx) => {
        const prepared: Tx = { ...tx, query: (sql, values) => query(tx, sql, values) }
        return work(prepared)
      }),
  }
}

const isPreparable = (sql: string): boolean =>
  /^\s*(?:select|insert|update|delete|with)\b/i.test(sql)

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Date) return quoted(value.toISOString())
  if (Array.isArray(value)) return quoted(`{${value.map(element).join(',')}}`)
  return quoted(String(value))
}

function element(value: unknown): string {
  if (value === null) return 'null'
  const text = value instanceof Date ? value.toISOString() : String(value)
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
