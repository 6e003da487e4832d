// Joiners: into the batch of their group, into a new batch, or into review when that would be a surprise. A key in the group of
// an ended batch is a latecomer; one completed in another batch would be migrated twice because of a corrected date; and only a
// person brings back a member that a person removed.
import type { Comparison, FoundRow, Issue, KnownBatch } from './compare.ts'
import { joinReview, type NewReview, type Review } from './reviews.ts'

/** A membership of the same key in an ended batch. */
export interface PastMembership {
  readonly batchId: number
  readonly batchStatus: string
  readonly memberId: number
  readonly status: string
  readonly removedBy: string | null
  readonly isMovedOut: boolean
  readonly hash: string
}

export interface JoinerFacts {
  readonly byTime: (timeMs: number) => readonly KnownBatch[]
  /** Former members of joiners whose compensation has not ended. */
  readonly compensating: ReadonlySet<number>
  /** Joiners' memberships in ended batches, newest first, by folded key. */
  readonly past: ReadonlyMap<string, readonly PastMembership[]>
  readonly reviews: readonly Review[]
}

export interface JoinerChanges<Row extends FoundRow> {
  readonly joins: ReadonlyMap<number, readonly Row[]>
  /** Rows of new batches, by time. */
  readonly fresh: ReadonlyMap<number, readonly Row[]>
  readonly newReviews: readonly NewReview<Row>[]
  readonly issues: readonly Issue[]
}

/** Limit of joins under review. Others follow as reviews are decided. */
export const JOIN_REVIEWS_MAX = 1_000

type Joiner<Row extends FoundRow> = Comparison<Row>['joiners'][number]
type JoinDecision<Row extends FoundRow> = 'join' | 'ignore' | NewReview<Row>

export function joinerChanges<Row extends FoundRow>(
  { joiners }: Pick<Comparison<Row>, 'joiners'>,
  facts: JoinerFacts,
): JoinerChanges<Row> {
  const joins = new Map<number, Row[]>()
  const fresh = new Map<number, Row[]>()
  const newReviews: NewReview<Row>[] = []
  for (const joiner of joiners) {
    const decision = decideJoin(joiner, facts)
    if (decision === 'ignore') continue
    if (decision !== 'join') {
      newReviews.push(decision)
      continue
    }
    const target = facts.byTime(joiner.row.timeMs)[0]
    if (target) push(joins, target.id, joiner.row)
    else push(fresh, joiner.row.timeMs, joiner.row)
  }
  return { joins, fresh, ...bounded(newReviews, facts.reviews) }
}

/** Existing reviews stay; dismissed ones do not count. */
function bounded<Row extends FoundRow>(
  newReviews: readonly NewReview<Row>[],
  reviews: readonly Review[],
): Pick<JoinerChanges<Row>, 'newReviews' | 'issues'> {
  const joins = reviews.filter(({ kind }) => kind === 'join')
  const listed = new Set(joins.map(({ folded }) => folded))
  const free = JOIN_REVIEWS_MAX - joins.filter(({ isDismissed }) => !isDismissed).length
  const fresh = newReviews.filter(({ folded }) => !listed.has(folded))
  const excess = fresh.slice(Math.max(0, free))
  if (excess.length === 0) return { newReviews, issues: [] }
  const excessKeys = new Set(excess.map(({ folded }) => folded))
  const reason = `${excess.length} more joins need review; the limit is ${JOIN_REVIEWS_MAX} at a time. Approve or dismiss some first`
  return {
    newReviews: newReviews.filter(({ folded }) => !excessKeys.has(folded)),
    issues: [{ kind: 'more_late', key: null, column: null, batchId: null, reason }],
  }
}

function decideJoin<Row extends FoundRow>(
  { row, former }: Joiner<Row>,
  { byTime, compensating, past }: JoinerFacts,
): JoinDecision<Row> {
  const before = past.get(row.folded) ?? []
  const batches = byTime(row.timeMs)
  const own = before.find(({ batchId }) => batches.some(({ id }) => id === batchId))
  // A leaver or mover who is back after the end is a latecomer like any other.
  if (own && !hasLeft(own)) return 'ignore'
  const target = batches[0]
  if (target?.isEnded) {
    const reason = `it appeared after batch ${target.id} had ended (${target.status})`
    return joinReview(row, 'late', target.id, reason)
  }
  const targetId = target?.id ?? null
  if (former && former.removedBy !== 'source' && !former.isMovedOut) {
    const reason = `${former.removedBy} removed it from batch ${former.batchId}`
    return joinReview(row, 'removed', targetId, reason)
  }
  // Compensation there would race with steps here.
  if (former && compensating.has(former.id)) return 'ignore'
  const last = before[0]
  if (last?.status === 'removed' && last.removedBy !== 'source' && !last.isMovedOut) {
    return joinReview(
      row,
      'removed',
      targetId,
      `${last.removedBy} removed it from batch ${last.batchId}`,
    )
  }
  const done = before.find(
    ({ status, batchStatus }) => status === 'active' && batchStatus === 'completed',
  )
  if (done)
    return joinReview(row, 'done', targetId, `it was already completed in batch ${done.batchId}`)
  return 'join'
}

/** Not removed by a person, who needs no review of it. */
const hasLeft = ({ status, removedBy, isMovedOut }: PastMembership): boolean =>
  status === 'removed' && (removedBy === 'source' || isMovedOut)

function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}
