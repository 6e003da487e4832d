// Detection, first half: compares the source with what is known, key by key and over the whole result, because a key missing in
// one group may be in another: that is a move, not a leaver. scheduled.ts and immediate.ts decide what follows. Pure: same
// rows, same facts, same comparison.
import type { MemberStatus } from '../state/transitions.ts'

/** A usable row of the result. */
export interface FoundRow {
  /** As in the source, trimmed. */
  readonly key: string
  /** As compared. */
  readonly folded: string
  /** The row's cut-over in milliseconds; for immediate runbooks the slot of this tick. */
  readonly timeMs: number
  readonly hash: string
}

/** The rows' data, which stays packed until it is written. */
export interface RowTexts<Row extends FoundRow> {
  /** As JSON. */
  readonly dataOf: (row: Row) => string
  /** The length of that JSON, 0 where the member already has it. */
  readonly bytesOf: (row: Row) => number
}

export type IssueKind =
  | 'no_key'
  | 'unusable'
  | 'duplicate'
  | 'case_changed'
  | 'in_manual_batch'
  | 'group_gone'
  | 'move_refused'
  | 'needs_person'
  | 'more_late'
  | 'many_absent'

/** What an operator should see: an unused row, or a change not made. */
export interface Issue {
  readonly kind: IssueKind
  readonly key: string | null
  readonly column: string | null
  readonly batchId: number | null
  readonly reason: string
}

/** A complete result. */
export interface SourceContents<Row extends FoundRow = FoundRow> {
  /** By folded key. */
  readonly rows: ReadonlyMap<string, Row>
  /** Folded keys of unusable rows. Their members stay unchanged and have not left. */
  readonly unusable: ReadonlySet<string>
  /** Usable rows by time. */
  readonly groups: ReadonlyMap<number, number>
}

export interface KnownBatch {
  readonly id: number
  /** The source times of this batch, its own first. Empty for a manual batch. */
  readonly timesMs: readonly number[]
  readonly startMs: number | null
  readonly isEnded: boolean
  readonly status: string
  readonly heldBy: string | null
  /** Active and failed members. */
  readonly members: number
}

/** A member of an unfinished batch of the runbook. */
export interface KnownMember {
  readonly id: number
  readonly batchId: number
  readonly key: string
  readonly folded: string
  readonly hash: string
  readonly status: MemberStatus
  /** `source` or the person who removed it; null while not removed. */
  readonly removedBy: string | null
  readonly removedAtMs: number
  /** Removed here because it moved to another batch. */
  readonly isMovedOut: boolean
}

/** A person took the member out of this batch and put it into another. */
const isTakenOut = ({ isMovedOut, removedBy }: KnownMember): boolean =>
  isMovedOut && removedBy !== null && removedBy !== 'source'

export interface MemberWithRow<Row extends FoundRow = FoundRow> {
  readonly member: KnownMember
  readonly row: Row
}

export interface Comparison<Row extends FoundRow = FoundRow> {
  /** Members whose data differs from the source. */
  readonly changed: readonly MemberWithRow<Row>[]
  /** Active in one group, and in another in the source. */
  readonly movers: readonly MemberWithRow<Row>[]
  /** Removed by the source from the batch of their group, and back in it. */
  readonly rejoiners: readonly MemberWithRow<Row>[]
  /** Keys active in no unfinished batch; `former` is their last removed membership, if any. */
  readonly joiners: readonly { readonly row: Row; readonly former: KnownMember | null }[]
  /** Whether the key failed in that batch. */
  readonly hasFailedIn: (batchId: number, folded: string) => boolean
  /** Active or failed, in a group of the result, and not in the result. */
  readonly missing: readonly KnownMember[]
  /** Whether the result has the key, usable or not. */
  readonly isPresent: (folded: string) => boolean
  /** Unfinished batches whose groups are all missing from the result. */
  readonly vanished: ReadonlySet<number>
  readonly issues: readonly Issue[]
}

export const isCurrentMember = ({ status }: KnownMember): boolean => status !== 'removed'

/** The batches of a source time: unfinished before ended, own time before one agreed on later. */
export function batchesByTime(batches: readonly KnownBatch[]): (timeMs: number) => KnownBatch[] {
  const byTime = new Map<number, KnownBatch[]>()
  for (const batch of batches) {
    for (const timeMs of batch.timesMs) {
      const same = byTime.get(timeMs)
      if (same) same.push(batch)
      else byTime.set(timeMs, [batch])
    }
  }
  for (const [timeMs, same] of byTime) {
    const rank = ({ isEnded, timesMs }: KnownBatch) =>
      (isEnded ? 2 : 0) + (timesMs[0] === timeMs ? 0 : 1)
    same.sort((a, b) => rank(a) - rank(b) || a.id - b.id)
  }
  return (timeMs) => byTime.get(timeMs) ?? []
}

export function compareWithSource<Row extends FoundRow>(
  found: SourceContents<Row>,
  batches: readonly KnownBatch[],
  members: readonly KnownMember[],
): Comparison<Row> {
  const byId = new Map(batches.map((batch) => [batch.id, batch]))
  const byTime = batchesByTime(batches)
  const issues: Issue[] = []
  const changed: MemberWithRow<Row>[] = []
  const wandering: MemberWithRow<Row>[] = []
  const movers: MemberWithRow<Row>[] = []
  const missing: KnownMember[] = []
  const vanished = findVanished(found, batches)
  const currentKeys = new Set<string>()
  const failed: MemberWithRow<Row>[] = []
  const failedIn = new Set<string>()
  const removed = new Map<string, KnownMember[]>()
  for (const member of members) {
    const batch = byId.get(member.batchId)
    // It ended between two reads: its members count as those of an ended batch.
    if (!batch || batch.isEnded) continue
    if (!isCurrentMember(member)) {
      const same = removed.get(member.folded)
      if (same) same.push(member)
      else removed.set(member.folded, [member])
      continue
    }
    currentKeys.add(member.folded)
    if (member.status === 'failed') failedIn.add(`${member.batchId} ${member.folded}`)
    const row = found.rows.get(member.folded)
    if (row === undefined) {
      const isUnusable = found.unusable.has(member.folded)
      if (!isUnusable && batch.timesMs.length > 0 && !vanished.has(batch.id)) missing.push(member)
      continue
    }
    if (batch.timesMs.length === 0) {
      issues.push(inManualBatch(member))
      continue
    }
    if (row.key !== member.key) issues.push(caseChanged(member, row))
    if (row.hash !== member.hash || row.key !== member.key) changed.push({ member, row })
    if (batch.timesMs.includes(row.timeMs)) continue
    if (member.status === 'active') wandering.push({ member, row })
    else failed.push({ member, row })
  }
  for (const pair of wandering) {
    const takenOut = takenOutOf(pair, removed, byTime)
    if (takenOut) issues.push(movedByHand(pair, takenOut))
    else movers.push(pair)
  }
  for (const issue of failedElsewhere(failed, members)) issues.push(issue)
  const joining = findJoiners(found, currentKeys, removed, byTime, issues)
  for (const id of vanished) {
    if (!movers.some(({ member }) => member.batchId === id)) issues.push(groupGone(byId.get(id)!))
  }
  const isPresent = (folded: string) => found.rows.has(folded) || found.unusable.has(folded)
  const hasFailedIn = (id: number, folded: string) => failedIn.has(`${id} ${folded}`)
  return { changed, movers, ...joining, hasFailedIn, missing, isPresent, vanished, issues }
}

/**
 * The member's former place in the group of its row, if a person took it out of there. The source says nothing new, so it does not
 * put the member back; a row in any other group still moves it.
 */
function takenOutOf(
  { member, row }: MemberWithRow,
  removed: ReadonlyMap<string, readonly KnownMember[]>,
  byTime: (timeMs: number) => KnownBatch[],
): KnownMember | undefined {
  const batchIds = new Set(byTime(row.timeMs).map(({ id }) => id))
  return removed
    .get(member.folded)
    ?.find((former) => batchIds.has(former.batchId) && isTakenOut(former))
}

/** A batch without members has no group that could vanish. */
function findVanished(found: SourceContents, batches: readonly KnownBatch[]): Set<number> {
  const gone = batches.filter(
    ({ isEnded, timesMs, members }) =>
      !isEnded &&
      members > 0 &&
      timesMs.length > 0 &&
      !timesMs.some((timeMs) => found.groups.has(timeMs)),
  )
  return new Set(gone.map(({ id }) => id))
}

/** Rows whose key is in no unfinished batch: new, or back where they were removed. */
function findJoiners<Row extends FoundRow>(
  found: SourceContents<Row>,
  currentKeys: ReadonlySet<string>,
  removed: ReadonlyMap<string, readonly KnownMember[]>,
  byTime: (timeMs: number) => KnownBatch[],
  issues: Issue[],
): Pick<Comparison<Row>, 'rejoiners' | 'joiners'> {
  const rejoiners: MemberWithRow<Row>[] = []
  const joiners: { row: Row; former: KnownMember | null }[] = []
  for (const row of found.rows.values()) {
    if (currentKeys.has(row.folded)) continue
    const former = removed.get(row.folded)
    if (!former) {
      joiners.push({ row, former: null })
      continue
    }
    const last = former.reduce((a, b) => (b.removedAtMs >= a.removedAtMs ? b : a))
    const batchIds = new Set(byTime(row.timeMs).map(({ id }) => id))
    const own = former.find(({ batchId }) => batchIds.has(batchId))
    if (!own) joiners.push({ row, former: last })
    else if (own === last && own.removedBy === 'source' && !own.isMovedOut)
      rejoiners.push({ member: own, row })
    // Only a person takes back a member that a person removed; that needs no issue at every tick.
    else if (own !== last || own.isMovedOut) issues.push(needsPerson(own, last))
  }
  return { rejoiners, joiners }
}

const issueOf = (kind: IssueKind, member: KnownMember, reason: string): Issue => ({
  kind,
  key: member.key,
  column: null,
  batchId: member.batchId,
  reason,
})

export const isoSeconds = (timeMs: number): string =>
  new Date(timeMs).toISOString().replace('.000Z', 'Z')

const inManualBatch = (member: KnownMember): Issue =>
  issueOf('in_manual_batch', member, `it stays in manual batch ${member.batchId}`)

const movedByHand = ({ member, row }: MemberWithRow, former: KnownMember): Issue =>
  issueOf(
    'move_refused',
    member,
    `it is in the group of ${isoSeconds(row.timeMs)} but stays in batch ${member.batchId}: ${former.removedBy} moved it there from batch ${former.batchId}`,
  )

const caseChanged = (member: KnownMember, row: FoundRow): Issue =>
  issueOf(
    'case_changed',
    member,
    `the source now writes "${row.key}"; it counts as the same person`,
  )

/** A failed member does not move. It is an issue unless the key is active in another batch. */
function failedElsewhere(
  failed: readonly MemberWithRow[],
  members: readonly KnownMember[],
): Issue[] {
  if (failed.length === 0) return []
  const keys = new Set(failed.map(({ member }) => member.folded))
  for (const { folded, status } of members) if (status === 'active') keys.delete(folded)
  return failed
    .filter(({ member }) => keys.has(member.folded))
    .map(({ member, row }) =>
      issueOf(
        'move_refused',
        member,
        `it is in the group of ${isoSeconds(row.timeMs)} but failed in batch ${member.batchId}; retry or remove it there first`,
      ),
    )
}

const needsPerson = (own: KnownMember, last: KnownMember): Issue =>
  issueOf(
    'needs_person',
    own,
    own === last
      ? `it moved from batch ${own.batchId} to a batch that has ended; add it to batch ${own.batchId} by hand if it belongs there`
      : `it was last removed from batch ${last.batchId} and is in the group of batch ${own.batchId} again; add it to batch ${own.batchId} by hand if it belongs there`,
  )

const groupGone = (batch: KnownBatch): Issue => ({
  kind: 'group_gone',
  key: null,
  column: null,
  batchId: batch.id,
  reason: `the result has no row of its group; its members (${batch.members}) stay unchanged`,
})
