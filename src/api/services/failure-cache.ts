// Caches the failures of a batch, grouped by kind, for dashboards that poll every few seconds. The batch's failure revision changes
// with every failure that is added or cleared; the cache reads again only then.
import { sameName } from '../../base/text/same-name.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { listFailures } from '../../db/views/batch-summary.ts'
import type { BatchLine } from '../../db/views/batches.ts'
import {
  errorPattern,
  type Failure,
  type FailureGroup,
  FailureGroups,
} from '../../domain/needs/failures.ts'

const FAILURES_PER_PAGE = 5_000
export const FAILURES_MAX = 200_000
export const GROUPS_LISTED_MAX = 100
const MESSAGE_CHARS_MAX = 2_000
/** An entry holds at most 100 messages of 2,000 characters, usually a tenth of that. */
const BATCHES_KEPT_MAX = 50
/** Single failures kept per batch, about 300 bytes each. Above this, selections query the database. */
const FAILURES_KEPT_MAX = 5_000

export interface GroupedFailures {
  readonly count: number
  /** False when reading stopped at the limit. */
  readonly isComplete: boolean
  readonly groupCount: number
  readonly groups: readonly FailureGroup[]
}

/** One failed step of a member; texts in lower case. */
interface MemberFailure {
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

interface CachedFailures {
  readonly grouped: GroupedFailures
  /** Of members in phases; null when there are too many to keep. */
  readonly members: readonly MemberFailure[] | null
}

type BatchVersion = Pick<BatchLine, 'id' | 'failureRevision'>

export class FailureCache {
  /** Ordered by last use. */
  readonly #entries = new Map<
    number,
    { readonly revision: number; readonly failures: Promise<CachedFailures> }
  >()

  async groups(db: Queryable, batch: BatchVersion): Promise<GroupedFailures> {
    return (await this.#load(db, batch)).grouped
  }

  /** Members with a failed step of this kind; null when the cache does not hold single failures. */
  async memberIds(db: Queryable, batch: BatchVersion, kind: FailureKind): Promise<number[] | null> {
    const { members } = await this.#load(db, batch)
    if (members === null) return null
    const [phase, step, error] = [kind.failedPhase, kind.failedStep, kind.error].map((text) =>
      text?.toLowerCase(),
    )
    const matches = (failure: MemberFailure): boolean =>
      (phase === undefined || failure.phaseName === phase) &&
      (step === undefined || failure.stepName === step) &&
      (error === undefined || failure.message.includes(error))
    return [...new Set(members.filter(matches).map(({ memberId }) => memberId))]
  }

  async #load(
    db: Queryable,
    { id, failureRevision: revision }: BatchVersion,
  ): Promise<CachedFailures> {
    const known = this.#entries.get(id)
    const entry =
      known?.revision === revision ? known : { revision, failures: readFailures(db, id) }
    this.#entries.delete(id)
    this.#entries.set(id, entry)
    if (this.#entries.size > BATCHES_KEPT_MAX)
      this.#entries.delete(this.#entries.keys().next().value!)
    try {
      return await entry.failures
    } catch (error) {
      if (this.#entries.get(id) === entry) this.#entries.delete(id)
      throw error
    }
  }
}

/** Members whose failed step belongs to a group. Read from the database: an action must not rest on a cache. */
export async function membersOfGroup(
  db: Queryable,
  batchId: number,
  { pattern, failedPhase, failedStep }: Omit<FailureKind, 'error'> & { readonly pattern: string },
): Promise<number[]> {
  const found = new Set<number>()
  let after = 0
  for (;;) {
    const page = await listFailures(db, batchId, after, FAILURES_PER_PAGE)
    for (const { memberId, phaseName, stepName, message } of page) {
      const isThere =
        (failedPhase === undefined || sameName(phaseName ?? '', failedPhase)) &&
        (failedStep === undefined || sameName(stepName, failedStep))
      if (memberId !== null && isThere && errorPattern(message) === pattern) found.add(memberId)
    }
    if (page.length < FAILURES_PER_PAGE) return [...found]
    after = page.at(-1)!.stepId
  }
}

/** Shared by all callers that wait for it, so it takes no abort signal. */
async function readFailures(db: Queryable, batchId: number): Promise<CachedFailures> {
  const groups = new FailureGroups()
  const members: MemberFailure[] = []
  let after = 0
  let isComplete = false
  while (!isComplete && groups.count < FAILURES_MAX) {
    const page = await listFailures(db, batchId, after, FAILURES_PER_PAGE)
    for (const failure of page) groups.add(failure)
    if (groups.count <= FAILURES_KEPT_MAX) members.push(...page.flatMap(memberFailures))
    isComplete = page.length < FAILURES_PER_PAGE
    after = page.at(-1)?.stepId ?? after
  }
  const largest = groups.largest(GROUPS_LISTED_MAX).map((group) => {
    const message = group.sample.message.slice(0, MESSAGE_CHARS_MAX)
    return { ...group, sample: { ...group.sample, message } }
  })
  return {
    grouped: { count: groups.count, isComplete, groupCount: groups.size, groups: largest },
    members: groups.count <= FAILURES_KEPT_MAX ? members : null,
  }
}

function memberFailures({ memberId, phaseName, stepName, message }: Failure): MemberFailure[] {
  if (memberId === null || phaseName === null) return []
  const [phase, step, error] = [phaseName, stepName, message].map((text) => text.toLowerCase())
  return [{ memberId, phaseName: phase!, stepName: step!, message: error! }]
}
