// From a source result to changes: loads what is known, compares, and looks up the few members it found. Reads only; the tick
// applies the changes, the preview shows them.
import type { Queryable } from '../db/connection/db.ts'
import {
  countRemoved,
  findCompensating,
  findPast,
  findStarted,
  loadAbsences,
  loadKnownBatches,
  loadKnownMembers,
  loadLastPast,
} from '../db/sources/membership.ts'
import { loadReviews } from '../db/sources/reviews.ts'
import type { Runbook } from '../domain/runbook/read.ts'
import { compareWithSource, isCurrentMember, type KnownMember } from '../domain/sources/compare.ts'
import { immediateChanges, slotOf } from '../domain/sources/immediate.ts'
import { scheduledChanges, type TickChanges } from '../domain/sources/scheduled.ts'
import type { SourceRow } from '../domain/sources/source-values.ts'
import { type Reading, readSource, type StoredRow } from './read-source.ts'
import type { SourceAccess } from './sources/source.ts'

const DAY_MS = 24 * 60 * 60_000

export interface Detection {
  readonly reading: Reading
  readonly changes: TickChanges<StoredRow>
  /** Before this tick. */
  readonly absences: ReadonlyMap<number, 1 | 2>
}

export interface DetectRequest {
  readonly db: Queryable
  readonly sources: SourceAccess
  readonly runbook: Runbook
  /** One clock reading for the whole tick. */
  readonly now: Date
  readonly stopping: AbortSignal
  readonly onRow?: (row: SourceRow) => void
}

export async function detect(request: DetectRequest): Promise<Detection> {
  const { db, sources, runbook, now, stopping, onRow } = request
  let members: KnownMember[] = []
  const reading = await readSource(
    sources,
    runbook.dataSource,
    {
      slotMs: slotOf(+now),
      // Loaded at the first row: a query may run for minutes, and earlier facts would be stale.
      loadKnown: async () => {
        const batches = await loadKnownBatches(db, runbook.name, [])
        members = await loadKnownMembers(
          db,
          batches.map(({ id }) => id),
        )
        const current = currentByKey(members)
        return (folded) => current.get(folded) ?? undefined
      },
      ...(onRow && { onRow }),
    },
    stopping,
  )
  const absences = await loadAbsences(db, runbook.name)
  const changes =
    runbook.dataSource.batchTimeColumn === null
      ? await detectImmediate(request, reading, members, absences)
      : await detectScheduled(request, reading, members, absences)
  return { reading, changes, absences }
}

/** By folded key; null where a key failed in one batch and continues in another with other data: its row is needed anyway. */
function currentByKey(members: readonly KnownMember[]): Map<string, KnownMember | null> {
  const current = new Map<string, KnownMember | null>()
  for (const member of members.filter(isCurrentMember)) {
    const { folded, key, hash } = member
    const other = current.get(folded)
    const isAlike = other === undefined || (other?.key === key && other.hash === hash)
    current.set(folded, isAlike ? member : null)
  }
  return current
}

async function detectScheduled(
  { db, runbook, now }: DetectRequest,
  { found }: Reading,
  members: readonly KnownMember[],
  absences: ReadonlyMap<number, 1 | 2>,
): Promise<TickChanges<StoredRow>> {
  const batches = await loadKnownBatches(db, runbook.name, found.groups.keys())
  const comparison = compareWithSource(found, batches, members)
  const { movers, missing, joiners } = comparison
  const memberIds = [...movers.map(({ member }) => member.id), ...missing.map(({ id }) => id)]
  const former = joiners.flatMap((joiner) => joiner.former?.id ?? [])
  const batchesWithMissing = [...new Set(missing.map(({ batchId }) => batchId))]
  const lookups = {
    absences,
    reviews: await loadReviews(db, runbook.name),
    cutOverBegun: memberIds.length > 0 ? await findStarted(db, memberIds) : new Set<number>(),
    compensating: former.length > 0 ? await findCompensating(db, former) : new Set<number>(),
    past: await findPast(
      db,
      runbook.name,
      joiners.map(({ row }) => row.folded),
    ),
    removedLastDay:
      batchesWithMissing.length > 0
        ? await countRemoved(db, batchesWithMissing, new Date(+now - DAY_MS))
        : new Map<number, number>(),
  }
  return scheduledChanges(comparison, batches, lookups, runbook.safeguards, +now)
}

async function detectImmediate(
  { db, runbook, now }: DetectRequest,
  { found }: Reading,
  members: readonly KnownMember[],
  absences: ReadonlyMap<number, 1 | 2>,
): Promise<TickChanges<StoredRow>> {
  return immediateChanges(found, {
    batches: await loadKnownBatches(db, runbook.name, [slotOf(+now)]),
    members,
    past: await loadLastPast(db, runbook.name, found.rows.keys()),
    absences,
    reviews: await loadReviews(db, runbook.name),
    maxPercent: runbook.safeguards.maxRemovalPercent,
    nowMs: +now,
  })
}
