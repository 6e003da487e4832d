// One step with parameters, results and attempts, and the operator actions on it: retry, skip, mark done, accept a late success. Each
// takes a reason, compares `If-Match` and has a dry run.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { lockBatch } from '../../db/state/facts.ts'
import { findStep, listAttempts, type StepDetail } from '../../db/views/steps.ts'
import { acceptLate, markStepDone, retryStep, skip } from '../../engine/orders/member-actions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { etagOf, requireEtag } from '../http/etag.ts'
import { change, read } from '../route.ts'
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

const DECISIONS = {
  retry: retryStep,
  skip,
  done: markStepDone,
  'accept-late': acceptLate,
} as const

const decideRoute = change({
  method: 'POST',
  path: '/api/steps/{stepId}',
  operation: 'decideStep',
  tag: 'batches',
  summary: 'Retry, skip or mark a step as done by hand, or accept its late success',
  about:
    'A failed rollback or removal step is sent again alone; after a phase step its member continues with all later steps. `outputs` belong to `done`.',
  rule: 'admin',
  takes: 'json',
  comparesState: true,
  action: 'step.decide',
  errors: ['STEP_NOT_FOUND', 'REFUSED', 'VARIABLE_RESERVED'],
  params,
  body: z.strictObject({
    decision: z.enum(Object.keys(DECISIONS) as (keyof typeof DECISIONS)[]),
    outputs: stepOutputs,
    reason,
    dryRun: z.boolean().default(false),
  }),
  answers: {
    200: z.strictObject({ isDryRun: z.boolean(), step: detail }).meta({ id: 'DecidedStep' }),
  },
  handle: async ({ engine: outer, services, params: { stepId }, body, by, ifMatch }) => {
    const { decision, outputs, reason: why, dryRun } = body
    const { before, after } = await runOrDryRun(outer, dryRun, async (engine) => {
      const { batchId } = await requireStep(engine, stepId)
      // The locked batch keeps the step unchanged between this read and the change.
      await engine.db.transaction((tx) => lockBatch(tx, batchId))
      const before = await requireStep(engine, stepId)
      requireEtag(ifMatch, stepEtag(before), `Step ${stepId}`)
      await DECISIONS[decision](engine, { stepId, actor: by.name, reason: why, outputs })
      return { before, after: await requireStep(engine, stepId) }
    })
    const auditNote = {
      action: `step.${decision}`,
      subject: `step ${stepId} of batch ${before.batchId}`,
      reason: why,
      before: { status: before.status, stepName: before.stepName, memberKey: before.memberKey },
      after: { status: after.status },
    }
    return {
      status: 200,
      body: { isDryRun: dryRun, step: shownStep(services.meaningOf)(after) },
      etag: stepEtag(dryRun ? before : after),
      auditNote: dryRun ? null : auditNote,
    }
  },
})

export const STEP_ACTION_ROUTES = [getRoute, decideRoute]
