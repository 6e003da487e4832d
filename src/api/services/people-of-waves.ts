// People over all waves, page by page: who stands where, and who has still to be cut over.
import type { Queryable } from '../../db/connection/db.ts'
import { listBatches } from '../../db/views/batches.ts'
import { listPeople, type PeopleFilter, type WavePerson } from '../../db/views/people.ts'
import { withStates } from '../../db/views/person-states.ts'

const WAVES_AT_ONCE = 100

/** After one of them, at most `limit`, wave by wave. */
export async function peopleOfWaves(
  db: Queryable,
  runbook: string | undefined,
  filter: PeopleFilter,
  after: WavePerson | null,
  limit: number,
): Promise<WavePerson[]> {
  const found: WavePerson[] = []
  let last = after && { value: null, id: after.batchId - 1 }
  for (;;) {
    const lines = await listBatches(db, { runbook }, 'oldest', last, WAVES_AT_ONCE)
    const waves = await withStates(db, lines)
    found.push(...(await listPeople(db, waves, filter, after, limit - found.length)))
    if (found.length >= limit || lines.length < WAVES_AT_ONCE) return found
    last = { value: null, id: lines.at(-1)!.id }
  }
}
