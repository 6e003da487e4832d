// Searches that read the data of every member, one at a time and for seconds at most: ten of them at once took every connection of the
// database and all of its processors, and a hold waited for 10 s.
import { MatoolkitError } from '../../base/errors/errors.ts'
import { Lane } from '../../base/run/lane.ts'
import type { Db } from '../../db/connection/db.ts'
import { withTimeLimit } from '../../db/connection/lane-db.ts'
import { type FoundMember, findPeopleByText } from '../../db/views/find-members.ts'

/** Among 100,000 members a search takes 0.3 s. */
export const SEARCH_LIMITS = { timeMs: 5_000, waitingMax: 16 } as const

export class TextSearch {
  readonly #lane = new Lane({
    places: 1,
    waitingMax: SEARCH_LIMITS.waitingMax,
    refusal: () => new MatoolkitError('SEARCHES_BUSY'),
  })

  /** Throws SEARCHES_BUSY and SEARCH_TOO_SLOW. */
  find(db: Db, text: string, limit: number): Promise<FoundMember[]> {
    const seconds = SEARCH_LIMITS.timeMs / 1_000
    const tooSlow = () => new MatoolkitError('SEARCH_TOO_SLOW', { seconds })
    return this.#lane.run(() =>
      withTimeLimit(db, SEARCH_LIMITS.timeMs, tooSlow, (tx) => findPeopleByText(tx, text, limit)),
    )
  }
}
