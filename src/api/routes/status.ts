// The state of everything on one page: whether somebody is needed, what runs and comes next, sources, workers, holds. Every list is
// bounded, and nothing here counts members or steps.

import { z } from 'zod'
import { commandLine } from '../../base/text/command-line.ts'
import { countText } from '../../base/text/count-text.ts'
import { listHolds } from '../../db/state/holds.ts'
import {
  keysOfMembers,
  listFailedBatches,
  listPhaseOutlook,
  listSourceOutlook,
  type PhaseOutlook,
} from '../../db/views/status.ts'
import { listWorkers, type WorkerLine } from '../../db/views/workers.ts'
import { headlineOf, isAutomaticHold, NEED_KINDS, type Need } from '../../domain/needs/status.ts'
import { isSilent, WORKER_STATES, workerState } from '../../domain/needs/stuck.ts'
import { PHASE_STATUSES } from '../../domain/state/transitions.ts'
import { forecastBatches } from '../../engine/needs/batch-forecasts.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { read } from '../route.ts'
import type { FailureCache } from '../services/failure-cache.ts'
import { loadBatchStates } from '../shapes/batch-state.ts'
import { holdInForce, shownHold } from '../shapes/hold-shapes.ts'
import { decisionNeeds, holdNeed, missNeeds, stuckNeeds } from '../shapes/needs.ts'
import { dateTime, nullableDateTime, nullableText, wholeCount } from '../shapes/shapes.ts'

const PHASES_MAX = 100
const SOURCES_MAX = 100
const HOLDS_MAX = 100
const FAILED_BATCHES_MAX = 20
/** Running batches whose end is estimated. */
const ESTIMATED_MAX = 20
const CAUSES_MAX = 3
/** Batches that ended longer ago are no news tonight. */
export const NEWS_MS = 24 * 3_600_000

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

export const sourceOutlook = z
  .strictObject({
    runbookName: z.string(),
    lastTickAt: nullableDateTime,
    lastOutcome: nullableText,
    nextTickAt: nullableDateTime,
  })
  .meta({ id: 'SourceOutlook' })

export const workerOutlook = z
  .strictObject({
    workerId: z.string(),
    isKnown: z.boolean(),
    isSilent: z.boolean(),
    state: z.enum(WORKER_STATES),
    lastSeenAt: nullableDateTime,
    slots: z.int().nullable(),
    busy: wholeCount.meta({ description: 'Outstanding jobs.' }),
    waiting: wholeCount.meta({ description: 'Steps that wait for a free slot.' }),
  })
  .meta({ id: 'WorkerOutlook' })

export const shownWorker = (line: WorkerLine, now: Date): z.input<typeof workerOutlook> => ({
  workerId: line.workerId,
  isKnown: line.isKnown,
  isSilent: isSilent(line, now),
  state: workerState({ ...line, isHeld: line.heldAt !== null }, now),
  lastSeenAt: line.lastSeenAt,
  slots: line.slots,
  busy: line.outstanding,
  waiting: line.waiting,
})

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
    sources: z.array(sourceOutlook),
    workers: z.array(workerOutlook),
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
      ...(await decisionNeeds(engine)),
      ...holds.filter(({ heldBy }) => isAutomaticHold(heldBy)).map(holdNeed),
      ...(await stuckNeeds(engine, lines, now)),
      ...(await missNeeds(engine)),
      ...(await failureNeeds(engine, failureCache, now)),
    ]
    const body = {
      at: now,
      isSomebodyNeeded: needs.length > 0,
      headline: headlineOf(needs, phases.filter(isRunning).length, nextOf(phases)),
      needs,
      phases: await withEnds(engine, phases, now),
      sources: await listSourceOutlook(db, SOURCES_MAX),
      workers: lines.map((line) => shownWorker(line, now)),
      holds: holds.map(shownHold),
    }
    return { status: 200, body }
  },
})

/** Running phases with the end of their batch. */
async function withEnds(engine: Engine, phases: readonly PhaseOutlook[], now: Date) {
  const running = new Set(phases.filter(isRunning).map(({ batchId }) => batchId))
  const states = await loadBatchStates(engine.db, [...running].slice(0, ESTIMATED_MAX))
  const ends = await forecastBatches(engine, states, now)
  return phases.map((phase) => {
    const end = isRunning(phase) ? ends.get(phase.batchId)?.forecast : undefined
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

async function failureNeeds({ db }: Engine, cache: FailureCache, now: Date): Promise<Need[]> {
  const since = new Date(+now - NEWS_MS)
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
        command: commandLine`failures ${batch.id}`,
      })
    }
  }
  return needs
}

const TEXT_MAX = 200
const firstLine = (message: string): string =>
  message.split('\n')[0]!.slice(0, TEXT_MAX).replace(/\.$/, '')

export const STATUS_ROUTES = [statusRoute]
