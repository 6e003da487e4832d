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
import { keepPlans } from '../db/plans.ts'
import type { Draft } from '../domain/decide/draft.ts'
import { checkFuse, close, count } from '../domain/decide/finish.ts'
import { type Door, enter, jobMessages, leave, makeVisit, sendInRoom, type Visit } from './door.ts'
import { isBehind } from './transition.ts'

/** Thrown to roll back: what is to be done needs the batch alone. */
class MustBeAlone extends Error {
  override readonly name = 'MustBeAlone'
}

/**
 * Runs one change of members that `work` brings with `bringMembers`, beside others if it can and else alone. `work` may run
 * twice: it changes nothing but its visit.
 */
export async function changeMembers<T>(
  door: Door,
  batchId: number,
  actor: string,
  work: (visit: Visit) => Promise<T>,
): Promise<T> {
  return besideElseAlone(door, async (tx, isAlone) => {
    const visit = await (isAlone ? enter : enterBeside)(door, tx, batchId, actor)
    const result = await work(visit)
    await (isAlone ? leave : leaveBeside)(visit)
    return result
  })
}

/** One transaction beside others, and when that cannot be, another one from the start, alone. */
export async function besideElseAlone<T>(
  door: Door,
  work: (tx: Tx, isAlone: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await door.db.transaction((tx) => work(tx, false))
  } catch (error) {
    if (!(error instanceof MustBeAlone)) throw error
    return door.db.transaction((tx) => work(tx, true))
  }
}

/** For work that finds out under way that it changes more than its members. */
export function requireAlone({ isAlone }: Visit): void {
  if (!isAlone) throw new MustBeAlone()
}

/** Shares the batch. Whoever enters so leaves by `leaveBeside`, and up to there touches rows by their keys only. */
export async function enterBeside(
  door: Door,
  tx: Tx,
  batchId: number,
  actor: string,
): Promise<Visit> {
  const [, visit] = await Promise.all([
    keepPlans(tx),
    makeVisit(door, tx, shareBatch(tx, batchId), batchId, actor, false),
  ])
  if (isBehind(visit.draft.batch)) throw new MustBeAlone()
  return visit
}

export async function leaveBeside(visit: Visit): Promise<void> {
  const { tx, draft, countsLoaded } = visit
  await sendInRoom(visit)
  count(draft)
  requireMembersOnly(draft)
  for (const { id, fuseAcknowledged } of draft.changedPhases) {
    if (fuseAcknowledged !== countsLoaded.get(id)!.fuseAcknowledged) throw new MustBeAlone()
  }
  const sends = jobMessages(draft)
  await Promise.all([writeRows(tx, draft), sends.length > 0 && enqueueNew(tx, sends, draft.now)])
  // Last, and only when all else is written: whoever adds holds the phase until its commit. Given to the connection with the rest it
  // overtook the rows, and chunks of one phase waited for each other's writing: 15 ms each, an eighth of the rate.
  await addToCounts(tx, [...draft.changedPhases], countsLoaded)
  checkFuse(draft)
  close(draft)
  requireMembersOnly(draft)
}

function requireMembersOnly({
  isBatchChanged,
  wantsWithdrawal,
  failureMoves,
  events,
}: Draft): void {
  const isWider = events.some(({ thing }) => thing === 'phase' || thing === 'batch')
  if (isBatchChanged || wantsWithdrawal || failureMoves > 0 || isWider) throw new MustBeAlone()
}
