// Members of a large order in chunks, a transaction each: as many as a chunk may have, and no more data than it may hold.
import { chunksOf } from '../../base/run/chunks.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { loadMemberBytes } from '../../db/state/facts.ts'

const MEMBERS_PER_CHUNK = 500
/** Fewer members hardly exceed a chunk: orders for one person ask nothing more. */
const MEMBERS_UNMEASURED = 5

export async function* memberChunks(
  db: Queryable,
  memberIds: readonly number[],
): AsyncGenerator<readonly number[]> {
  for (const ids of chunksOf(memberIds, MEMBERS_PER_CHUNK)) {
    if (ids.length <= MEMBERS_UNMEASURED) yield ids
    else {
      const bytes = await loadMemberBytes(db, ids)
      yield* chunksOf(ids, MEMBERS_PER_CHUNK, (id) => bytes.get(id) ?? 0)
    }
  }
}
