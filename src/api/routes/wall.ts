// The wall: what runs, what needs a person, what comes next, over all batches and without anything personal. It costs a handful of
// statements whatever runs, and all walls of a process share an answer for a second.

import { z } from 'zod'
import { countReviews } from '../../db/sources/reviews.ts'
import { listHolds } from '../../db/state/holds.ts'
import { listCurrentBatches } from '../../db/views/batches.ts'
import { listSourceOutlook } from '../../db/views/status.ts'
import { listWorkers } from '../../db/views/workers.ts'
import { NEWS_MS } from '../../domain/needs/from-work.ts'
import { PHASE_STATUSES } from '../../domain/state/transitions.ts'
import { type BatchForecast, forecastBatches } from '../../engine/needs/batch-forecasts.ts'
import { loadVerdict } from '../../engine/needs/find-needs.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { read } from '../route.ts'
import { RecentAnswer } from '../services/recent-answer.ts'
import { batch, shownBatch, stepTotals, throughput, totalsOf } from '../shapes/batch-shapes.ts'
import { type BatchState, withPhases } from '../shapes/batch-state.ts'
import { forecastMiss, nightForecast } from '../shapes/forecast-shape.ts'
import { dateTime, nullableDateTime, wholeCount } from '../shapes/shapes.ts'
import { shownVerdict, verdictFields } from '../shapes/verdict-shape.ts'
import { openReviews } from './reviews.ts'
import { shownWorker, sourceOutlook, workerOutlook } from './status.ts'

const FRESH_MS = 1_000
const BATCHES_MAX = 200
const SOURCES_MAX = 100

const wallPhase = z
  .strictObject({
    id: z.int(),
    phaseName: z.string(),
    status: z.enum(PHASE_STATUSES),
    offsetMinutes: z.int(),
    dueAt: nullableDateTime,
    startedAt: nullableDateTime,
    endedAt: nullableDateTime,
    membersTotal: wholeCount,
    membersPassed: wholeCount,
    membersFailed: wholeCount,
  })
  .meta({ id: 'WallPhase' })

const wallBatch = z
  .strictObject({
    batch,
    phases: z.array(wallPhase).meta({ description: 'In order of time, without superseded ones.' }),
    steps: stepTotals,
    throughput,
    endsAt: nullableDateTime.meta({ description: 'The p50; null where it would be a guess.' }),
    p90: nullableDateTime.meta({ description: 'Nine of ten such nights end by then.' }),
    because: z.string().meta({ description: 'What the estimate rests on, or why there is none.' }),
    night: nightForecast,
    misses: z
      .array(forecastMiss)
      .meta({ description: 'Phases that are forecast to miss their time.' }),
  })
  .meta({ id: 'WallBatch' })

const wall = z
  .strictObject({
    at: dateTime,
    ...verdictFields,
    batches: z.array(wallBatch).meta({
      description:
        'Batches at work, batches to come by start, batches that ended in the last 24 hours.',
    }),
    isComplete: z.boolean().meta({ description: `False when there are more than ${BATCHES_MAX}.` }),
    openReviews,
    holdCount: wholeCount.meta({ description: 'Holds of every scope.' }),
    sources: z.array(sourceOutlook),
    workers: z.array(workerOutlook),
  })
  .meta({ id: 'Wall' })

type Wall = z.input<typeof wall>

/** One set for each API: its walls share the answer. */
export function wallRoutes() {
  const recent = new RecentAnswer<Wall>(FRESH_MS)
  return [
    read({
      method: 'GET',
      path: '/api/now',
      operation: 'getNow',
      tag: 'service',
      summary: 'Show the wall: every current batch, what needs a person, what comes next',
      about: 'Names no member. Walls that ask within the same second share one answer.',
      rule: 'reader',
      answers: { 200: wall },
      handle: async ({ engine, now }) => ({
        status: 200,
        body: await recent.get(now, () => loadWall(engine, now)),
      }),
    }),
  ]
}

async function loadWall(engine: Engine, now: Date): Promise<Wall> {
  const { db } = engine
  const lines = await listCurrentBatches(db, new Date(+now - NEWS_MS), BATCHES_MAX + 1)
  const states = await withPhases(db, lines.slice(0, BATCHES_MAX))
  const forecasts = await forecastBatches(engine, states, now)
  const workers = await listWorkers(db)
  const { total } = await listHolds(db, {}, null, 1)
  return {
    at: now,
    ...shownVerdict(await loadVerdict(engine, now)),
    batches: states.map((state) => shownOnWall(state, forecasts.get(state.line.id)!)),
    isComplete: lines.length <= BATCHES_MAX,
    openReviews: await countReviews(db, {}),
    holdCount: total,
    sources: await listSourceOutlook(db, SOURCES_MAX),
    workers: workers.map((line) => shownWorker(line, now)),
  }
}

function shownOnWall(
  { line, phases }: BatchState,
  { throughput: pace, forecast }: BatchForecast,
): z.input<typeof wallBatch> {
  return {
    batch: shownBatch(line),
    phases: phases
      .filter(({ status }) => status !== 'superseded')
      .map(({ id, name, status, offsetMinutes, dueAt, dispatchedAt, completedAt, members }) => ({
        id,
        phaseName: name,
        status,
        offsetMinutes,
        dueAt,
        startedAt: dispatchedAt,
        endedAt: completedAt,
        membersTotal: members.total,
        membersPassed: members.passed,
        membersFailed: members.failed,
      })),
    steps: totalsOf(phases),
    throughput: pace,
    endsAt: forecast.endsAt,
    p90: forecast.p90,
    because: forecast.because,
    night: forecast.night,
    misses: forecast.phases.flatMap(({ miss }) => miss ?? []),
  }
}
