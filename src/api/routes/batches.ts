// Batches: the list, one batch, its phases. Operator actions are in batch-actions.ts.
import { z } from 'zod'
import { BATCH_SORTS, type BatchLine, countBatches, listBatches } from '../../db/views/batches.ts'
import { withStates } from '../../db/views/person-states.ts'
import { listInitSteps } from '../../db/views/steps.ts'
import { BATCH_STATUSES } from '../../domain/state/transitions.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import { batch, phase, shownBatch, shownStep, step } from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchState } from '../shapes/batch-state.ts'
import { showPhases } from '../shapes/phase-waits.ts'
import {
  booleanText,
  commaSeparated,
  id,
  instant,
  nameText,
  nullableText,
  pageOf,
  pagingQuery,
} from '../shapes/shapes.ts'

const COUNT_MAX = 10_000
const INIT_STEPS_MAX = 500

const params = z.strictObject({ batchId: id })

const listRoute = read({
  method: 'GET',
  path: '/api/batches',
  operation: 'listBatches',
  tag: 'batches',
  summary: 'List batches, newest first by default',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    runbook: nameText.optional(),
    status: commaSeparated(BATCH_STATUSES).optional(),
    manual: booleanText.optional(),
    held: booleanText.optional(),
    startsFrom: instant.optional(),
    startsBefore: instant.optional(),
    sort: z.enum(BATCH_SORTS).default('newest'),
  }),
  answers: { 200: pageOf('batches', batch) },
  handle: async ({ engine: { db }, query }) => {
    const { limit, cursor, sort, manual, held, ...rest } = query
    const filter = { ...rest, isManual: manual, isHeld: held }
    const isTime = (value: string) => instant.safeParse(value).success
    const after = readCursor(sort, cursor, isTime)
    const found = await listBatches(db, filter, sort, after, limit + 1)
    const at = (line: BatchLine) => ({
      value: sort.startsWith('start') ? (line.batchStartTime?.toISOString() ?? null) : null,
      id: line.id,
    })
    const { rows, next } = pageFrom(found, limit, sort, at)
    const total = await countBatches(db, filter, COUNT_MAX)
    const batches = (await withStates(db, rows)).map(shownBatch)
    return {
      status: 200,
      body: { batches, total, isTotalExact: total < COUNT_MAX, next },
    }
  },
})

const batchPage = z
  .strictObject({
    batch,
    nextPhase: nullableText.meta({
      description: 'The phase (or `init`) that `advance` would start in a manual batch.',
    }),
    availablePhases: z.array(z.string()).meta({ description: 'Phases that have not started.' }),
    phases: z.array(phase),
    initSteps: z.array(step),
    timeZone: nullableText.meta({ description: 'The `time_zone` of the runbook.' }),
  })
  .meta({ id: 'BatchPage' })

const getRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}',
  operation: 'getBatch',
  tag: 'batches',
  summary: 'Show a batch with its phases and init steps',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  params,
  answers: { 200: batchPage },
  handle: async ({ engine, services: { meaningOf }, params: { batchId } }) => {
    const state = await loadBatchState(engine.db, batchId)
    const { runbookName, runbookVersion, status } = state.line
    const runbook = await engine.runbooks.get(engine.db, runbookName, runbookVersion)
    const hasInit = status === 'detected' && runbook.init.length > 0
    const available = state.phases
      .filter(({ status }) => status === 'pending')
      .map(({ name }) => name)
    const initSteps = await listInitSteps(engine.db, batchId, INIT_STEPS_MAX)
    const body = {
      batch: shownBatch(state.line),
      nextPhase: nextPhaseOf(state, hasInit, available),
      availablePhases: available,
      phases: await showPhases(engine, state),
      initSteps: initSteps.map(shownStep(meaningOf)),
      timeZone: runbook.dataSource.timeZone,
    }
    return { status: 200, body, etag: state.etag }
  },
})

function nextPhaseOf({ line }: BatchState, hasInit: boolean, available: readonly string[]) {
  if (!line.isManual || line.endedAt !== null) return null
  return hasInit ? 'init' : (available[0] ?? null)
}

const phasesRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/phases',
  operation: 'listPhases',
  tag: 'batches',
  summary: 'List the phases of a batch with step and member counts',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  params,
  answers: {
    200: z.strictObject({ batchId: z.int(), phases: z.array(phase) }).meta({ id: 'Phases' }),
  },
  handle: async ({ engine, params: { batchId } }) => {
    const state = await loadBatchState(engine.db, batchId)
    const phases = await showPhases(engine, state)
    return { status: 200, body: { batchId, phases }, etag: state.etag }
  },
})

export const BATCH_ROUTES = [listRoute, getRoute, phasesRoute]
