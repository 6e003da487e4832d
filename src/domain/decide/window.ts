// A worker's free slots, shared fairly between the batches that wait for it.
import type { Draft } from './draft.ts'

/**
 * Slots that each waiting batch may take now. Free slots go to the batches with the fewest outstanding jobs until all are level.
 * Among equals the turn goes round, starting after `lastServed`: else, with fewer slots than batches, the first would be served
 * until it has nothing left to send.
 */
export function shareSlots(
  limit: number,
  waiting: readonly number[],
  outstanding: ReadonlyMap<number, number>,
  lastServed = 0,
): Map<number, number> {
  const turn = (batchId: number) => (batchId > lastServed ? 0 : 1)
  let free = limit
  for (const jobs of outstanding.values()) free -= jobs
  const share = new Map(waiting.map((batchId) => [batchId, 0]))
  const level = waiting
    .map((batchId) => ({ batchId, jobs: outstanding.get(batchId) ?? 0 }))
    .sort((a, b) => a.jobs - b.jobs || turn(a.batchId) - turn(b.batchId) || a.batchId - b.batchId)
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

/** Of the slots that a batch has just freed, those it may reuse at once while other batches wait: up to its fair share. */
export function slotsToReuse(
  limit: number,
  rivals: number,
  outstanding: number,
  freed: number,
): number {
  if (rivals === 0) return freed
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
