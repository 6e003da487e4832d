// Tells one database from another whose rows have the same numbers, for ids that leave it: the moment it was made.
import type { Queryable } from '../connection/db.ts'

export async function loadDatabaseMark(db: Queryable): Promise<string> {
  const [first] = await db.query<{ at: Date }>(
    'select applied_at as at from schema_migrations order by version limit 1',
  )
  return first?.at.toISOString() ?? ''
}
