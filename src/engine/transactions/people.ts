// The people whom the templates of queued steps name, in whatever batch they are. Read without a lock: somebody who gets an account at the
// same time is left out here, and their own step with `waiting:` comes later and finds this member.
import { findPeople } from '../../db/state/person-map.ts'
import { peopleToFind } from '../../domain/decide/send.ts'
import type { BatchTransaction } from './engine.ts'

export async function loadPeople(batchTxs: readonly BatchTransaction[]): Promise<void> {
  for (const { tx, engine, draft } of batchTxs) {
    const identities = peopleToFind(draft)
    if (identities.length === 0) continue
    const found = await findPeople(tx, identities)
    draft.knownPeople = (
      await Promise.all(
        found.map(async ({ runbookName, runbookVersion, ...person }) => {
          const { people } = await engine.runbooks.get(tx, runbookName, runbookVersion)
          return people ? [{ ...person, people }] : []
        }),
      )
    ).flat()
  }
}
