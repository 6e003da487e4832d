// Who moves to another group. One or a few do it at once. When a whole wave stands elsewhere it has probably got another date, and
// when many move at once it may be a mistake: then nothing moves, and a person chooses between reschedule, move and keep.
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
  /** Held for a person, kept ones included. */
  readonly newReviews: readonly NewReview<Row>[]
  /** Of those the ones that no person has decided yet. */
  readonly undecided: readonly NewReview<Row>[]
  readonly issues: readonly Issue[]
}

export interface MoveFacts {
  readonly byId: ReadonlyMap<number, KnownBatch>
  readonly byTime: (timeMs: number) => readonly KnownBatch[]
  /** Members for whom a step of T-0 or later was sent. */
  readonly begun: ReadonlySet<number>
  readonly reviews: readonly Review[]
  readonly maxPercent: number
}

export function moveChanges<Row extends FoundRow>(
  { movers, vanished, hasFailedIn }: Pick<Comparison<Row>, 'movers' | 'vanished' | 'hasFailedIn'>,
  facts: MoveFacts,
): MoveChanges<Row> {
  const moves: MemberMove<Row>[] = []
  const kept: NewReview<Row>[] = []
  const undecided: NewReview<Row>[] = []
  const issues: Issue[] = []
  const isKept = dismissals(facts.reviews)
  for (const [batchId, pairs] of Map.groupBy(movers, ({ member }) => member.batchId)) {
    const going: MemberWithRow<Row>[] = []
    for (const pair of pairs) {
      const refusal = refuseMove(pair, facts, hasFailedIn)
      const stays = moveReview(pair, 'many', 'a person decided to keep it where it is')
      if (refusal) issues.push(refusal)
      else if (isKept(stays)) kept.push(stays)
      else going.push(pair)
    }
    const hold = whyHold(
      facts.byId.get(batchId)!,
      going.length,
      vanished.has(batchId),
      facts.maxPercent,
    )
    if (hold) undecided.push(...going.map((pair) => moveReview(pair, hold.cause, hold.reason)))
    else moves.push(...byTarget(batchId, going))
  }
  return { moves, newReviews: [...kept, ...undecided], undecided, issues }
}

const byTarget = <Row extends FoundRow>(
  fromBatchId: number,
  going: readonly MemberWithRow<Row>[],
) =>
  [...Map.groupBy(going, ({ row }) => row.timeMs)].map(([timeMs, pairs]) => ({
    fromBatchId,
    timeMs,
    pairs,
  }))

function refuseMove(
  { member, row }: MemberWithRow,
  { byTime, begun }: MoveFacts,
  hasFailedIn: Comparison['hasFailedIn'],
): Issue | null {
  const refused = (reason: string): Issue => ({
    kind: 'move_refused',
    key: member.key,
    column: null,
    batchId: member.batchId,
    reason: `it stands in the group of ${isoSeconds(row.timeMs)} but stays in batch ${member.batchId}: ${reason}`,
  })
  if (begun.has(member.id)) return refused('its cut-over has begun')
  const target = byTime(row.timeMs)[0]
  if (target && hasFailedIn(target.id, member.folded))
    return refused(`it has failed in batch ${target.id} of that time; remove it there first`)
  return target?.isEnded ? refused(`batch ${target.id} of that time is ${target.status}`) : null
}

function whyHold(
  { id, members }: KnownBatch,
  going: number,
  isVanished: boolean,
  percent: number,
): { cause: 'redated' | 'many'; reason: string } | null {
  if (going === 0) return null
  if (isVanished) {
    const reason = `the group of batch ${id} is gone from the source and ${going} of its ${members} member(s) stand elsewhere`
    return { cause: 'redated', reason }
  }
  if (!isTooMany(going, members, percent)) return null
  const reason = `${going} of the ${members} members of batch ${id} would move at once, more than ${percent} %`
  return { cause: 'many', reason }
}
