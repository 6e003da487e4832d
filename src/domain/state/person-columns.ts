// Who a person is, for lists that people read: the name and the department in their row of the data source, as directories call them.
import type { Json } from '../../base/text/json.ts'

export interface PersonColumns {
  readonly name: string | null
  readonly department: string | null
}

const NAME = ['displayname', 'fullname', 'name']
const PARTS = [
  ['givenname', 'firstname'],
  ['surname', 'lastname', 'sn'],
]
const DEPARTMENT = ['department', 'dept']

/** Columns are found whatever their case, spaces, hyphens and underscores. */
export function personColumns(data: Readonly<Record<string, Json>>): PersonColumns {
  const values = new Map(
    Object.entries(data).map(([column, value]) => [
      column.toLowerCase().replaceAll(/[\s_-]/g, ''),
      typeof value === 'string' ? value.trim() : '',
    ]),
  )
  const first = (columns: readonly string[]): string | null =>
    columns.map((column) => values.get(column)).find(Boolean) ?? null
  const parts = PARTS.map(first).filter((part) => part !== null)
  return {
    name: first(NAME) ?? (parts.length > 0 ? parts.join(' ') : null),
    department: first(DEPARTMENT),
  }
}
