// Detection, first half: what the source says now against what is known, key by key. Everything here is found over the whole
// result before anything is decided, because a key that is missing in one group may stand in another: that is a move and nobody
// has left. What to do about it, and what must wait for a person, is decided in detect-plan.ts once the few members at hand have
// been looked up. Pure: same rows, same facts, same findings.
import type { MemberStatus } from '../transitions.ts'

/** A usable row of the result. */
export interface FoundRow {
  /** As the source writes it, trimmed. */
  readonly key: string
  /** As it is compared. */
  readonly folded: string
  /** The cut-over that the row gives, in milliseconds; for immediate runbooks the slot of this tick. */
  readonly timeMs: number
  readonly hash: string
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

/** Something that an operator should see: a row that is not used, a change that is not made. */
export interface Issue {
  readonly kind: IssueKind
  readonly key: string | null
  readonly column: string | null
  readonly batchId: number | null
  readonly reason: string
}

/** A result that ended well. */
export interface SourceContents<Row extends FoundRow = FoundRow> {
  /** By folded key. */
  readonly rows: ReadonlyMap<string, Row>
  /** Folded keys that stand in the result and cannot be used. Their members stay as they are, and have not left. */
  readonly unusable: ReadonlySet<string>
  /** Usable rows by time. */
  readonly groups: ReadonlyMap<number, number>
}

export interface KnownBatch {
  readonly id: number
  /** The source times that mean this batch, its own first. None for a manual one. */
  readonly timesMs: readonly number[]
  readonly startMs: number | null
  readonly isEnded: boolean
  readonly status: string
  readonly heldBy: string | null
  /** Active and failed ones. */
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
  /** `source` when the data dropped it, else the person; null while it is not removed. */
  readonly removedBy: string | null
  readonly removedAtMs: number
  /** It was removed here because it went on in another batch. */
  readonly isMovedOut: boolean
}

export interface MemberWithRow<Row extends FoundRow = FoundRow> {
  readonly member: KnownMember
  readonly row: Row
}

export interface Comparison<Row extends FoundRow = FoundRow> {
  /** Members whose data is not what the source says now. */
  readonly changed: readonly MemberWithRow<Row>[]
  /** Active in one group, and the source has them in another. */
  readonly movers: readonly MemberWithRow<Row>[]
  /** Removed by the source from the batch that their group means. */
  readonly rejoiners: readonly MemberWithRow<Row>[]
  /** Keys that are active in no unfinished batch; `former` is where they were last removed from, if anywhere. */
  readonly newcomers: readonly { readonly row: Row; readonly former: KnownMember | null }[]
  /** Whether this key has failed in that batch. */
  readonly hasFailedIn: (batchId: number, folded: string) => boolean
  /** Active or failed, not in the result, in a group that is. */
  readonly missing: readonly KnownMember[]
  /** The key stands in the result, usable or not. */
  readonly isPresent: (folded: string) => boolean
  /** Unfinished batches of which no group is in the result any more. */
  readonly vanished: ReadonlySet<number>
  readonly issues: readonly Issue[]
}

export const isHere = ({ status }: KnownMember): boolean => status !== 'removed'

/** Which batches a source time means: unfinished before ended, a batch's own time before one that was agreed on later. */
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
    const rank = (one: KnownBatch) => (one.isEnded ? 2 : 0) + (one.timesMs[0] === timeMs ? 0 : 1)
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
  const movers: MemberWithRow<Row>[] = []
  const missing: KnownMember[] = []
  const vanished = findVanished(found, batches)
  const here = new Set<string>()
  const failed: MemberWithRow<Row>[] = []
  const failedIn = new Set<string>()
  const removed = new Map<string, KnownMember[]>()
  for (const member of members) {
    const batch = byId.get(member.batchId)
    // It ended between one look and the next: its members count as those of an ended batch.
    if (!batch || batch.isEnded) continue
    if (!isHere(member)) {
      const same = removed.get(member.folded)
      if (same) same.push(member)
      else removed.set(member.folded, [member])
      continue
    }
    here.add(member.folded)
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
    if (member.status === 'active') movers.push({ member, row })
    else failed.push({ member, row })
  }
  issues.push(...failedElsewhere(failed, members))
  const fresh = comers(found, here, removed, byTime, issues)
  for (const id of vanished) {
    if (!movers.some(({ member }) => member.batchId === id)) issues.push(groupGone(byId.get(id)!))
  }
  const isPresent = (folded: string) => found.rows.has(folded) || found.unusable.has(folded)
  const hasFailedIn = (id: number, folded: string) => failedIn.has(`${id} ${folded}`)
  return { changed, movers, ...fresh, hasFailedIn, missing, isPresent, vanished, issues }
}

/** A batch without members has no group to vanish. */
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

/** Rows whose key is in no unfinished batch now: they are new, or come back to where they were removed from. */
function comers<Row extends FoundRow>(
  found: SourceContents<Row>,
  here: ReadonlySet<string>,
  removed: ReadonlyMap<string, readonly KnownMember[]>,
  byTime: (timeMs: number) => KnownBatch[],
  issues: Issue[],
): Pick<Comparison<Row>, 'rejoiners' | 'newcomers'> {
  const rejoiners: MemberWithRow<Row>[] = []
  const newcomers: { row: Row; former: KnownMember | null }[] = []
  for (const row of found.rows.values()) {
    if (here.has(row.folded)) continue
    const former = removed.get(row.folded)
    if (!former) {
      newcomers.push({ row, former: null })
      continue
    }
    const last = former.reduce((a, b) => (b.removedAtMs >= a.removedAtMs ? b : a))
    const meant = new Set(byTime(row.timeMs).map(({ id }) => id))
    const own = former.find(({ batchId }) => meant.has(batchId))
    if (!own) newcomers.push({ row, former: last })
    else if (own === last && own.removedBy === 'source' && !own.isMovedOut)
      rejoiners.push({ member: own, row })
    // Whom a person removed only a person takes back; of that there is nothing new to say at every tick.
    else if (own !== last || own.isMovedOut) issues.push(needsPerson(own, last))
  }
  return { rejoiners, newcomers }
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
  issueOf('in_manual_batch', member, `it is in manual batch ${member.batchId} and stays there`)

const caseChanged = (member: KnownMember, row: FoundRow): Issue =>
  issueOf(
    'case_changed',
    member,
    `the source writes "${row.key}" now; it is taken as the same person`,
  )

/** A failed member does not move; unless it is active elsewhere, where it then goes on, somebody should know. */
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
        `it stands in the group of ${isoSeconds(row.timeMs)} but has failed in batch ${member.batchId}; retry or remove it there first`,
      ),
    )
}

const needsPerson = (own: KnownMember, last: KnownMember): Issue =>
  issueOf(
    'needs_person',
    own,
    own === last
      ? `it went on from batch ${own.batchId} in another batch that has ended; take it back by hand if that is meant`
      : `it was last removed from batch ${last.batchId} and stands in the group of batch ${own.batchId} again; take it back there by hand if that is meant`,
  )

const groupGone = (batch: KnownBatch): Issue => ({
  kind: 'group_gone',
  key: null,
  column: null,
  batchId: batch.id,
  reason: `no row of its group is in the result any more; its ${batch.members} member(s) stay as they are`,
})
