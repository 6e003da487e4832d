// What needs a person besides failures, over all batches: decisions, holds that the program set, stuck work, phases that will be late.
// Status and wall show it.

import { commandLine } from '../../base/text/command-line.ts'
import { countText } from '../../base/text/count-text.ts'
import { listMisses } from '../../db/orders/forecast-misses.ts'
import type { WorkerLine } from '../../db/views/workers.ts'
import { attentionText, describeAttention } from '../../domain/needs/attention.ts'
import { isBlocking, type Need } from '../../domain/needs/status.ts'
import { type Hold, nameOfHeld, resumeCommand } from '../../domain/state/holds.ts'
import { loadAttention } from '../../engine/needs/attention.ts'
import { findLateBatches, loadStuck } from '../../engine/needs/stuck-batches.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

/** Late batches that are looked at one by one; with more of them, that is said. */
const BATCHES_LOOKED_AT = 100
const STUCK_MAX = 20
const MISSES_MAX = 20

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

/** As people were told; the forecast has the present figures. */
export const missNeeds = async ({ db }: Engine): Promise<Need[]> =>
  (await listMisses(db, MISSES_MAX)).map(({ batchId, because }) => ({
    kind: 'miss',
    batchId,
    text: `batch ${batchId}: ${because}`,
    people: [],
    count: 1,
    command: commandLine`batch forecast ${batchId}`,
  }))

/** Finds late batches in one statement over all, and says why each is stuck. */
export async function stuckNeeds(
  engine: Engine,
  workers: readonly WorkerLine[],
  now: Date,
): Promise<Need[]> {
  const ids = await findLateBatches(engine.db, workers, now, BATCHES_LOOKED_AT + 1)
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
  const command = commandLine`batch list --sort oldest`
  return { kind: 'stuck', batchId: null, text, people: [], count, command }
}

async function stuckIn({ db, pace }: Engine, batchId: number, now: Date): Promise<Need[]> {
  const { stuck } = (await loadStuck(db, pace, batchId, now)) ?? { stuck: [] }
  return stuck
    .filter(({ kind }) => isBlocking(kind))
    .map(({ because, count }) => ({
      kind: 'stuck',
      batchId,
      text: `batch ${batchId} is stuck: ${because}`,
      people: [],
      count,
      command: commandLine`stuck ${batchId}`,
    }))
}
