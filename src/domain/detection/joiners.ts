// Who comes: into the batch that their group means, into a new one, or, when that would surprise somebody, into a person's list.
// A batch that has ended is left alone, so whoever stands in its group is late; whoever was done in another batch would be migrated
// twice because somebody corrected a date; and whom a person removed only a person brings back.
import type { Comparison, FoundRow, Issue, KnownBatch } from './compare.ts'
import { joinReview, type NewReview, type Review } from './reviews.ts'

/** A row of the same key in a batch that has ended. */
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
  /** Of newcomers' former rows: those whose removal has not ended. */
  readonly undoing: ReadonlySet<number>
  /** Newcomers' rows in ended batches, newest first, by folded key. */
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

/** So many wait for a person at a time. The others come onto the list when there is room again. */
export const JOIN_REVIEWS_MAX = 1_000

type Newcomer<Row extends FoundRow> = Comparison<Row>['newcomers'][number]
type Verdict<Row extends FoundRow> = 'join' | 'leave alone' | NewReview<Row>

export function joinerChanges<Row extends FoundRow>(
  { newcomers }: Pick<Comparison<Row>, 'newcomers'>,
  facts: JoinerFacts,
): JoinerChanges<Row> {
  const joins = new Map<number, Row[]>()
  const fresh = new Map<number, Row[]>()
  const newReviews: NewReview<Row>[] = []
  for (const one of newcomers) {
    const verdict = judge(one, facts)
    if (verdict === 'leave alone') continue
    if (verdict !== 'join') {
      newReviews.push(verdict)
      continue
    }
    const target = facts.byTime(one.row.timeMs)[0]
    if (target) push(joins, target.id, one.row)
    else push(fresh, one.row.timeMs, one.row)
  }
  return { joins, fresh, ...bounded(newReviews, facts.reviews) }
}

/** Those who are on the list stay on it; dismissed ones take no room. */
function bounded<Row extends FoundRow>(
  newReviews: readonly NewReview<Row>[],
  reviews: readonly Review[],
): Pick<JoinerChanges<Row>, 'newReviews' | 'issues'> {
  const joins = reviews.filter(({ kind }) => kind === 'join')
  const listed = new Set(joins.map(({ folded }) => folded))
  const room = JOIN_REVIEWS_MAX - joins.filter(({ isDismissed }) => !isDismissed).length
  const fresh = newReviews.filter(({ folded }) => !listed.has(folded))
  const left = fresh.slice(Math.max(0, room))
  if (left.length === 0) return { newReviews, issues: [] }
  const out = new Set(left.map(({ folded }) => folded))
  const reason = `${left.length} more people would join only with a person's word; the list has room for ${JOIN_REVIEWS_MAX} at a time`
  return {
    newReviews: newReviews.filter(({ folded }) => !out.has(folded)),
    issues: [{ kind: 'more_late', key: null, column: null, batchId: null, reason }],
  }
}

function judge<Row extends FoundRow>(
  { row, former }: Newcomer<Row>,
  { byTime, undoing, past }: JoinerFacts,
): Verdict<Row> {
  const before = past.get(row.folded) ?? []
  const meant = byTime(row.timeMs)
  const own = before.find(({ batchId }) => meant.some(({ id }) => id === batchId))
  // Whoever left or went elsewhere, and is back when all is over, is late like anybody else.
  if (own && !hasLeft(own)) return 'leave alone'
  const target = meant[0]
  if (target?.isEnded) {
    const reason = `it came after batch ${target.id} had ended (${target.status})`
    return joinReview(row, 'late', target.id, reason)
  }
  const targetId = target?.id ?? null
  if (former && former.removedBy !== 'source' && !former.isMovedOut) {
    const reason = `${former.removedBy} removed it from batch ${former.batchId}`
    return joinReview(row, 'removed', targetId, reason)
  }
  // What is being undone there would race with what is begun here.
  if (former && undoing.has(former.id)) return 'leave alone'
  const last = before[0]
  if (last?.status === 'removed' && last.removedBy !== 'source' && !last.isMovedOut) {
    return joinReview(
      row,
      'removed',
      targetId,
      `${last.removedBy} removed it from batch ${last.batchId}`,
    )
  }
  const done = before.find((one) => one.status === 'active' && one.batchStatus === 'completed')
  if (done) return joinReview(row, 'done', targetId, `it was done in batch ${done.batchId} already`)
  return 'join'
}

/** Not by a person, who would not want to see it on a list. */
const hasLeft = ({ status, removedBy, isMovedOut }: PastMembership): boolean =>
  status === 'removed' && (removedBy === 'source' || isMovedOut)

function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}
