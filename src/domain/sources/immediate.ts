// The changes of one tick of an immediate runbook: new keys start in the batch of the tick's five-minute slot. There are no
// groups to move between or leave. A key of an ended batch starts again only if its row changed, or if it was gone for two good
// ticks and is back, unless so many were gone at once that the source must have been wrong.
import {
  batchesByTime,
  type FoundRow,
  type Issue,
  isCurrentMember,
  type KnownBatch,
  type KnownMember,
  type MemberWithRow,
  type SourceContents,
} from './compare.ts'
import type { PastMembership } from './joiners.ts'
import { isTooMany } from './leavers.ts'
import { type Review, reviewChanges } from './reviews.ts'
import { HELD_BY_SOURCE, type TickChanges } from './scheduled.ts'

const SLOT_MS = 5 * 60_000

/** The start of the five-minute slot, UTC. One clock reading per tick: two would split a batch. */
export const slotOf = (nowMs: number): number => Math.floor(nowMs / SLOT_MS) * SLOT_MS

export interface ImmediateFacts {
  readonly batches: readonly KnownBatch[]
  readonly members: readonly KnownMember[]
  /** The newest membership of each key in ended batches, by folded key. */
  readonly past: ReadonlyMap<string, PastMembership>
  readonly absences: ReadonlyMap<number, 1 | 2>
  readonly reviews: readonly Review[]
  readonly maxPercent: number
  readonly nowMs: number
}

export function immediateChanges<Row extends FoundRow>(
  found: SourceContents<Row>,
  facts: ImmediateFacts,
): TickChanges<Row> {
  const slotMs = slotOf(facts.nowMs)
  const slot = batchesByTime(facts.batches)(slotMs)[0]
  const { known, refreshes } = compareMembers(found, facts)
  const joiners = [...found.rows.values()].filter(
    (row) => !known.has(row.folded) && mayStart(row, facts.past.get(row.folded), facts.absences),
  )
  // The slot's batch has already ended: they start in the next one.
  const rows = slot?.isEnded ? [] : joiners
  const { absences, issues } = countAbsent(found, facts, new Set(rows.map((row) => row.folded)))
  return {
    refreshes,
    moves: [],
    batches: slot || rows.length === 0 ? [] : [{ timeMs: slotMs, rows, hold: null }],
    joins: slot && rows.length > 0 ? new Map([[slot.id, rows]]) : new Map(),
    rejoins: [],
    removals: [],
    absences,
    reviews: reviewChanges(facts.reviews, []),
    holds: new Map(),
    resumes: facts.batches
      .filter(({ isEnded, heldBy }) => !isEnded && heldBy === HELD_BY_SOURCE)
      .map(({ id }) => id),
    issues,
  }
}

/** The keys of unfinished batches, in any status, and members with changed data. */
function compareMembers<Row extends FoundRow>(
  found: SourceContents<Row>,
  { batches, members }: ImmediateFacts,
): { known: ReadonlySet<string>; refreshes: MemberWithRow<Row>[] } {
  const isManual = new Set(batches.flatMap(({ id, timesMs }) => (timesMs.length === 0 ? [id] : [])))
  const known = new Set<string>()
  const refreshes: MemberWithRow<Row>[] = []
  for (const member of members) {
    known.add(member.folded)
    const row = found.rows.get(member.folded)
    if (!row || !isCurrentMember(member) || isManual.has(member.batchId)) continue
    if (row.hash !== member.hash || row.key !== member.key) refreshes.push({ member, row })
  }
  return { known, refreshes }
}

function mayStart(
  row: FoundRow,
  last: PastMembership | undefined,
  absences: ReadonlyMap<number, 1 | 2>,
): boolean {
  if (!last || absences.get(last.memberId) === 2) return true
  const isByPerson = last.status === 'removed' && last.removedBy !== 'source' && !last.isMovedOut
  return row.hash !== last.hash && !isByPerson
}

function countAbsent(
  found: SourceContents,
  { past, absences, maxPercent }: ImmediateFacts,
  starting: ReadonlySet<string>,
): { absences: ReadonlyMap<number, 1 | 2>; issues: Issue[] } {
  const counted = new Map<number, 1 | 2>()
  let newlyAbsent = 0
  for (const [folded, { memberId }] of past) {
    const before = absences.get(memberId)
    if (found.rows.has(folded) || found.unusable.has(folded)) {
      // Gone and back, but not started yet: still to start.
      if (before === 2 && !starting.has(folded)) counted.set(memberId, 2)
      continue
    }
    counted.set(memberId, before === undefined ? 1 : 2)
    if (before !== 2) newlyAbsent += 1
  }
  if (newlyAbsent === 0 || (found.rows.size > 0 && !isTooMany(newlyAbsent, past.size, maxPercent)))
    return { absences: counted, issues: [] }
  const reason = `${newlyAbsent} of ${past.size} people of ended batches are missing at once; they do not count as gone, so none starts again when back`
  const issue: Issue = { kind: 'many_absent', key: null, column: null, batchId: null, reason }
  return { absences, issues: [issue] }
}
