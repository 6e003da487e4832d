// What a tick must not do without a person. The set is computed anew at every tick and compared with what is stored: what is no
// longer so goes, what is new comes, and what is still so stays as it is, dismissed or not, without being written again.
import type { FoundRow, KnownMember, MemberWithRow } from './compare.ts'

export type ReviewKind = 'removal' | 'move' | 'join'

/**
 * Why it is review. A removal: too `many`, the batch has `started`, the member's cut-over has `begun`. A move: too `many`, or the
 * whole wave was `redated`. A join: `late` for a batch that has ended, `done` already in another, `removed` by a person.
 */
export type ReviewCause = 'many' | 'started' | 'begun' | 'redated' | 'late' | 'done' | 'removed'

interface HeldFacts {
  readonly kind: ReviewKind
  readonly cause: ReviewCause
  /** The batch that the member is in; of a join the one that it is about. */
  readonly batchId: number | null
  /** Null for a join. */
  readonly memberId: number | null
  readonly key: string
  readonly folded: string
  /** Where it would go: of moves and joins. */
  readonly toMs: number | null
  readonly reason: string
}

/** A stored one. */
export interface Review extends HeldFacts {
  readonly id: number
  readonly isDismissed: boolean
  /** Its member was removed meanwhile, or its batch has ended. */
  readonly isOver: boolean
  /** Of a join: the data that it would bring. */
  readonly hash: string | null
}

/** One that this tick finds. */
export interface NewReview<Row extends FoundRow = FoundRow> extends HeldFacts {
  /** Of a join: the row that it would bring. */
  readonly row: Row | null
}

export interface ReviewChanges<Row extends FoundRow = FoundRow> {
  readonly add: readonly NewReview<Row>[]
  /** Still review, with other words or other data. */
  readonly change: readonly { readonly id: number; readonly to: NewReview<Row> }[]
  readonly drop: readonly number[]
}

const subject = ({ kind, memberId, folded, toMs }: HeldFacts): string =>
  `${kind} ${memberId ?? folded} ${toMs}`

export function reviewChanges<Row extends FoundRow>(
  stored: readonly Review[],
  newReviews: readonly NewReview<Row>[],
): ReviewChanges<Row> {
  const known = new Map(stored.map((review) => [subject(review), review]))
  const add: NewReview<Row>[] = []
  const change: { id: number; to: NewReview<Row> }[] = []
  const kept = new Set<number>()
  for (const newReview of newReviews) {
    const review = known.get(subject(newReview))
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

/** A person has said of exactly this that it is to stay as it is. */
export function dismissals(stored: readonly Review[]): (newReview: HeldFacts) => boolean {
  const dismissed = new Set(stored.filter((review) => review.isDismissed).map(subject))
  return (newReview) => dismissed.has(subject(newReview))
}

export const removalReview = (
  member: KnownMember,
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
