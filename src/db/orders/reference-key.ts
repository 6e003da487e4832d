// The key that signs references to people. Every API signs with the same one; a worker's database role cannot read it.
import type { Queryable } from '../connection/db.ts'

const KEY = 'reference_key'

/** The stored key; `made` if there was none. */
export async function loadReferenceKey(db: Queryable, made: Buffer, now: Date): Promise<Buffer> {
  await db.query(
    `insert into settings (key, value, updated_at, updated_by) values ($1, to_jsonb($2::text), $3, 'system')
     on conflict (key) do nothing`,
    [KEY, made.toString('base64'), now],
  )
  const [row] = await db.query<{ stored: string }>(
    `select value #>> '{}' as stored from settings where key = $1`,
    [KEY],
  )
  return Buffer.from(row!.stored, 'base64')
}
