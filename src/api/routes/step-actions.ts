// One step: its parameters, results and attempts, and what an operator can do about it: skip it, mark it done, accept a success
// that came too late. Each takes a reason, compares what the caller saw, and can be tried first.
import { z } from 'zod'
import { lockBatch } from '../../db/facts.ts'
import { findStep, listAttempts, type StepDetail } from '../../db/views/steps.ts'
import type { Engine } from '../../engine/engine.ts'
import { acceptLate, markStepDone, type StepOrder, skip } from '../../engine/member-actions.ts'
import { MatoolkitError } from '../../errors.ts'
import { step } from '../batch-shapes.ts'
import { runOrDryRun } from '../dry-run.ts'
import { change, type Route, type RouteRequest, read } from '../route.ts'
import {
  dateTime,
  id,
  json,
  nullableDateTime,
  nullableText,
  reason,
  wholeCount,
} from '../shapes.ts'
import { requireTag, tagOf } from '../state-tag.ts'

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

const tagOfStep = ({ id: stepId, status, attempt: n, hasLateResult }: StepDetail): string =>
  tagOf(stepId, status, n, hasLateResult)

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
  summary: 'One step: what was sent, what came back, and every attempt',
  rule: 'reader',
  isPersonal: true,
  errors: ['STEP_NOT_FOUND'],
  params,
  answers: {
    200: z.strictObject({ step: detail, attempts: z.array(attempt) }).meta({ id: 'StepPage' }),
  },
  handle: async ({ engine, params: { stepId } }) => {
    const found = await requireStep(engine, stepId)
    const attempts = await listAttempts(engine.db, [stepId], ATTEMPTS_MAX)
    return { status: 200, body: { step: found, attempts }, etag: tagOfStep(found) }
  },
})

const common = { reason, dryRun: z.boolean().default(false) }
type Common = z.output<z.ZodObject<typeof common>>

const described = {
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

async function decide<Body>(
  {
    engine: outer,
    params: { stepId },
    body,
    by,
    ifMatch,
  }: RouteRequest<{ stepId: number }, unknown, Common & Body>,
  run: (engine: Engine, order: StepOrder) => Promise<void>,
) {
  const { reason: why, dryRun } = body
  const { before, after } = await runOrDryRun(outer, dryRun, async (engine) => {
    const { batchId } = await requireStep(engine, stepId)
    // With the batch locked nothing can move the step between this look and the change.
    await engine.db.transaction((tx) => lockBatch(tx, batchId))
    const before = await requireStep(engine, stepId)
    requireTag(ifMatch, tagOfStep(before), `Step ${stepId}`)
    await run(engine, { stepId, actor: by.name, reason: why })
    return { before, after: await requireStep(engine, stepId) }
  })
  const noted = {
    subject: `step ${stepId} of batch ${before.batchId}`,
    reason: why,
    before: { status: before.status, stepName: before.stepName, memberKey: before.memberKey },
    after: { status: after.status },
  }
  return {
    status: 200 as const,
    body: { isDryRun: dryRun, step: after },
    etag: tagOfStep(dryRun ? before : after),
    noted: dryRun ? null : noted,
  }
}

const skipRoute = change({
  ...described,
  path: '/api/steps/{stepId}/skip',
  operation: 'skipStep',
  summary: 'The step need not be done; its member goes on after it',
  action: 'step.skip',
  body: z.strictObject(common),
  handle: (ask) => decide(ask, skip),
})

const doneRoute = change({
  ...described,
  path: '/api/steps/{stepId}/done',
  operation: 'markStepDone',
  summary: 'The step was done by hand, with these outputs; its member goes on after it',
  action: 'step.done',
  body: z.strictObject({
    ...common,
    outputs: z
      .record(z.string().min(1).max(128), json)
      .refine((outputs) => Object.keys(outputs).length <= OUTPUTS_MAX, 'are too many')
      .default({}),
  }),
  handle: (ask) =>
    decide(ask, (engine, order) => markStepDone(engine, { ...order, outputs: ask.body.outputs })),
})

const acceptRoute = change({
  ...described,
  path: '/api/steps/{stepId}/accept-late',
  operation: 'acceptLateResult',
  summary: 'Take a success that came too late for the step’s result after all',
  action: 'step.accept-late',
  body: z.strictObject(common),
  handle: (ask) => decide(ask, acceptLate),
})

export const STEP_ACTION_ROUTES: readonly Route[] = [getRoute, skipRoute, doneRoute, acceptRoute]
