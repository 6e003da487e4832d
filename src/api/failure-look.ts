// The failures of a batch in groups, for dashboards that ask every few seconds: made alike once, and told again until a failure
// comes or goes. The database says by a mark over all of them whether one has; reading and comparing 2,000 messages costs five times
// as much as that.
import type { Queryable } from '../db/db.ts'
import { listFailures, markFailures } from '../db/view-insight.ts'
import { type FailureGroup, FailureGroups } from '../domain/failures.ts'

const FAILURES_PER_PAGE = 5_000
export const FAILURES_MAX = 200_000
export const GROUPS_LISTED_MAX = 100
const MESSAGE_CHARS_MAX = 2_000
/** A look has at most 100 messages of 2,000 characters; usually a tenth of that. */
const LOOKS_KEPT_MAX = 50

export interface Grouped {
  readonly count: number
  /** False when there are more than the limit and the rest was left. */
  readonly isComplete: boolean
  readonly groupCount: number
  readonly groups: readonly FailureGroup[]
}

export class FailureLook {
  /** The one asked for last is the last. */
  readonly #looks = new Map<number, { readonly mark: string; readonly found: Promise<Grouped> }>()

  async groups(db: Queryable, batchId: number): Promise<Grouped> {
    const mark = await markFailures(db, batchId)
    const known = this.#looks.get(batchId)
    const look = known?.mark === mark ? known : { mark, found: groupFailures(db, batchId) }
    this.#looks.delete(batchId)
    this.#looks.set(batchId, look)
    if (this.#looks.size > LOOKS_KEPT_MAX) this.#looks.delete(this.#looks.keys().next().value!)
    try {
      return await look.found
    } catch (error) {
      if (this.#looks.get(batchId) === look) this.#looks.delete(batchId)
      throw error
    }
  }
}

/** Whoever asks meanwhile gets the same, so it is not given up when the first of them goes away. */
async function groupFailures(db: Queryable, batchId: number): Promise<Grouped> {
  const groups = new FailureGroups()
  let after = 0
  let isComplete = false
  while (!isComplete && groups.count < FAILURES_MAX) {
    const page = await listFailures(db, batchId, after, FAILURES_PER_PAGE)
    for (const failure of page) groups.add(failure)
    isComplete = page.length < FAILURES_PER_PAGE
    after = page.at(-1)?.stepId ?? after
  }
  const largest = groups.largest(GROUPS_LISTED_MAX).map((group) => {
    const message = group.sample.message.slice(0, MESSAGE_CHARS_MAX)
    return { ...group, sample: { ...group.sample, message } }
  })
  return { count: groups.count, isComplete, groupCount: groups.size, groups: largest }
}
