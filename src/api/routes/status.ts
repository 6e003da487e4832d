// The state of everything on one page: whether somebody is needed, what runs and comes next, sources, workers, holds. Every list is
// bounded, and nothing here counts members or steps.
import { z } from 'zod'
import { listHolds, loadHolds } from '../../db/holds.ts'
import {
  listWaitGroups,
  listWorkerFacts,
  listWorkers,
  type WorkerLine,
} from '../../db/views/insight.ts'
import {
  keysOfMembers,
  listFailedBatches,
  listLateBatches,
  listPhaseOutlook,
  listSourceOutlook,
  type PhaseOutlook,
} from '../../db/views/status.ts'
import { attentionText, describeAttention } from '../../domain/attention.ts'
import { countText } from '../../domain/count-text.ts'
import type { Forecast } from '../../domain/forecast.ts'
import { type Hold, holdsOnBatch, nameOfHeld, resumeCommand } from '../../domain/holds.ts'
import {
  headlineOf,
  isAutomaticHold,
  isBlocking,
  NEED_KINDS,
  type Need,
} from '../../domain/status.ts'
import { findStuck, isSilent, LATE_AFTER_MS } from '../../domain/stuck.ts'
import { PHASE_STATUSES } from '../../domain/transitions.ts'
import { loadAttention } from '../../engine/attention.ts'
import type { Engine } from '../../engine/engine.ts'
import { estimateBatch } from '../batch-estimate.ts'
import { loadBatchState } from '../batch-state.ts'
import type { FailureCache } from '../failure-cache.ts'
import { holdInForce, shownHold } from '../hold-shapes.ts'
import { type Route, read } from '../route.ts'
import { dateTime, nullableDateTime, nullableText, wholeCount } from '../shapes.ts'

const PHASES_MAX = 100
const SOURCES_MAX = 100
const HOLDS_MAX = 100
/** Late batches that are looked at one by one; with more of them, that is said. */
const BATCHES_LOOKED_AT = 100
const STUCK_MAX = 20
const FAILED_BATCHES_MAX = 20
/** Running batches whose end is estimated. */
const ESTIMATED_MAX = 20
const CAUSES_MAX = 3
/** Failures of batches that ended longer ago are no news tonight. */
const FAILURES_SINCE_MS = 24 * 3_600_000

const need = z
  .strictObject({
    kind: z.enum(NEED_KINDS),
    batchId: z.int().nullable(),
    text: z.string().meta({ description: 'A sentence; times in UTC.' }),
    people: z.array(z.string()).meta({ description: 'The first people concerned.' }),
    count: wholeCount.meta({ description: 'All of them.' }),
    command: z.string().meta({ description: 'Handles it, or shows it in full.' }),
  })
  .meta({ id: 'Need' })

const status = z
  .strictObject({
    at: dateTime,
    isSomebodyNeeded: z.boolean(),
    headline: z.string(),
    needs: z.array(need),
    phases: z
      .array(
        z.strictObject({
          batchId: z.int(),
          runbookName: z.string(),
          phaseName: z.string(),
          status: z.enum(PHASE_STATUSES),
          dueAt: nullableDateTime,
          startedAt: nullableDateTime,
          isManual: z.boolean(),
          heldAt: nullableDateTime,
          membersTotal: wholeCount,
          membersDone: wholeCount,
          membersActive: wholeCount,
          batchEndsAt: nullableDateTime.meta({
            description: `Estimated end of the batch, as in its summary; of the first ${ESTIMATED_MAX} with a running phase.`,
          }),
          noEstimateBecause: nullableText.meta({
            description: 'Why a batch with a running phase has none, such as a hold.',
          }),
        }),
      )
      .meta({ description: `Running, then the next of each batch; at most ${PHASES_MAX}.` }),
    sources: z.array(
      z.strictObject({
        runbookName: z.string(),
        lastTickAt: nullableDateTime,
        lastOutcome: nullableText,
        nextTickAt: nullableDateTime,
      }),
    ),
    workers: z.array(
      z.strictObject({
        workerId: z.string(),
        isKnown: z.boolean(),
        isSilent: z.boolean(),
        lastSeenAt: nullableDateTime,
        slots: z.int().nullable(),
        busy: wholeCount.meta({ description: 'Outstanding jobs.' }),
        waiting: wholeCount.meta({ description: 'Steps that wait for a free slot.' }),
      }),
    ),
    holds: z.array(holdInForce),
  })
  .meta({ id: 'Status' })

const statusRoute = read({
  method: 'GET',
  path: '/api/status',
  operation: 'getStatus',
  tag: 'service',
  summary: 'Show whether somebody is needed, what runs and what comes next, over all batches',
  rule: 'reader',
  isPersonal: true,
  answers: { 200: status },
  handle: async ({ engine, services: { failureCache }, now }) => {
    const { db } = engine
    const phases = await listPhaseOutlook(db, PHASES_MAX)
    const { holds } = await listHolds(db, {}, null, HOLDS_MAX)
    const lines = await listWorkers(db)
    const needs = [
      ...(await decisions(engine)),
      ...holds.filter(({ heldBy }) => isAutomaticHold(heldBy)).map(holdNeed),
      ...(await stuckNeeds(engine, lines, now)),
      ...(await failureNeeds(engine, failureCache, now)),
    ]
    const workers = lines.map((line) => ({
      workerId: line.workerId,
      isKnown: line.isKnown,
      isSilent: isSilent(line, now),
      lastSeenAt: line.lastSeenAt,
      slots: line.slots,
      busy: line.outstanding,
      waiting: line.waiting,
    }))
    const body = {
      at: now,
      isSomebodyNeeded: needs.length > 0,
      headline: headlineOf(needs, phases.filter(isRunning).length, nextOf(phases)),
      needs,
      phases: await withEnds(engine, phases, now),
      sources: await listSourceOutlook(db, SOURCES_MAX),
      workers,
      holds: holds.map(shownHold),
    }
    return { status: 200, body }
  },
})

/** Running phases with the end of their batch. */
async function withEnds(engine: Engine, phases: readonly PhaseOutlook[], now: Date) {
  const running = new Set(phases.filter(isRunning).map(({ batchId }) => batchId))
  const ends = new Map<number, Forecast>()
  for (const batchId of [...running].slice(0, ESTIMATED_MAX)) {
    const state = await loadBatchState(engine.db, batchId)
    ends.set(batchId, (await estimateBatch(engine, state, now)).estimate)
  }
  return phases.map((phase) => {
    const end = isRunning(phase) ? ends.get(phase.batchId) : undefined
    const batchEndsAt = end?.endsAt ?? null
    return {
      ...phase,
      batchEndsAt,
      noEstimateBecause: end && batchEndsAt === null ? end.because : null,
    }
  })
}

const isRunning = (phase: PhaseOutlook): boolean => phase.status === 'dispatched'

function nextOf(phases: readonly PhaseOutlook[]): string | null {
  const next = phases.find((phase) => !isRunning(phase) && phase.dueAt !== null)
  if (!next) return null
  return `${next.phaseName} of batch ${next.batchId} at ${next.dueAt!.toISOString()}`
}

async function decisions(engine: Engine): Promise<Need[]> {
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

const holdNeed = (hold: Hold): Need => ({
  kind: 'hold',
  batchId: hold.scope === 'batch' ? Number(hold.target) : hold.batchId,
  text: `${nameOfHeld(hold)} is held by the ${hold.heldBy} since ${hold.heldAt.toISOString()}: ${hold.reason}`,
  people: [],
  count: 1,
  command: resumeCommand(hold),
})

/** Finds late batches in one statement over all, and says why each is stuck. */
async function stuckNeeds(
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

async function failureNeeds({ db }: Engine, cache: FailureCache, now: Date): Promise<Need[]> {
  const since = new Date(+now - FAILURES_SINCE_MS)
  const needs: Need[] = []
  for (const batch of await listFailedBatches(db, since, FAILED_BATCHES_MAX)) {
    const { groups } = await cache.groups(db, batch)
    const shown = groups.slice(0, CAUSES_MAX)
    const keys = await keysOfMembers(
      db,
      shown.flatMap(({ memberIds }) => memberIds),
    )
    for (const { phaseName, stepName, count, memberIds, sample } of shown) {
      const people = memberIds.map((memberId) => keys.get(memberId)!)
      const who = phaseName === null ? 'init' : countText(count, 'person', 'people')
      needs.push({
        kind: 'failure',
        batchId: batch.id,
        text: `${who} of batch ${batch.id} failed at ${stepName}: ${firstLine(sample.message)}`,
        people,
        count,
        command: `matoolkit failures ${batch.id}`,
      })
    }
  }
  return needs
}

const TEXT_MAX = 200
const firstLine = (message: string): string =>
  message.split('\n')[0]!.slice(0, TEXT_MAX).replace(/\.$/, '')

export const STATUS_ROUTES: readonly Route[] = [statusRoute]
