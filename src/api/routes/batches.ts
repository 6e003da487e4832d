// Batches: list, look at, advance a manual one, cancel.
import { z } from 'zod'
import { BATCH_SORTS, type BatchLine, countBatches, listBatches } from '../../db/view-batches.ts'
import { listInitSteps } from '../../db/view-steps.ts'
import { advanceBatch, cancelBatch } from '../../engine/operate.ts'
import { BATCH_STATUSES, batch, phase, shownBatch, shownPhase, step } from '../batch-shapes.ts'
import { type BatchState, loadBatchState, lockBatchState } from '../batch-state.ts'
import { pageFrom, readCursor } from '../cursor.ts'
import { change, type Route, read } from '../route.ts'
import { id, instant, listOf, maybeText, name, pageOf, paging, reason, yesOrNo } from '../shapes.ts'

const COUNT_MAX = 10_000
const INIT_STEPS_MAX = 500

const params = z.strictObject({ batchId: id })

const listRoute = read({
  method: 'GET',
  path: '/api/batches',
  operation: 'listBatches',
  tag: 'batches',
  summary: 'Batches, newest first unless sorted otherwise',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...paging,
    runbook: name.optional(),
    status: listOf(BATCH_STATUSES).optional(),
    manual: yesOrNo.optional(),
    held: yesOrNo.optional(),
    startsFrom: instant.optional(),
    startsBefore: instant.optional(),
    sort: z.enum(BATCH_SORTS).default('newest'),
  }),
  answers: { 200: pageOf('batches', batch) },
  handle: async ({ door: { db }, query }) => {
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
    return {
      status: 200,
      body: { batches: rows.map(shownBatch), total, isTotalExact: total < COUNT_MAX, next },
    }
  },
})

const batchPage = z
  .strictObject({
    batch,
    nextPhase: maybeText.meta({
      description: 'What `advance` of a manual batch would begin: a phase, or `init`.',
    }),
    availablePhases: z.array(z.string()).meta({ description: 'Phases that are still to come.' }),
    phases: z.array(phase),
    initSteps: z.array(step),
  })
  .meta({ id: 'BatchPage' })

const getRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}',
  operation: 'getBatch',
  tag: 'batches',
  summary: 'One batch with its phases and init steps',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  params,
  answers: { 200: batchPage },
  handle: async ({ door, params: { batchId } }) => {
    const state = await loadBatchState(door.db, batchId)
    const hasInit = await hasInitToRun(door, state)
    const available = state.phases
      .filter(({ status }) => status === 'pending')
      .map((one) => one.name)
    const body = {
      batch: shownBatch(state.line),
      nextPhase: nextOf(state, hasInit, available),
      availablePhases: available,
      phases: state.phases.map(shownPhase),
      initSteps: await listInitSteps(door.db, batchId, INIT_STEPS_MAX),
    }
    return { status: 200, body, etag: state.tag }
  },
})

type DoorOfAsk = Parameters<typeof cancelBatch>[0]

async function hasInitToRun(door: DoorOfAsk, { line }: BatchState): Promise<boolean> {
  if (line.status !== 'detected') return false
  const runbook = await door.runbooks.get(door.db, line.runbookName, line.runbookVersion)
  return runbook.init.length > 0
}

function nextOf({ line }: BatchState, hasInit: boolean, available: readonly string[]) {
  if (!line.isManual || line.endedAt !== null) return null
  return hasInit ? 'init' : (available[0] ?? null)
}

const phasesRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/phases',
  operation: 'listPhases',
  tag: 'batches',
  summary: 'The phases of a batch in their order, with counts of steps and members',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  params,
  answers: {
    200: z.strictObject({ batchId: z.int(), phases: z.array(phase) }).meta({ id: 'Phases' }),
  },
  handle: async ({ door, params: { batchId } }) => {
    const { phases, tag } = await loadBatchState(door.db, batchId)
    return { status: 200, body: { batchId, phases: phases.map(shownPhase) }, etag: tag }
  },
})

const changed = z.strictObject({ batch, phases: z.array(phase) }).meta({ id: 'ChangedBatch' })

const shownState = ({ line, phases }: BatchState): z.input<typeof changed> => ({
  batch: shownBatch(line),
  phases: phases.map(shownPhase),
})

const advanceRoute = change({
  method: 'POST',
  path: '/api/batches/{batchId}/advance',
  operation: 'advanceBatch',
  tag: 'batches',
  summary: 'Begin the next phase of a manual batch',
  about:
    'The caller names the phase it saw as the next one (`nextPhase` of the batch, or `init`), so that two operators cannot advance twice.',
  rule: 'admin',
  action: 'batch.advance',
  takes: 'json',
  comparesState: true,
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  params,
  body: z.strictObject({
    expectedPhase: z.string().min(1).max(63),
    allowStragglers: z.boolean().default(false),
    reason: reason.optional(),
  }),
  answers: { 200: changed },
  handle: async ({ door, params: { batchId }, body, by, ifMatch }) => {
    const before = await lockBatchState(door, batchId, ifMatch)
    const { expectedPhase, allowStragglers } = body
    await advanceBatch(door, { batchId, actor: by.name, expectedPhase, allowStragglers })
    const after = await loadBatchState(door.db, batchId)
    return {
      status: 200,
      body: shownState(after),
      etag: after.tag,
      noted: {
        subject: `batch ${batchId}`,
        reason: body.reason ?? null,
        before: { status: before.line.status, currentPhase: before.line.currentPhase },
        after: { status: after.line.status, advancedTo: expectedPhase, allowStragglers },
      },
    }
  },
})

const cancelRoute = change({
  method: 'POST',
  path: '/api/batches/{batchId}/cancel',
  operation: 'cancelBatch',
  tag: 'batches',
  summary: 'End a batch: what is open is cancelled, what is being undone is undone to its end',
  rule: 'admin',
  action: 'batch.cancel',
  takes: 'json',
  comparesState: true,
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  params,
  body: z.strictObject({ reason }),
  answers: { 200: changed },
  handle: async ({ door, params: { batchId }, body, by, ifMatch }) => {
    const before = await lockBatchState(door, batchId, ifMatch)
    await cancelBatch(door, { batchId, actor: by.name, reason: body.reason })
    const after = await loadBatchState(door.db, batchId)
    return {
      status: 200,
      body: shownState(after),
      etag: after.tag,
      noted: {
        subject: `batch ${batchId}`,
        reason: body.reason,
        before: { status: before.line.status },
        after: { status: after.line.status },
      },
    }
  },
})

export const BATCH_ROUTES: readonly Route[] = [
  listRoute,
  getRoute,
  phasesRoute,
  advanceRoute,
  cancelRoute,
]
