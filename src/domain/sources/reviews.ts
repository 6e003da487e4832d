// Reviews: changes that a tick must not make without a person. The set is computed at every tick and compared with the stored
// one: outdated reviews go, new ones come, and unchanged ones stay, dismissed or not, without a write.
import type { FoundRow, KnownMember, MemberWithRow } from './compare.ts'

export type ReviewKind = 'removal' | 'move' | 'join'

/**
 * Why it needs review. A removal: too `many`, the batch has `started`, the member's cut-over has `begun`. A move: too `many`,
 * or the whole wave was `redated`. A join: `late` for an ended batch, `done` in another, `removed` by a person.
 */
export type ReviewCause = 'many' | 'started' | 'begun' | 'redated' | 'late' | 'done' | 'removed'

interface ReviewFacts {
  readonly kind: ReviewKind
  readonly cause: ReviewCause
  /** The member's batch; for a join the batch it concerns. */
  readonly batchId: number | null
  /** Null for a join. */
  readonly memberId: number | null
  readonly key: string
  readonly folded: string
  /** The target time of a move or join. */
  readonly toMs: number | null
  readonly reason: string
}

/** A stored review. */
export interface Review extends ReviewFacts {
  readonly id: number
  readonly isDismissed: boolean
  /** Its member was removed since, or its batch has ended. */
  readonly isOver: boolean
  /** For a join, the hash of its data. */
  readonly hash: string | null
}

/** A review found by this tick. */
export interface NewReview<Row extends FoundRow = FoundRow> extends ReviewFacts {
  /** For a join, its row. */
  readonly row: Row | null
}

export interface ReviewChanges<Row extends FoundRow = FoundRow> {
  readonly add: readonly NewReview<Row>[]
  /** Existing reviews with a new reason or new data. */
  readonly change: readonly { readonly id: number; readonly to: NewReview<Row> }[]
  readonly drop: readonly number[]
}

const subjectOf = ({ kind, memberId, folded, toMs }: ReviewFacts): string =>
  `${kind} ${memberId ?? folded} ${toMs}`

export function reviewChanges<Row extends FoundRow>(
  stored: readonly Review[],
  newReviews: readonly NewReview<Row>[],
): ReviewChanges<Row> {
  const known = new Map(stored.map((review) => [subjectOf(review), review]))
  const add: NewReview<Row>[] = []
  const change: { id: number; to: NewReview<Row> }[] = []
  const kept = new Set<number>()
  for (const newReview of newReviews) {
    const review = known.get(subjectOf(newReview))
    if (!review) {
      add.push(newReview)
      continue
    }
    kept.add(review.id)
    const isSame =
      review.isDismissed ||
      (review.reason === newReview.reason && review.hash === (newReview.row?.hash ?? null))
    if (!isSame) change.push({ id: review.id, to: newReview })
  }
  return { add, change, drop: stored.filter(({ id }) => !kept.has(id)).map(({ id }) => id) }
}

/** Whether a person dismissed exactly this change. */
export function dismissals(stored: readonly Review[]): (newReview: ReviewFacts) => boolean {
  const dismissed = new Set(stored.filter((review) => review.isDismissed).map(subjectOf))
  return (newReview) => dismissed.has(subjectOf(newReview))
}

export type ReviewedMember = Pick<KnownMember, 'id' | 'batchId' | 'key' | 'folded'>

export const removalReview = (
  member: ReviewedMember,
  cause: ReviewCause,
  reason: string,
): NewReview<never> => ({
  kind: 'removal',
  cause,
  batchId: member.batchId,
  memberId: member.id,
  key: member.key,
  folded: member.folded,
  toMs: null,
  reason,
  row: null,
})

export const moveReview = (
  { member, row }: MemberWithRow,
  cause: ReviewCause,
  reason: string,
): NewReview<never> => ({
  ...removalReview(member, cause, reason),
  kind: 'move',
  toMs: row.timeMs,
})

export const joinReview = <Row extends FoundRow>(
  row: Row,
  cause: ReviewCause,
  batchId: number | null,
  reason: string,
): NewReview<Row> => ({
  kind: 'join',
  cause,
  batchId,
  memberId: null,
  key: row.key,
  folded: row.folded,
  toMs: row.timeMs,
  reason,
  row,
})
