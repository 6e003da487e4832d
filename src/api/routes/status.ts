// The state of everything on one page: whether action is needed, what runs and comes next, sources, workers, holds. Every list is
// bounded, and nothing here counts members or steps.

import { z } from 'zod'
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
import { batchIdOf, type Need } from '../../domain/needs/needs.ts'
import { isSilent, WORKER_STATES, workerState } from '../../domain/needs/stuck.ts'
import { PHASE_STATUSES } from '../../domain/state/transitions.ts'
import { forecastBatches } from '../../engine/needs/batch-forecasts.ts'
import { loadVerdict } from '../../engine/needs/find-needs.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { read } from '../route.ts'
import type { FailureCache } from '../services/failure-cache.ts'
import { loadBatchStates } from '../shapes/batch-state.ts'
import { holdInForce, shownHold } from '../shapes/hold-shapes.ts'
import { dateTime, nullableDateTime, nullableText, wholeCount } from '../shapes/shapes.ts'
import { needFields, shownVerdict, verdictFields } from '../shapes/verdict-shape.ts'

const PHASES_MAX = 100
const SOURCES_MAX = 100
const HOLDS_MAX = 100
const FAILED_BATCHES_MAX = 20
/** Running batches whose end is estimated. */
const ESTIMATED_MAX = 20
const CAUSES_MAX = 3
const causedNeed = z
  .strictObject({
    ...needFields,
    causes: z
      .array(
        z.strictObject({
          text: z.string().meta({ description: 'Where they failed, and the first line of why.' }),
          people: z.array(z.string()).meta({ description: 'The first people concerned.' }),
          count: wholeCount.meta({ description: 'All of them.' }),
        }),
      )
      .meta({ description: `Of failures: the largest ${CAUSES_MAX} groups.` }),
  })
  .meta({ id: 'CausedNeed' })

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
    ...verdictFields,
    needs: z.array(causedNeed).meta({ description: 'The greatest harm first.' }),
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
          nightEndsAt: nullableDateTime.meta({
            description: `Estimated end of tonight's phases, as in the summary; of the first ${ESTIMATED_MAX} with a running phase.`,
          }),
          nightLatestAt: nullableDateTime.meta({
            description: 'Nine of ten such nights end by then.',
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
  summary: 'Show whether action is needed, what runs and what comes next, over all batches',
  rule: 'reader',
  isPersonal: true,
  answers: { 200: status },
  handle: async ({ engine, services: { failureCache }, now }) => {
    const { db } = engine
    const phases = await listPhaseOutlook(db, PHASES_MAX)
    const { holds } = await listHolds(db, {}, null, HOLDS_MAX)
    const lines = await listWorkers(db)
    const verdict = await loadVerdict(engine, now)
    const causes = await causesOf(engine, failureCache, verdict.needs)
    const { needs, ...shown } = shownVerdict(verdict)
    const body = {
      at: now,
      ...shown,
      needs: needs.map((need) => ({ ...need, causes: causes.get(need.key) ?? [] })),
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
    const nightEndsAt = end?.night?.endsAt ?? null
    return {
      ...phase,
      nightEndsAt,
      nightLatestAt: end?.night?.p90 ?? null,
      noEstimateBecause: end && nightEndsAt === null ? (end.night?.because ?? end.because) : null,
    }
  })
}

const isRunning = (phase: PhaseOutlook): boolean => phase.status === 'dispatched'

/** By the need's key: who failed where. Personal, so it is here and not in the need's sentence. */
async function causesOf(
  { db }: Engine,
  cache: FailureCache,
  needs: readonly Need[],
): Promise<ReadonlyMap<string, z.input<typeof causedNeed>['causes']>> {
  const failed = new Map(
    needs.flatMap((need) => (need.kind === 'people_failed' ? [[batchIdOf(need)!, need.key]] : [])),
  )
  const found = new Map<string, z.input<typeof causedNeed>['causes']>()
  if (failed.size === 0) return found
  for (const batch of await listFailedBatches(db, FAILED_BATCHES_MAX)) {
    const { groups } = await cache.groups(db, batch)
    const shown = groups.slice(0, CAUSES_MAX)
    const keys = await keysOfMembers(
      db,
      shown.flatMap(({ memberIds }) => memberIds),
    )
    const causes = shown.map(({ phaseName, stepName, count, memberIds, sample }) => {
      const who = phaseName === null ? 'init' : countText(count, 'person', 'people')
      return {
        text: `${who} failed at ${stepName}: ${firstLine(sample.message)}`,
        people: memberIds.map((memberId) => keys.get(memberId)!),
        count,
      }
    })
    const key = failed.get(batch.id)
    if (key !== undefined) found.set(String(key), causes)
  }
  return found
}

const TEXT_MAX = 200
const firstLine = (message: string): string =>
  message.split('\n')[0]!.slice(0, TEXT_MAX).replace(/\.$/, '')

export const STATUS_ROUTES = [statusRoute]
