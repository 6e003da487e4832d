// Leavers that a scheduler outside this system reports by message. The same safeguards apply as for our own ticks: too many, after the
// start, or after a member's cut-over began, a person decides first.

import { countRemoved, findStarted } from '../db/sources/membership.ts'
import { writeReviews } from '../db/sources/reviews.ts'
import { judgeLeavers } from '../domain/sources/leavers.ts'
import { foldKey } from '../domain/state/member-key.ts'
import type { BatchTransaction } from '../engine/transactions/engine.ts'

const DAY_MS = 24 * 3_600_000
/** Leavers have no rows. */
const NO_TEXTS = { dataOf: () => '', bytesOf: () => 0 }

/** Those who may leave at once. The others carry on, and a review says why. */
export async function admitLeavers(
  { tx, draft, engine }: BatchTransaction,
  memberIds: readonly number[],
): Promise<ReadonlySet<number>> {
  const { batch } = draft
  const present = memberIds
    .map((id) => draft.member(id))
    .filter((member) => member.status !== 'removed')
  if (present.length === 0) return new Set()
  if (batch.endedAt !== null) {
    for (const { id } of present)
      draft.note('removal_ignored', `batch ${batch.id} has ended`, { memberId: id })
    return new Set()
  }
  const runbook = await engine.runbooks.get(tx, batch.runbookName, batch.activeVersion)
  const leavers = present.map(({ id, key }) => ({
    id,
    batchId: batch.id,
    key,
    folded: foldKey(key),
  }))
  const judged = judgeLeavers(
    {
      id: batch.id,
      startMs: batch.startTime === null ? null : +batch.startTime,
      members: batch.membersActive + batch.membersFailed,
    },
    leavers,
    {
      cutOverBegun: await findStarted(tx, memberIds),
      removedLastDay: await countRemoved(tx, [batch.id], new Date(+draft.now - DAY_MS)),
      safeguards: runbook.safeguards,
      nowMs: +draft.now,
    },
  )
  const add = judged.newReviews
  await writeReviews(tx, batch.runbookName, { add, change: [], drop: [] }, NO_TEXTS, draft.now)
  for (const { memberId, reason } of add)
    draft.note('removal_review', `waits for a person: ${reason}`, { memberId: memberId! })
  return new Set(judged.leavers.map(({ id }) => id))
}
