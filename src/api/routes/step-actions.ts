// One step with parameters, results and attempts, and the operator actions on it: retry, skip, mark done, accept a late success. Each
// takes a reason, compares `If-Match` and has a dry run.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { lockBatch } from '../../db/state/facts.ts'
import { findStep, listAttempts, type StepDetail } from '../../db/views/steps.ts'
import {
  acceptLate,
  markStepDone,
  retryStep,
  type StepOrder,
  skip,
} from '../../engine/orders/member-actions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { etagOf, requireEtag } from '../http/etag.ts'
import { change, type RouteRequest, read } from '../route.ts'
import { shownStep, step } from '../shapes/batch-shapes.ts'
import {
  dateTime,
  id,
  json,
  nullableDateTime,
  nullableText,
  reason,
  wholeCount,
} from '../shapes/shapes.ts'

const ATTEMPTS_MAX = 500
const OUTPUTS_MAX = 100

const params = z.strictObject({ stepId: id })

export const attempt = z
  .strictObject({
    stepId: z.int(),
    jobId: z.string(),
    attempt: wholeCount,
    poll: wholeCount,
    workerId: z.string(),
    sentAt: dateTime,
    settledAt: dateTime,
    outcome: z.string(),
    result: json,
    error: nullableText,
    durationMs: z.int().nullable(),
  })
  .meta({ id: 'Attempt' })

const detail = z
  .strictObject({
    ...step.shape,
    batchId: z.int(),
    params: json,
    result: json,
    lateResult: json,
    pollTimeoutAt: nullableDateTime,
  })
  .meta({ id: 'StepDetail' })

const stepEtag = ({ id: stepId, status, attempt: n, hasLateResult }: StepDetail): string =>
  etagOf(stepId, status, n, hasLateResult)

async function requireStep({ db }: Engine, stepId: number): Promise<StepDetail> {
  const found = await findStep(db, stepId)
  if (!found) throw new MatoolkitError('STEP_NOT_FOUND', { stepId })
  return found
}

const getRoute = read({
  method: 'GET',
  path: '/api/steps/{stepId}',
  operation: 'getStep',
  tag: 'batches',
  summary: 'Show a step with its parameters, results and attempts',
  rule: 'reader',
  isPersonal: true,
  errors: ['STEP_NOT_FOUND'],
  params,
  answers: {
    200: z.strictObject({ step: detail, attempts: z.array(attempt) }).meta({ id: 'StepPage' }),
  },
  handle: async ({ engine, services: { meaningOf }, params: { stepId } }) => {
    const found = await requireStep(engine, stepId)
    const attempts = await listAttempts(engine.db, [stepId], ATTEMPTS_MAX)
    const shown = shownStep(meaningOf)(found)
    return { status: 200, body: { step: shown, attempts }, etag: stepEtag(found) }
  },
})

/** Outputs of a step that was done by hand. */
export const stepOutputs = z
  .record(z.string().min(1).max(128), json)
  .refine(
    (outputs) => Object.keys(outputs).length <= OUTPUTS_MAX,
    `must have at most ${OUTPUTS_MAX} entries`,
  )
  .default({})

const actionBody = { reason, dryRun: z.boolean().default(false) }
type ActionBody = z.output<z.ZodObject<typeof actionBody>>

const stepAction = {
  method: 'POST',
  tag: 'batches',
  rule: 'admin',
  takes: 'json',
  comparesState: true,
  errors: ['STEP_NOT_FOUND', 'REFUSED'],
  params,
  answers: {
    200: z.strictObject({ isDryRun: z.boolean(), step: detail }).meta({ id: 'DecidedStep' }),
  },
} as const

async function answerStepAction<Body>(
  {
    engine: outer,
    services: { meaningOf },
    params: { stepId },
    body,
    by,
    ifMatch,
  }: RouteRequest<{ stepId: number }, unknown, ActionBody & Body>,
  run: (engine: Engine, order: StepOrder) => Promise<void>,
) {
  const { reason: why, dryRun } = body
  const { before, after } = await runOrDryRun(outer, dryRun, async (engine) => {
    const { batchId } = await requireStep(engine, stepId)
    // The locked batch keeps the step unchanged between this read and the change.
    await engine.db.transaction((tx) => lockBatch(tx, batchId))
    const before = await requireStep(engine, stepId)
    requireEtag(ifMatch, stepEtag(before), `Step ${stepId}`)
    await run(engine, { stepId, actor: by.name, reason: why })
    return { before, after: await requireStep(engine, stepId) }
  })
  const auditNote = {
    subject: `step ${stepId} of batch ${before.batchId}`,
    reason: why,
    before: { status: before.status, stepName: before.stepName, memberKey: before.memberKey },
    after: { status: after.status },
  }
  return {
    status: 200 as const,
    body: { isDryRun: dryRun, step: shownStep(meaningOf)(after) },
    etag: stepEtag(dryRun ? before : after),
    auditNote: dryRun ? null : auditNote,
  }
}

const retryRoute = change({
  ...stepAction,
  path: '/api/steps/{stepId}/retry',
  operation: 'retryStep',
  summary: 'Retry a failed step',
  about:
    'A rollback or removal step is sent again alone; after a phase step its member continues with all later steps.',
  action: 'step.retry',
  body: z.strictObject(actionBody),
  handle: (request) => answerStepAction(request, retryStep),
})

const skipRoute = change({
  ...stepAction,
  path: '/api/steps/{stepId}/skip',
  operation: 'skipStep',
  summary: 'Skip a step; its member continues after it',
  action: 'step.skip',
  body: z.strictObject(actionBody),
  handle: (request) => answerStepAction(request, skip),
})

const doneRoute = change({
  ...stepAction,
  path: '/api/steps/{stepId}/done',
  operation: 'markStepDone',
  summary: 'Mark a step as done by hand, with outputs; its member continues after it',
  action: 'step.done',
  errors: [...stepAction.errors, 'VARIABLE_RESERVED'],
  body: z.strictObject({ ...actionBody, outputs: stepOutputs }),
  handle: (request) =>
    answerStepAction(request, (engine, order) =>
      markStepDone(engine, { ...order, outputs: request.body.outputs }),
    ),
})

const acceptRoute = change({
  ...stepAction,
  path: '/api/steps/{stepId}/accept-late',
  operation: 'acceptLateResult',
  summary: 'Accept a late success as the step’s result',
  action: 'step.accept-late',
  body: z.strictObject(actionBody),
  handle: (request) => answerStepAction(request, acceptLate),
})

export const STEP_ACTION_ROUTES = [getRoute, retryRoute, skipRoute, doneRoute, acceptRoute]
