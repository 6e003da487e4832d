// Changing members of a batch beside others who change other members of it. A batch has one lock, and while one chunk of results
// had it the next one waited, so a batch of 100,000 was worked off on half of the machine.
//
// Why nothing can go wrong that could not go wrong before:
// - Whoever is here shares the batch. What changes it, its phases or who is in it (hold, cancel, due phases, removals, versions)
//   locks it alone, waits for those who share it, and makes those who come later wait (shareBatch in db/facts.ts). So the batch,
//   its phases' statuses and its runbook stand still for as long as a decision takes.
// - Two who share it never have the same member: members are locked before their steps are read. What a decision reads and writes
//   but for the counters and the marks hangs on its own members.
// - The counters are added to at the very end, and the database says what they are then (db/counts.ts). With these the same pure
//   functions that open and close phases and look after the fuse are asked. If they have anything to do, all of it is rolled back
//   and done again alone: the last chunk of a phase, say, is done twice.
// - The mark of a phase whose steps are being written (expanded_through) moves beside others too. It passes a member only while
//   its mover has that member locked, and is read after locking (bringMembers), so nobody takes a member for one who is still to
//   get steps when the writer has been there already: that member would wait for ever.
import { enqueueNew } from '../bus/outbox.ts'
import { writeRows } from '../db/changes.ts'
import { addToCounts } from '../db/counts.ts'
import type { Tx } from '../db/db.ts'
import { shareBatch } from '../db/facts.ts'
import { keepQueryPlans } from '../db/query-plans.ts'
import type { Draft } from '../domain/decide/draft.ts'
import { checkFuse, closeFinished, updateCounters } from '../domain/decide/finish.ts'
import {
  type BatchTransaction,
  begin,
  commit,
  type Engine,
  jobMessages,
  loadTransaction,
  sendIntoFreeSlots,
} from './engine.ts'
import { isOutdated } from './version-upgrade.ts'

/** Thrown to roll back: what is to be done needs the batch alone. */
class NeedsExclusiveLock extends Error {
  override readonly name = 'MustBeAlone'
}

/**
 * Runs one change of members that `work` brings with `bringMembers`, beside others if it can and else alone. `work` may run
 * twice: it changes nothing but its visit.
 */
export async function changeMembers<T>(
  engine: Engine,
  batchId: number,
  actor: string,
  work: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> {
  return sharedElseExclusive(engine, async (tx, isAlone) => {
    const batchTx = await (isAlone ? begin : beginShared)(engine, tx, batchId, actor)
    const result = await work(batchTx)
    await (isAlone ? commit : commitShared)(batchTx)
    return result
  })
}

/** One transaction beside others, and when that cannot be, another one from the start, alone. */
export async function sharedElseExclusive<T>(
  engine: Engine,
  work: (tx: Tx, isAlone: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await engine.db.transaction((tx) => work(tx, false))
  } catch (error) {
    if (!(error instanceof NeedsExclusiveLock)) throw error
    return engine.db.transaction((tx) => work(tx, true))
  }
}

/** For work that finds out under way that it changes more than its members. */
export function requireExclusive({ isExclusive }: BatchTransaction): void {
  if (!isExclusive) throw new NeedsExclusiveLock()
}

/** Shares the batch. Whoever enters so leaves by `leaveBeside`, and up to there touches rows by their keys only. */
export async function beginShared(
  engine: Engine,
  tx: Tx,
  batchId: number,
  actor: string,
): Promise<BatchTransaction> {
  const [, batchTx] = await Promise.all([
    keepQueryPlans(tx),
    loadTransaction(engine, tx, shareBatch(tx, batchId), batchId, actor, false),
  ])
  if (isOutdated(batchTx.draft.batch)) throw new NeedsExclusiveLock()
  return batchTx
}

export async function commitShared(batchTx: BatchTransaction): Promise<void> {
  const { tx, draft, countsLoaded } = batchTx
  await sendIntoFreeSlots(batchTx)
  updateCounters(draft)
  requireMembersOnly(draft)
  for (const { id, fuseAcknowledged } of draft.changedPhases) {
    if (fuseAcknowledged !== countsLoaded.get(id)!.fuseAcknowledged) throw new NeedsExclusiveLock()
  }
  const sends = jobMessages(draft)
  await Promise.all([writeRows(tx, draft), sends.length > 0 && enqueueNew(tx, sends, draft.now)])
  // Last, and only when all else is written: whoever adds holds the phase until its commit. Given to the connection with the rest it
  // overtook the rows, and chunks of one phase waited for each other's writing: 15 ms each, an eighth of the rate.
  await addToCounts(tx, [...draft.changedPhases], countsLoaded)
  checkFuse(draft)
  closeFinished(draft)
  requireMembersOnly(draft)
}

function requireMembersOnly({
  isBatchChanged,
  wantsWithdrawal,
  failureChanges,
  events,
}: Draft): void {
  const isWider = events.some(({ thing }) => thing === 'phase' || thing === 'batch')
  if (isBatchChanged || wantsWithdrawal || failureChanges > 0 || isWider)
    throw new NeedsExclusiveLock()
}
