// Who moves to another group. One or a few do it at once. When a whole wave stands elsewhere it has probably got another date, and
// when many move at once it may be a mistake: then nothing moves, and a person chooses between reschedule, move and keep.
import {
  type Comparison,
  type FoundRow,
  type Issue,
  type KnownBatch,
  type Pair,
  timeText,
} from './detect.ts'
import { dismissals, type Held, type HeldWish, heldMove } from './detect-held.ts'
import { isTooMany } from './detect-leavers.ts'

export interface PlannedMove<Row extends FoundRow = FoundRow> {
  readonly fromBatchId: number
  readonly timeMs: number
  readonly pairs: readonly Pair<Row>[]
}

export interface MovePlan<Row extends FoundRow> {
  readonly moves: readonly PlannedMove<Row>[]
  /** Held for a person, kept ones included. */
  readonly wishes: readonly HeldWish<Row>[]
  /** Of those the ones that no person has decided yet. */
  readonly undecided: readonly HeldWish<Row>[]
  readonly issues: readonly Issue[]
}

export interface MoveFacts {
  readonly byId: ReadonlyMap<number, KnownBatch>
  readonly byTime: (timeMs: number) => readonly KnownBatch[]
  /** Members for whom a step of T-0 or later was sent. */
  readonly begun: ReadonlySet<number>
  readonly held: readonly Held[]
  readonly maxPercent: number
}

export function planMoves<Row extends FoundRow>(
  { movers, vanished, hasFailedIn }: Pick<Comparison<Row>, 'movers' | 'vanished' | 'hasFailedIn'>,
  facts: MoveFacts,
): MovePlan<Row> {
  const moves: PlannedMove<Row>[] = []
  const kept: HeldWish<Row>[] = []
  const undecided: HeldWish<Row>[] = []
  const issues: Issue[] = []
  const isKept = dismissals(facts.held)
  for (const [batchId, pairs] of Map.groupBy(movers, ({ member }) => member.batchId)) {
    const going: Pair<Row>[] = []
    for (const pair of pairs) {
      const refusal = refuseMove(pair, facts, hasFailedIn)
      const stays = heldMove(pair, 'many', 'a person decided to keep it where it is')
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
    if (hold) undecided.push(...going.map((pair) => heldMove(pair, hold.cause, hold.reason)))
    else moves.push(...byTarget(batchId, going))
  }
  return { moves, wishes: [...kept, ...undecided], undecided, issues }
}

const byTarget = <Row extends FoundRow>(fromBatchId: number, going: readonly Pair<Row>[]) =>
  [...Map.groupBy(going, ({ row }) => row.timeMs)].map(([timeMs, pairs]) => ({
    fromBatchId,
    timeMs,
    pairs,
  }))

function refuseMove(
  { member, row }: Pair,
  { byTime, begun }: MoveFacts,
  hasFailedIn: Comparison['hasFailedIn'],
): Issue | null {
  const refused = (reason: string): Issue => ({
    kind: 'move_refused',
    key: member.key,
    column: null,
    batchId: member.batchId,
    reason: `it stands in the group of ${timeText(row.timeMs)} but stays in batch ${member.batchId}: ${reason}`,
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
