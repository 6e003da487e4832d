// Operator actions on a batch: advance, restart, reschedule, cancel, clone. Each takes a reason, compares `If-Match` and
// has a dry run that answers as the change would.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import { countChangesWaiting } from '../../db/orders/change-windows.ts'
import { listMemberData } from '../../db/views/members.ts'
import { MEMBER_STATUSES } from '../../domain/state/transitions.ts'
import { withLostApprovals } from '../../engine/needs/lost-approvals.ts'
import { withStarts } from '../../engine/needs/starts-at-once.ts'
import {
  advanceBatch,
  type BatchOrder,
  cancelBatch,
  rescheduleBatch,
  restartBatch,
} from '../../engine/orders/batch-actions.ts'
import { overrideWindow } from '../../engine/orders/change-windows.ts'
import { createBatch } from '../../engine/orders/create.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { type AuditNote, change, type RouteRequest } from '../route.ts'
import { batch, phase, shownBatch } from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchState, lockBatchState } from '../shapes/batch-state.ts'
import { approvalsLost } from '../shapes/lost-approvals-shape.ts'
import { showPhases } from '../shapes/phase-waits.ts'
import { id, instant, reason, wholeCount } from '../shapes/shapes.ts'
import { overduePhases, shownStarts, startsAtOnce } from '../shapes/starts-shape.ts'

const params = z.strictObject({ batchId: id })

const dryRun = z
  .boolean()
  .default(false)
  .meta({ description: 'Return the same answer and change nothing.' })

const decidedBatch = z
  .strictObject({ isDryRun: z.boolean(), batch, phases: z.array(phase) })
  .meta({ id: 'DecidedBatch' })

type BatchRequest = RouteRequest<
  z.output<typeof params>,
  unknown,
  { readonly reason?: string | undefined; readonly dryRun: boolean }
>
type OrderBase = Omit<BatchOrder, 'reason'>
type AuditedFields = Readonly<Record<string, Json>>

/** Returns what the answer says besides the batch and its phases. */
type BatchAction<Said extends object> = (engine: Engine, base: OrderBase) => Promise<Said>

/** Locks the batch, compares `If-Match`, runs the action and answers with the new state. */
async function answerBatchAction<Said extends object>(
  { engine: outer, params: { batchId }, body, by, ifMatch }: BatchRequest,
  run: BatchAction<Said>,
  fieldsOf: (state: BatchState) => AuditedFields,
  extra: AuditedFields = {},
) {
  const base = { batchId, actor: by.name }
  const { before, said, after, phases } = await runOrDryRun(outer, body.dryRun, async (engine) => {
    const before = await lockBatchState(engine, batchId, ifMatch)
    const said = await run(engine, base)
    const after = await loadBatchState(engine.db, batchId)
    return { before, said, after, phases: await showPhases(engine, after) }
  })
  const auditNote: AuditNote = {
    subject: `batch ${batchId}`,
    reason: body.reason ?? null,
    before: fieldsOf(before),
    after: { ...fieldsOf(after), ...extra },
  }
  return {
    status: 200 as const,
    body: {
      isDryRun: body.dryRun,
      batch: shownBatch(after.line),
      phases,
      ...said,
    },
    etag: body.dryRun ? before.etag : after.etag,
    auditNote: body.dryRun ? null : auditNote,
  }
}

/** For changes that can start something: the answer says what. */
const sayingStarts =
  <Said extends object>(run: BatchAction<Said>) =>
  async (engine: Engine, base: OrderBase) => {
    const concerned = async () => [base.batchId]
    const { result, startsAtOnce } = await withStarts(engine, concerned, () => run(engine, base))
    return { ...result, startsAtOnce: shownStarts(startsAtOnce) }
  }

const batchAction = {
  method: 'POST',
  tag: 'batches',
  rule: 'admin',
  takes: 'json',
  comparesState: true,
  params,
} as const

/** For engine actions that take only a reason. */
const withReason =
  (
    { body }: { readonly body: { readonly reason: string } },
    run: (engine: Engine, order: BatchOrder) => Promise<void>,
  ) =>
  async (engine: Engine, base: OrderBase) => {
    await run(engine, { ...base, reason: body.reason })
    return {}
  }

const reasonBody = z.strictObject({ reason, dryRun })
const statusOf = ({ line }: BatchState): AuditedFields => ({ status: line.status })

const advanceRoute = change({
  ...batchAction,
  path: '/api/batches/{batchId}/advance',
  operation: 'advanceBatch',
  summary: 'Start the next phase of a manual batch',
  about:
    '`expectedPhase` is the next phase as the caller saw it (`nextPhase` of the batch, or `init`), so that two operators cannot advance twice.',
  action: 'batch.advance',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: z.strictObject({
    expectedPhase: z.string().min(1).max(63),
    allowStragglers: z.boolean().default(false),
    reason: reason.optional(),
    dryRun,
  }),
  answers: { 200: decidedBatch },
  handle: (request) => {
    const { expectedPhase, allowStragglers } = request.body
    return answerBatchAction(
      request,
      async (engine, base) => {
        await advanceBatch(engine, { ...base, expectedPhase, allowStragglers })
        return {}
      },
      ({ line }) => ({ status: line.status, currentPhase: line.currentPhase }),
      { advancedTo: expectedPhase, allowStragglers },
    )
  },
})

const cancelRoute = change({
  ...batchAction,
  path: '/api/batches/{batchId}/cancel',
  operation: 'cancelBatch',
  summary: 'Cancel a batch: open steps are cancelled, running rollbacks finish',
  action: 'batch.cancel',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: reasonBody,
  answers: { 200: decidedBatch },
  handle: (request) => answerBatchAction(request, withReason(request, cancelBatch), statusOf),
})

const restartRoute = change({
  ...batchAction,
  path: '/api/batches/{batchId}/restart',
  operation: 'restartBatch',
  summary: 'Restart a batch that failed in init',
  action: 'batch.restart',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: reasonBody,
  answers: { 200: decidedBatch },
  handle: (request) => answerBatchAction(request, withReason(request, restartBatch), statusOf),
})

const rescheduleRoute = change({
  ...batchAction,
  path: '/api/batches/{batchId}/reschedule',
  operation: 'rescheduleBatch',
  summary: 'Change the start of a batch; phases that have not started move with it',
  about:
    'Phases whose new time has passed start at once. The call is refused with their names unless `allowOverdue` is true.',
  action: 'batch.reschedule',
  errors: ['BATCH_NOT_FOUND', 'REFUSED', 'WOULD_BE_OVERDUE'],
  body: z.strictObject({
    startTime: instant,
    allowOverdue: z.boolean().default(false),
    reason,
    dryRun,
  }),
  answers: {
    200: z
      .strictObject({
        ...decidedBatch.shape,
        overdue: overduePhases,
        startsAtOnce,
        approvalsLost,
      })
      .meta({ id: 'RescheduledBatch' }),
  },
  handle: (request) => {
    const { startTime, reason: why, dryRun: isDryRun } = request.body
    // A dry run shows what the change would be refused for.
    const allowOverdue = request.body.allowOverdue || isDryRun
    return answerBatchAction(
      request,
      sayingStarts(async (engine, base) => {
        const order = { ...base, reason: why, startTime, allowOverdue }
        const { result, approvalsLost } = await withLostApprovals(engine, [base.batchId], () =>
          rescheduleBatch(engine, order),
        )
        return { overdue: result, approvalsLost }
      }),
      ({ line }) => ({ startTime: line.batchStartTime?.toISOString() ?? null }),
    )
  },
})

const overriddenBatch = z
  .strictObject({
    ...decidedBatch.shape,
    waitingSteps: wholeCount.meta({
      description: 'Steps that change a tenant and wait: an override sends them as slots are free.',
    }),
    outstandingJobs: wholeCount.meta({
      description:
        'Their jobs that are out. When an override ends outside a window, those that no worker has begun are taken back.',
    }),
  })
  .meta({ id: 'OverriddenBatch' })

const overrideWindowRoute = change({
  ...batchAction,
  path: '/api/batches/{batchId}/override-window',
  operation: 'overrideWindow',
  summary: 'Send steps of a batch outside its change windows',
  about:
    'Until then the batch ignores the change windows of its runbook and of the system, freezes included. Null ends an override.',
  action: 'batch.override_window',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: z.strictObject({ until: instant.nullable(), reason, dryRun }),
  answers: { 200: overriddenBatch },
  handle: (request) => {
    const { until, reason: why } = request.body
    return answerBatchAction(
      request,
      async (engine, base) => {
        const waiting = await countChangesWaiting(engine.db, [base.batchId])
        await overrideWindow(engine, { ...base, until, reason: why })
        const { steps: waitingSteps, jobs: outstandingJobs } = waiting.get(base.batchId) ?? {
          steps: 0,
          jobs: 0,
        }
        return { waitingSteps, outstandingJobs }
      },
      ({ line }) => ({ overriddenUntil: line.windowOverrideUntil?.toISOString() ?? null }),
    )
  },
})

const cloned = z
  .strictObject({
    batchId: z.int().nullable(),
    isDryRun: z.boolean(),
    clonedFrom: z.int(),
    memberCount: wholeCount,
    batch: batch.nullable(),
  })
  .meta({ id: 'ClonedBatch' })

const cloneRoute = change({
  ...batchAction,
  path: '/api/batches/{batchId}/clone',
  operation: 'cloneBatch',
  summary: 'Create a manual batch from another batch’s finished members',
  about:
    'Uses the active version. Members keep their data and lose their outputs. A member cannot be active in two unfinished batches, so it must have finished here.',
  action: 'batch.clone',
  creates: true,
  errors: ['BATCH_NOT_FOUND', 'RUNBOOK_NOT_FOUND', 'MEMBER_ELSEWHERE', 'REFUSED'],
  body: z.strictObject({
    statuses: z
      .array(z.enum(MEMBER_STATUSES))
      .min(1)
      .default(['active', 'failed'])
      .meta({ description: 'Member statuses to clone.' }),
    reason,
    dryRun,
  }),
  answers: { 200: cloned, 201: cloned },
  handle: async ({ engine: outer, params: { batchId }, body, by, ifMatch }) => {
    const clone = await runOrDryRun(outer, body.dryRun, async (engine) => {
      const { line } = await lockBatchState(engine, batchId, ifMatch)
      const members = await listMemberData(engine.db, batchId, body.statuses)
      if (members.length === 0) throw nobodyToClone(batchId, body.statuses)
      const request = { runbookName: line.runbookName, sourceTime: null, createdBy: by.name }
      const { batchId: newId } = await createBatch(engine, { ...request, members })
      return { newId, members: members.length, state: await loadBatchState(engine.db, newId) }
    })
    const about = { clonedFrom: batchId, memberCount: clone.members }
    if (body.dryRun) {
      const nothing = { batchId: null, isDryRun: true, batch: null, ...about }
      return { status: 200, body: nothing, auditNote: null }
    }
    const { newId, state } = clone
    return {
      status: 201,
      body: { batchId: newId, isDryRun: false, batch: shownBatch(state.line), ...about },
      etag: state.etag,
      headers: { location: `/api/batches/${newId}` },
      auditNote: { subject: `batch ${newId}`, reason: body.reason, after: about },
    }
  },
})

const nobodyToClone = (batchId: number, statuses: readonly string[]): MatoolkitError =>
  new MatoolkitError('REFUSED', {
    reason: `Batch ${batchId} has no members with status ${statuses.join(' or ')}.`,
  })

export const BATCH_ACTION_ROUTES = [
  advanceRoute,
  cancelRoute,
  restartRoute,
  rescheduleRoute,
  overrideWindowRoute,
  cloneRoute,
]
