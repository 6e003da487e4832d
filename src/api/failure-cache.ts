// The failures of a batch, for dashboards that ask every few seconds: read and made alike once, and told again until one comes or
// goes. The batch says by a number that comes with it whether one has (failure_revision).
import type { Queryable } from '../db/db.ts'
import type { BatchLine } from '../db/views/batches.ts'
import { listFailures } from '../db/views/insight.ts'
import { type Failure, type FailureGroup, FailureGroups } from '../domain/failures.ts'

const FAILURES_PER_PAGE = 5_000
export const FAILURES_MAX = 200_000
export const GROUPS_LISTED_MAX = 100
const MESSAGE_CHARS_MAX = 2_000
/** A look has at most 100 messages of 2,000 characters; usually a tenth of that. */
const LOOKS_KEPT_MAX = 50
/** Failures of a batch that are kept one by one, some 300 bytes each: with more of them the database is asked who failed how. */
const SINGLE_ONES_MAX = 5_000

export interface GroupedFailures {
  readonly count: number
  /** False when there are more than the limit and the rest was left. */
  readonly isComplete: boolean
  readonly groupCount: number
  readonly groups: readonly FailureGroup[]
}

/** How somebody failed, all of it in lower case. */
interface SingleOne {
  readonly memberId: number
  readonly phaseName: string
  readonly stepName: string
  readonly message: string
}

export interface FailureKind {
  readonly failedPhase?: string | undefined
  readonly failedStep?: string | undefined
  /** Part of the message. */
  readonly error?: string | undefined
}

interface Look {
  readonly grouped: GroupedFailures
  /** Of members in phases; null when there are too many to keep. */
  readonly single: readonly SingleOne[] | null
}

type Marked = Pick<BatchLine, 'id' | 'failureRevision'>

export class FailureCache {
  /** The one asked for last is the last. */
  readonly #looks = new Map<number, { readonly mark: number; readonly found: Promise<Look> }>()

  async groups(db: Queryable, batch: Marked): Promise<GroupedFailures> {
    return (await this.#look(db, batch)).grouped
  }

  /** Members of whom a step has failed so; null when that is not known here. */
  async membersWho(db: Queryable, batch: Marked, how: FailureKind): Promise<number[] | null> {
    const { single } = await this.#look(db, batch)
    if (single === null) return null
    const [phase, step, error] = [how.failedPhase, how.failedStep, how.error].map((text) =>
      text?.toLowerCase(),
    )
    const isMeant = (one: SingleOne): boolean =>
      (phase === undefined || one.phaseName === phase) &&
      (step === undefined || one.stepName === step) &&
      (error === undefined || one.message.includes(error))
    return [...new Set(single.filter(isMeant).map(({ memberId }) => memberId))]
  }

  async #look(db: Queryable, { id, failureRevision: mark }: Marked): Promise<Look> {
    const known = this.#looks.get(id)
    const look = known?.mark === mark ? known : { mark, found: readFailures(db, id) }
    this.#looks.delete(id)
    this.#looks.set(id, look)
    if (this.#looks.size > LOOKS_KEPT_MAX) this.#looks.delete(this.#looks.keys().next().value!)
    try {
      return await look.found
    } catch (error) {
      if (this.#looks.get(id) === look) this.#looks.delete(id)
      throw error
    }
  }
}

/** Whoever asks meanwhile gets the same, so it is not given up when the first of them goes away. */
async function readFailures(db: Queryable, batchId: number): Promise<Look> {
  const groups = new FailureGroups()
  const single: SingleOne[] = []
  let after = 0
  let isComplete = false
  while (!isComplete && groups.count < FAILURES_MAX) {
    const page = await listFailures(db, batchId, after, FAILURES_PER_PAGE)
    for (const failure of page) groups.add(failure)
    if (groups.count <= SINGLE_ONES_MAX) single.push(...page.flatMap(singleOne))
    isComplete = page.length < FAILURES_PER_PAGE
    after = page.at(-1)?.stepId ?? after
  }
  const largest = groups.largest(GROUPS_LISTED_MAX).map((group) => {
    const message = group.sample.message.slice(0, MESSAGE_CHARS_MAX)
    return { ...group, sample: { ...group.sample, message } }
  })
  return {
    grouped: { count: groups.count, isComplete, groupCount: groups.size, groups: largest },
    single: groups.count <= SINGLE_ONES_MAX ? single : null,
  }
}

function singleOne({ memberId, phaseName, stepName, message }: Failure): SingleOne[] {
  if (memberId === null || phaseName === null) return []
  const [phase, step, error] = [phaseName, stepName, message].map((text) => text.toLowerCase())
  return [{ memberId, phaseName: phase!, stepName: step!, message: error! }]
}
