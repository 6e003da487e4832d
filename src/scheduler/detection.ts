// From a result to a changes: what is known is loaded, the comparison made, and the few members it found are looked up. Reads only;
// the tick carries the changes out, the preview shows it.
import type { Queryable } from '../db/db.ts'
import {
  countRemoved,
  findCompensating,
  findPast,
  findStarted,
  loadAbsences,
  loadKnownBatches,
  loadKnownMembers,
  loadLastPast,
} from '../db/membership.ts'
import { loadReviews } from '../db/reviews.ts'
import { compareWithSource, isHere, type KnownMember } from '../domain/detection/compare.ts'
import { immediateChanges, slotOf } from '../domain/detection/immediate.ts'
import { scheduledChanges, type TickChanges } from '../domain/detection/scheduled.ts'
import type { SourceRow } from '../domain/detection/source-values.ts'
import type { Runbook } from '../domain/runbook/read.ts'
import { type KeptRow, type Reading, readSource, type SourceAccess } from './reading.ts'

const DAY_MS = 24 * 60 * 60_000

export interface Detection {
  readonly reading: Reading
  readonly changes: TickChanges<KeptRow>
  /** As they were before this tick. */
  readonly absences: ReadonlyMap<number, 1 | 2>
}

export interface DetectRequest {
  readonly db: Queryable
  readonly sources: SourceAccess
  readonly runbook: Runbook
  /** The one reading of the clock that all of this goes by. */
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
      // Not before: a query may run for minutes until its first row, and what was known then is not what is so now.
      loadKnown: async () => {
        const batches = await loadKnownBatches(db, runbook.name, [])
        members = await loadKnownMembers(
          db,
          batches.map(({ id }) => id),
        )
        const here = whoIsHere(members)
        return (folded) => here.get(folded) ?? undefined
      },
      ...(onRow && { onRow }),
    },
    stopping,
  )
  const absences = await loadAbsences(db, runbook.name)
  const changes =
    runbook.dataSource.batchTimeColumn === null
      ? await planNow(request, reading, members, absences)
      : await planByTime(request, reading, members, absences)
  return { reading, changes, absences }
}

/** By folded key; null where a key failed in one batch and goes on in another with other data: then its row is needed anyway. */
function whoIsHere(members: readonly KnownMember[]): Map<string, KnownMember | null> {
  const here = new Map<string, KnownMember | null>()
  for (const member of members.filter(isHere)) {
    const { folded, key, hash } = member
    const other = here.get(folded)
    const isAlike = other === undefined || (other?.key === key && other.hash === hash)
    here.set(folded, isAlike ? member : null)
  }
  return here
}

async function planByTime(
  { db, runbook, now }: DetectRequest,
  { found }: Reading,
  members: readonly KnownMember[],
  absences: ReadonlyMap<number, 1 | 2>,
): Promise<TickChanges<KeptRow>> {
  const batches = await loadKnownBatches(db, runbook.name, found.groups.keys())
  const comparison = compareWithSource(found, batches, members)
  const { movers, missing, newcomers } = comparison
  const asked = [...movers.map(({ member }) => member.id), ...missing.map(({ id }) => id)]
  const former = newcomers.flatMap((one) => one.former?.id ?? [])
  const losing = [...new Set(missing.map(({ batchId }) => batchId))]
  const lookups = {
    absences,
    reviews: await loadReviews(db, runbook.name),
    begun: asked.length > 0 ? await findStarted(db, asked) : new Set<number>(),
    undoing: former.length > 0 ? await findCompensating(db, former) : new Set<number>(),
    past: await findPast(
      db,
      runbook.name,
      newcomers.map(({ row }) => row.folded),
    ),
    removedLately:
      losing.length > 0
        ? await countRemoved(db, losing, new Date(+now - DAY_MS))
        : new Map<number, number>(),
  }
  return scheduledChanges(comparison, batches, lookups, runbook.safeguards, +now)
}

async function planNow(
  { db, runbook, now }: DetectRequest,
  { found }: Reading,
  members: readonly KnownMember[],
  absences: ReadonlyMap<number, 1 | 2>,
): Promise<TickChanges<KeptRow>> {
  return immediateChanges(found, {
    batches: await loadKnownBatches(db, runbook.name, [slotOf(+now)]),
    members,
    past: await loadLastPast(db, runbook.name),
    absences,
    reviews: await loadReviews(db, runbook.name),
    maxPercent: runbook.safeguards.maxRemovalPercent,
    nowMs: +now,
  })
}
