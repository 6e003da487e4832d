// Member moves to another group. A few move at once. When a whole wave is in another group it was probably rescheduled, and
// when many move at once it may be a mistake: then nothing moves, and a person chooses between reschedule, move and keep.
import { countText } from '../../base/text/count-text.ts'
import {
  type Comparison,
  type FoundRow,
  type Issue,
  isoSeconds,
  type KnownBatch,
  type MemberWithRow,
} from './compare.ts'
import { isTooMany } from './leavers.ts'
import { dismissals, moveReview, type NewReview, type Review } from './reviews.ts'

export interface MemberMove<Row extends FoundRow = FoundRow> {
  readonly fromBatchId: number
  readonly timeMs: number
  readonly pairs: readonly MemberWithRow<Row>[]
}

export interface MoveChanges<Row extends FoundRow> {
  readonly moves: readonly MemberMove<Row>[]
  /** Moves under review, dismissed ones included. */
  readonly newReviews: readonly NewReview<Row>[]
  /** Those that no person has decided yet. */
  readonly undecided: readonly NewReview<Row>[]
  readonly issues: readonly Issue[]
}

export interface MoveFacts {
  readonly byId: ReadonlyMap<number, KnownBatch>
  readonly byTime: (timeMs: number) => readonly KnownBatch[]
  /** Members with a sent step at T-0 or later. */
  readonly cutOverBegun: ReadonlySet<number>
  readonly reviews: readonly Review[]
  readonly maxPercent: number
}

export function moveChanges<Row extends FoundRow>(
  { movers, vanished, hasFailedIn }: Pick<Comparison<Row>, 'movers' | 'vanished' | 'hasFailedIn'>,
  facts: MoveFacts,
): MoveChanges<Row> {
  const moves: MemberMove<Row>[] = []
  const dismissed: NewReview<Row>[] = []
  const undecided: NewReview<Row>[] = []
  const issues: Issue[] = []
  const isDismissed = dismissals(facts.reviews)
  for (const [batchId, pairs] of Map.groupBy(movers, ({ member }) => member.batchId)) {
    const moving: MemberWithRow<Row>[] = []
    for (const pair of pairs) {
      const refusal = refuseMove(pair, facts, hasFailedIn)
      const keep = moveReview(pair, 'many', 'a person decided to keep it in its batch')
      if (refusal) issues.push(refusal)
      else if (isDismissed(keep)) dismissed.push(keep)
      else moving.push(pair)
    }
    const review = reviewReason(
      facts.byId.get(batchId)!,
      moving.length,
      vanished.has(batchId),
      facts.maxPercent,
    )
    // Not spread: a call takes about 120,000 arguments, and a batch may have more members.
    if (!review) for (const move of byTarget(batchId, moving)) moves.push(move)
    else for (const pair of moving) undecided.push(moveReview(pair, review.cause, review.reason))
  }
  return { moves, newReviews: [...dismissed, ...undecided], undecided, issues }
}

const byTarget = <Row extends FoundRow>(
  fromBatchId: number,
  moving: readonly MemberWithRow<Row>[],
) =>
  [...Map.groupBy(moving, ({ row }) => row.timeMs)].map(([timeMs, pairs]) => ({
    fromBatchId,
    timeMs,
    pairs,
  }))

function refuseMove(
  { member, row }: MemberWithRow,
  { byTime, cutOverBegun }: MoveFacts,
  hasFailedIn: Comparison['hasFailedIn'],
): Issue | null {
  const refused = (reason: string): Issue => ({
    kind: 'move_refused',
    key: member.key,
    column: null,
    batchId: member.batchId,
    reason: `it is in the group of ${isoSeconds(row.timeMs)} but stays in batch ${member.batchId}: ${reason}`,
  })
  if (cutOverBegun.has(member.id)) return refused('its cut-over has begun')
  const target = byTime(row.timeMs)[0]
  if (target && hasFailedIn(target.id, member.folded))
    return refused(`it failed in batch ${target.id} of that time; remove it there first`)
  return target?.isEnded ? refused(`batch ${target.id} of that time is ${target.status}`) : null
}

const people = (count: number): string => countText(count, 'person', 'people')

function reviewReason(
  { id, members }: KnownBatch,
  moving: number,
  isVanished: boolean,
  percent: number,
): { cause: 'redated' | 'many'; reason: string } | null {
  if (moving === 0) return null
  if (isVanished) {
    const who = moving === members ? `all ${people(members)}` : `${moving} of ${people(members)}`
    const reason = `the source has ${who} of batch ${id} at another cut-over, and no one at the previous one`
    return { cause: 'redated', reason }
  }
  if (!isTooMany(moving, members, percent)) return null
  const reason = `${moving} of ${people(members)} of batch ${id} would move at once, more than ${percent} %`
  return { cause: 'many', reason }
}
