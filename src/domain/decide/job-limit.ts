// A worker's free slots, shared fairly between the batches that wait for it. Its job limit is in pace.ts.
import type { Draft } from './draft.ts'

/**
 * Batches that have a worker's slots at the same time; more take turns. Batches share transactions, but each still costs a draft and a
 * row of counters there: with 64 a chunk of results has some eight members of each. With 16 each took longer to begin, and slots
 * were free for longer between two turns.
 */
const SHARERS_MAX = 64

/** The rivals that a batch need count: from here on they take turns. */
export const RIVALS_MAX = SHARERS_MAX

const sharersOf = (limit: number): number => Math.max(1, Math.min(limit, SHARERS_MAX))

/** A batch's slots while batches take turns. */
const blockOf = (limit: number): number => Math.max(1, Math.floor(limit / SHARERS_MAX))

/** `large`: while batches take turns, leave a part of a block free until it has grown. A part of its size costs as much as the whole. */
export type Blocks = 'any' | 'large'

/** Slots without a job. */
export function slotsFree(limit: number, outstanding: ReadonlyMap<number, number>): number {
  let free = limit
  for (const jobs of outstanding.values()) free -= jobs
  return free
}

/**
 * Slots that each waiting batch may take now, first come first. Free slots go to the batches with the fewest outstanding jobs until
 * all are level, or in blocks when more batches wait than may share. Among equals the turn goes round, starting after `lastServed`:
 * else the first would be served until it has nothing left to send.
 */
export function shareSlots(
  limit: number,
  waiting: readonly number[],
  outstanding: ReadonlyMap<number, number>,
  { lastServed = 0, blocks = 'any' }: { lastServed?: number; blocks?: Blocks } = {},
): Map<number, number> {
  const turn = (batchId: number) => (batchId > lastServed ? 0 : 1)
  const free = slotsFree(limit, outstanding)
  const level = waiting
    .map((batchId) => ({ batchId, jobs: outstanding.get(batchId) ?? 0 }))
    .sort((a, b) => a.jobs - b.jobs || turn(a.batchId) - turn(b.batchId) || a.batchId - b.batchId)
  return level.length > sharersOf(limit)
    ? inBlocks(level, free, blockOf(limit), blocks)
    : untilLevel(level, free)
}

interface Level {
  readonly batchId: number
  readonly jobs: number
}

function untilLevel(level: readonly Level[], slots: number): Map<number, number> {
  let free = slots
  const share = new Map(level.map(({ batchId }) => [batchId, 0]))
  for (let low = 0; low < level.length && free > 0; low++) {
    // Raise the `low + 1` lowest batches to the next one's level, or as far as the free slots go.
    const ceiling = level[low + 1]?.jobs ?? Infinity
    const rise = Math.min(ceiling - level[low]!.jobs, Math.floor(free / (low + 1)))
    for (let i = 0; i <= low; i++) add(share, level[i]!.batchId, rise)
    free -= rise * (low + 1)
    if (rise < ceiling - level[low]!.jobs) {
      for (let i = 0; i <= low && free > 0; i++, free--) add(share, level[i]!.batchId, 1)
      break
    }
  }
  return share
}

function inBlocks(
  level: readonly Level[],
  slots: number,
  block: number,
  blocks: Blocks,
): Map<number, number> {
  const least = blocks === 'any' ? 1 : Math.ceil(block / 2)
  let free = slots
  const share = new Map<number, number>()
  for (const { batchId, jobs } of level) {
    const part = Math.max(0, Math.min(free, block - jobs))
    const given = part >= least ? part : 0
    share.set(batchId, given)
    free -= given
  }
  return share
}

/** More batches want the worker than may share it. `rivals` are the others. */
export const takeTurns = (limit: number, rivals: number): boolean => rivals + 1 > sharersOf(limit)

/**
 * Of the slots that a batch has just freed, those it may reuse at once while other batches wait: up to its fair share. While batches
 * take turns, its members who have begun keep their slots and continue; slots that they leave go to the next batch.
 */
export function slotsToReuse(
  limit: number,
  rivals: number,
  outstanding: number,
  freed: number,
): number {
  if (rivals === 0 || takeTurns(limit, rivals)) return freed
  const fairShare = Math.max(1, Math.floor(limit / (rivals + 1)))
  return Math.max(0, Math.min(freed, fairShare - outstanding))
}

/** True when a transaction freed more of a worker's slots than it used, or left a step waiting for one. */
export function leavesSlots({ attempts, jobs, changedWaits }: Draft): boolean {
  const freed = new Map<string, number>()
  for (const { workerId } of attempts) add(freed, workerId, 1)
  for (const { step } of jobs) add(freed, step.definition.workerId, -1)
  for (const slots of freed.values()) if (slots > 0) return true
  for (const { wait } of changedWaits) if (wait?.kind === 'slot') return true
  return false
}

const add = <Key>(slots: Map<Key, number>, key: Key, by: number) =>
  slots.set(key, (slots.get(key) ?? 0) + by)
