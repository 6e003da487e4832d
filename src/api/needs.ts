// What needs a person besides failures, over all batches: decisions, holds that the program set, stuck work. Status and wall show it.
import { loadHolds } from '../db/holds.ts'
import { listWaitGroups, listWorkerFacts, type WorkerLine } from '../db/views/insight.ts'
import { listLateBatches } from '../db/views/status.ts'
import { attentionText, describeAttention } from '../domain/attention.ts'
import { countText } from '../domain/count-text.ts'
import { type Hold, holdsOnBatch, nameOfHeld, resumeCommand } from '../domain/holds.ts'
import { isBlocking, type Need } from '../domain/status.ts'
import { findStuck, isSilent, LATE_AFTER_MS } from '../domain/stuck.ts'
import { loadAttention } from '../engine/attention.ts'
import type { Engine } from '../engine/engine.ts'
import { loadBatchState } from './batch-state.ts'

/** Late batches that are looked at one by one; with more of them, that is said. */
const BATCHES_LOOKED_AT = 100
const STUCK_MAX = 20

export async function decisionNeeds(engine: Engine): Promise<Need[]> {
  const { items } = await loadAttention(engine)
  return items.map((item) => ({
    kind: 'decision',
    batchId: item.batchId,
    text: attentionText(item, (at) => at.toISOString()),
    people: [],
    count: item.count,
    command: describeAttention(item).command,
  }))
}

export const holdNeed = (hold: Hold): Need => ({
  kind: 'hold',
  batchId: hold.scope === 'batch' ? Number(hold.target) : hold.batchId,
  text: `${nameOfHeld(hold)} is held by the ${hold.heldBy} since ${hold.heldAt.toISOString()}: ${hold.reason}`,
  people: [],
  count: 1,
  command: resumeCommand(hold),
})

/** Finds late batches in one statement over all, and says why each is stuck. */
export async function stuckNeeds(
  engine: Engine,
  workers: readonly WorkerLine[],
  now: Date,
): Promise<Need[]> {
  const silent = workers.filter((worker) => !worker.isKnown || isSilent(worker, now))
  const late = new Date(+now - LATE_AFTER_MS)
  const workerIds = silent.map(({ workerId }) => workerId)
  const ids = await listLateBatches(engine.db, late, workerIds, BATCHES_LOOKED_AT + 1)
  const needs: Need[] = []
  let looked = 0
  for (const batchId of ids.slice(0, BATCHES_LOOKED_AT)) {
    if (needs.length >= STUCK_MAX) break
    needs.push(...(await stuckIn(engine, batchId, now)))
    looked += 1
  }
  const more = ids.length - looked
  return more === 0 ? needs : [...needs, notLookedAt(more, ids.length <= BATCHES_LOOKED_AT)]
}

/** Never silent about what was left out: somebody has to look. */
function notLookedAt(count: number, isExact: boolean): Need {
  const many = isExact ? countText(count, 'more batch is', 'more batches are') : 'More batches are'
  const text = `${many} late and may be stuck`
  const command = 'matoolkit batch list --sort oldest'
  return { kind: 'stuck', batchId: null, text, people: [], count, command }
}

async function stuckIn({ db, pace }: Engine, batchId: number, now: Date): Promise<Need[]> {
  const { line, phases } = await loadBatchState(db, batchId)
  const waits = await listWaitGroups(db, batchId, now)
  const loads = await listWorkerFacts(db, new Set(waits.map(({ workerId }) => workerId)))
  const workers = loads.map((load) => ({ ...load, window: pace.windowOf(load) }))
  const holds = holdsOnBatch(await loadHolds(db, batchId))
  return findStuck({ batch: line, holds, phases, waits, workers, openReviews: 0, now })
    .filter(({ kind }) => isBlocking(kind))
    .map(({ because, count }) => ({
      kind: 'stuck',
      batchId,
      text: `batch ${batchId} is stuck: ${because}`,
      people: [],
      count,
      command: `matoolkit stuck ${batchId}`,
    }))
}
