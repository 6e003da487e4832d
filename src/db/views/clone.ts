// The members of a batch with their data, as a batch that is made after it takes them over.
import type { Json } from '../../domain/json.ts'
import type { Queryable } from '../db.ts'

export interface Cloned {
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
}

/** In the order in which they joined. */
export function listCloned(
  db: Queryable,
  batchId: number,
  statuses: readonly string[],
): Promise<Cloned[]> {
  return db.query<Cloned>(
    `select member_key as key, data_json as data from batch_members
      where batch_id = $1 and status = any($2::text[]) order by id`,
    [batchId, [...statuses]],
  )
}
