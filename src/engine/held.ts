// What a person decides about what ticks have left open. A decision names the held changes it was made about; if one of them is no
// longer held as it was seen, nothing is done and the person looks again. Many are done in chunks, a transaction each, and each
// chunk looks once more. Held members carry on meanwhile.
import { chunksOf } from '../chunks.ts'
import { findMembersByKey } from '../db/batches.ts'
import { insertEvents } from '../db/changes.ts'
import type { Tx } from '../db/db.ts'
import {
  dropHeld,
  dropMovesTo,
  findHeld,
  type HeldItem,
  lockHeld,
  markDismissed,
} from '../db/held-changes.ts'
import {
  addSourceTime,
  findBatchByTime,
  findPast,
  markGone,
  type NewData,
  refreshMembers,
} from '../db/membership.ts'
import { reschedule } from '../domain/decide/course.ts'
import type { EventRecord } from '../domain/decide/draft.ts'
import { foldKey } from '../domain/member-key.ts'
import { MatoolkitError } from '../errors.ts'
import { addMembers, createBatch, type GivenMember, hashOf } from './create.ts'
import { changeBatch, type Door } from './door.ts'
import { type Outcome, removeMembers, takeBackMembers } from './members.ts'
import { doorThatFirst } from './membership-fence.ts'
import { moveMembers } from './membership-moves.ts'
import { releaseBatch } from './membership-release.ts'
import { insist } from './operate.ts'

/** In one transaction, so that what was seen and what is done are the same. */
const HELD_PER_CHUNK = 500

export interface HeldOrder {
  /** The held changes as they were listed. */
  readonly heldIds: readonly number[]
  readonly actor: string
  readonly reason: string
}

/** They leave their batches, as the source wants it. */
export async function confirmRemovals(door: Door, order: HeldOrder): Promise<Outcome> {
  const items = await requireHeld(door, order, 'removal')
  return eachBatch(items, (batchId, chunk) =>
    removeMembers(decided(door, chunk), {
      batchId,
      memberIds: chunk.map(({ memberId }) => memberId!),
      actor: order.actor,
      by: 'source',
      reason: order.reason,
    }),
  )
}

/** They stay as they are: who has left until the key is back, who came late as long as it stands in that group. */
export async function dismissHeld(door: Door, order: HeldOrder): Promise<void> {
  const items = await requireHeld(door, order)
  if (items.some(({ kind }) => kind === 'move'))
    insist('a move is decided with reschedule, move or keep, not dismissed')
  await dismiss(door, items, order)
}

async function dismiss(
  { db, clock }: Door,
  items: readonly HeldItem[],
  { actor, reason }: HeldOrder,
): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    await lockAll(tx, idsOf(items))
    await markDismissed(tx, idsOf(items), actor, now)
    for (const [batchId, some] of Map.groupBy(items, (item) => item.batchId)) {
      const because = `${some.length} held ${some[0]!.kind}(s) were dismissed: ${reason}`
      await insertEvents(tx, batchId, now, actor, [dismissedEvent(because, batchId === null)])
    }
  })
}

const dismissedEvent = (because: string, isOfRunbook: boolean): EventRecord => ({
  ...{ thing: isOfRunbook ? 'runbook' : 'batch', event: 'held_dismissed', because },
  ...{ from: null, to: null, memberId: null, phaseId: null, stepId: null },
  ...{ attempt: null, jobId: null, details: null },
})

/** Latecomers join after all: a batch that has ended opens again, and where there is none it is made. */
export async function admit(door: Door, order: HeldOrder): Promise<{ joined: number }> {
  const items = await requireHeld(door, order, 'join')
  let joined = 0
  for (const group of Map.groupBy(items, placeOf).values()) {
    for (const chunk of chunksOf(group, HELD_PER_CHUNK))
      joined += await admitChunk(door, chunk, order)
  }
  return { joined }
}

const placeOf = ({ runbookName, batchId, toTime }: HeldItem): string =>
  `${runbookName} ${batchId} ${toTime?.toISOString()}`

async function admitChunk(
  door: Door,
  chunk: readonly HeldItem[],
  order: HeldOrder,
): Promise<number> {
  const { runbookName, toTime, batchId } = chunk[0]!
  const guarded = decided(door, chunk)
  const members = chunk.map(({ key, data }) => ({ key, data: data! }))
  const target = batchId ?? (await findBatchByTime(door.db, runbookName, toTime!))?.id
  if (target === undefined) {
    await createBatch(guarded, { runbookName, sourceTime: toTime, members, createdBy: order.actor })
    return members.length
  }
  const { added } = await addMembers(guarded, target, members, order.actor)
  return added.length + (await takeBackLeavers(door, target, members, order))
}

/** Of those admitted, who had been in the batch and left it: their rows are there already. */
async function takeBackLeavers(
  door: Door,
  batchId: number,
  members: readonly GivenMember[],
  { actor, reason }: HeldOrder,
): Promise<number> {
  const given = new Map(members.map((member) => [foldKey(member.key), member]))
  const rows = await findMembersByKey(door.db, batchId, [...given.keys()])
  const removed = rows.filter(({ status }) => status === 'removed')
  if (removed.length === 0) return 0
  const memberIds = removed.map(({ id }) => id)
  const fresh = removed.map(({ id, key }) => newData(id, given.get(foldKey(key))!))
  await changeBatch(door, batchId, actor, ({ tx }) => refreshMembers(tx, batchId, fresh))
  const outcome = await takeBackMembers(door, { batchId, memberIds, event: 'readd', actor, reason })
  return outcome.done.length
}

const newData = (memberId: number, { key, data }: GivenMember): NewData => ({
  memberId,
  key,
  data: JSON.stringify(data),
  hash: hashOf(data),
})

export type WaveChoice = 'reschedule' | 'move' | 'keep'

export interface WaveOrder extends HeldOrder {
  readonly choice: WaveChoice
}

/**
 * Moves that were held, all from one batch to one time. `reschedule`: it is the same wave on another date, so the batch starts then
 * and the new time means it too. `move`: these members go there. `keep`: they stay, as long as the source has them there. The
 * batches that were held over it go on when nothing is left to decide.
 */
export async function decideMoves(door: Door, order: WaveOrder): Promise<Outcome> {
  const items = await requireHeld(door, order, 'move')
  const { batchId, toTime, runbookName } = items[0]!
  if (items.some((item) => item.batchId !== batchId || +item.toTime! !== +toTime!))
    insist('these moves begin in several batches or lead to several times; decide about each apart')
  const outcome = await carryOutChoice(door, items, order)
  const target = await findBatchByTime(door.db, runbookName, toTime!)
  for (const id of new Set([batchId!, ...(target ? [target.id] : [])]))
    await releaseBatch(door, id, order.actor, `${order.choice}: ${order.reason}`)
  return outcome
}

async function carryOutChoice(
  door: Door,
  items: readonly HeldItem[],
  order: WaveOrder,
): Promise<Outcome> {
  const { batchId, toTime, runbookName } = items[0]!
  const memberIds = items.map(({ memberId }) => memberId!)
  if (order.choice === 'keep') {
    await dismiss(door, items, order)
    return { done: memberIds, refused: [] }
  }
  if (order.choice === 'reschedule') {
    await rescheduleWave(door, items, order)
    return { done: memberIds, refused: [] }
  }
  return eachBatch(items, async (_batchId, chunk) => {
    const seen = doorThatFirst(door, (tx) => lockAll(tx, idsOf(chunk)))
    const outcome = await moveMembers(seen, {
      batchId: batchId!,
      memberIds: chunk.map(({ memberId }) => memberId!),
      to: { runbookName, time: toTime! },
      actor: order.actor,
      by: 'source',
      reason: order.reason,
    })
    // Who could not move yet (a job is out) stays on the list, and the batch stays held: nothing new is sent meanwhile.
    const moved = new Set(outcome.done)
    const gone = chunk.filter(({ memberId }) => moved.has(memberId!))
    await door.db.transaction((tx) => dropHeld(tx, idsOf(gone)))
    return outcome
  })
}

const idsOf = (items: readonly HeldItem[]): number[] => items.map(({ id }) => id)

async function rescheduleWave(
  door: Door,
  items: readonly HeldItem[],
  { actor, reason }: WaveOrder,
): Promise<void> {
  const { batchId, toTime, cause } = items[0]!
  if (cause !== 'redated')
    insist(`batch ${batchId} is still in the source at its own time; choose move or keep`)
  // All that lead there, also those that were not named: the wave as a whole has got another date.
  const guarded = doorThatFirst(door, async (tx) => {
    await lockAll(tx, idsOf(items))
    await dropMovesTo(tx, batchId!, toTime!)
  })
  await changeBatch(guarded, batchId!, actor, async ({ tx, draft }) => {
    insist(reschedule(draft, toTime!, reason))
    await addSourceTime(tx, batchId!, toTime!, actor, draft.now)
  })
}

/** Immediate runbooks: whoever was in a batch that has ended starts again at the next tick, as if the key had been gone. */
export async function startAgain(
  door: Door,
  order: { runbookName: string; keys: readonly string[]; actor: string },
): Promise<{ found: number }> {
  const past = await findPast(door.db, order.runbookName, order.keys.map(foldKey))
  const ids = [...past.values()].map(([newest]) => newest!.memberId)
  await door.db.transaction((tx) => markGone(tx, order.runbookName, ids, door.clock.now()))
  return { found: ids.length }
}

async function eachBatch(
  items: readonly HeldItem[],
  run: (batchId: number, chunk: readonly HeldItem[]) => Promise<Outcome>,
): Promise<Outcome> {
  const outcome: Outcome = { done: [], refused: [] }
  const byBatch = [...Map.groupBy(items, ({ batchId }) => batchId!)].sort(([a], [b]) => a - b)
  for (const [batchId, some] of byBatch) {
    for (const chunk of chunksOf(some, HELD_PER_CHUNK)) {
      const { done, refused } = await run(batchId, chunk)
      outcome.done.push(...done)
      outcome.refused.push(...refused)
    }
  }
  return outcome
}

/** A door whose work takes these off the list, or is not done at all. */
const decided = (door: Door, items: readonly HeldItem[]): Door =>
  doorThatFirst(door, async (tx) => {
    await lockAll(tx, idsOf(items))
    await dropHeld(tx, idsOf(items))
  })

async function lockAll(tx: Tx, ids: readonly number[]): Promise<void> {
  requireAll(ids, (await lockHeld(tx, ids)).length)
}

const requireAll = (ids: readonly number[], found: number): void => {
  if (found < ids.length)
    throw new MatoolkitError('HELD_CHANGED', { count: ids.length - found, asked: ids.length })
}

async function requireHeld(
  { db }: Door,
  { heldIds }: HeldOrder,
  kind?: HeldItem['kind'],
): Promise<HeldItem[]> {
  const ids = [...new Set(heldIds)]
  if (ids.length === 0) insist('no held change was named')
  const items = await findHeld(db, ids)
  requireAll(ids, items.length)
  const other = items.find((item) => kind !== undefined && item.kind !== kind)
  if (other) insist(`held change ${other.id} is a ${other.kind}, not a ${kind}`)
  return items
}
