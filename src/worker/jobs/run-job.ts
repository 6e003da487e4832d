// Running a job, in stages: find the function, ask whether the job may start, fit its parameters, call, settle the result. Whatever a
// function does, the job ends with a success or a failure and its reason, unless a stopping worker aborts it: then it is abandoned,
// because nobody knows how far it came. A job's timeout counts from its start. On redelivery a function that is not idempotent fails with
// `OutcomeUnknown` instead of running again.

import { messageOf } from '../../base/errors/errors.ts'
import type { HiddenSecrets } from '../../base/log/hidden-secrets.ts'
import type { Clock } from '../../base/run/clock.ts'
import { type Telemetry, traceparentOf } from '../../base/telemetry/telemetry.ts'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { hintFor } from '../../base/text/spelling.ts'
import { GIVEN_BACK } from '../../domain/messages/messages.ts'
import { holdsMark } from '../../domain/runbook/template.ts'
import type { LedgerEffect } from '../../domain/state/effects.ts'
import type { Catalogue, FunctionCall, WorkerFunction } from '../functions/catalogue.ts'
import type { Changes, Tenant } from '../functions/tenant.ts'
import type { Secrets } from '../http/api.ts'
import { resolveSecrets } from '../secrets/reference.ts'
import { watchedSecrets } from '../secrets/watched-secrets.ts'
import { abortingClock } from './aborting-clock.ts'
import { effectIn, withoutSecrets } from './effect-report.ts'
import { fitParameters, misfitText } from './fit-parameters.ts'
import { fitResult } from './fit-result.ts'
import { type Job, whyTooLate } from './job.ts'
import { JobAbort, LeftBehind, StillRuns, WorkerStops } from './job-abort.ts'
import { type Failed, fail, failureBy, refuse, withoutEffect } from './job-failure.ts'
import { JobTrace } from './job-trace.ts'
import type { JointSeat } from './joint/joint-call.ts'
import { type OwningJob, runOwned } from './owning-job.ts'
import type { RecentNames } from './recent-names.ts'
import { repeatThrottled } from './repeat-throttled.ts'
import type { JobResult } from './result-cache.ts'

export interface JobContext {
  readonly workerId: string
  readonly catalogue: Catalogue
  readonly clock: Clock
  readonly tenant: Tenant
  /** Aborts when the worker stops and no longer waits for running jobs. */
  readonly stopping: AbortSignal
  /** Why the job must not start; null when it may. */
  readonly whyStopped?: (jobId: string) => string | null
  /** Given when the job is done together with others. */
  readonly joint?: JointSeat
  /** Called when the job begins to wait for its turn at a service; returns what to call when it continues. */
  readonly waits?: () => () => void
  readonly recent?: RecentNames
  /** Null when telemetry is off. */
  readonly telemetry?: Telemetry | null
  /** Set while the job runs. */
  readonly trace?: JobTrace | null
}

type Outcome = { readonly result: Json; readonly effect?: LedgerEffect | null } | Failed

/** Null when the worker stopped meanwhile: the job must be abandoned. */
export async function runJob(job: Job, context: JobContext): Promise<JobResult | null> {
  const { clock } = context
  const startedAt = clock.now()
  const trace = traceOf(job, context, startedAt)
  const outcome = await outcomeOf(job, trace ? { ...context, trace } : context).finally(() =>
    context.joint?.leave(),
  )
  const endedAt = clock.now()
  trace?.end(endedAt, endNameOf(outcome))
  return outcome && resultOf(job, outcome, { context, trace, startedAt, endedAt })
}

async function outcomeOf(job: Job, context: JobContext): Promise<Outcome | null> {
  const found = findFunction(job, context)
  if ('failure' in found) return found
  return whyNotStarted(found, job, context) ?? attempt(found, job, context)
}

function findFunction(job: Job, { catalogue, workerId }: JobContext): WorkerFunction | Failed {
  const { functionName } = job
  const found = catalogue.get(functionName.toLowerCase())
  if (found) return found
  const names = [...catalogue.values()].map(({ name }) => name)
  const hint = hintFor(functionName, names, 'It has')
  const message = `Worker ${workerId} has no function "${functionName}". ${hint}`
  return refuse(job, 'UnknownFunction', message)
}

function whyNotStarted(
  { isIdempotent }: WorkerFunction,
  job: Job,
  { whyStopped, clock }: JobContext,
): Failed | null {
  if (job.isRepeated && !isIdempotent) return fail('OutcomeUnknown', OUTCOME_UNKNOWN)
  const stopped = whyStopped?.(job.jobId) ?? whyTooLate(job, clock.now())
  return stopped === null ? null : withoutEffect(job, fail(GIVEN_BACK, stopped))
}

const OUTCOME_UNKNOWN =
  'An earlier delivery of this job ended without a result, and the function must not run twice. Check in the tenant what was done, then retry the step or mark it as done.'

/** Fits the parameters, calls the function and settles what comes of it, or of its abort. */
async function attempt(
  definition: WorkerFunction,
  job: Job,
  context: JobContext,
): Promise<Outcome | null> {
  const { clock, stopping, tenant } = context
  const abort = new JobAbort(job, clock, stopping)
  const { secrets, seen } = watchedSecrets(tenant.secrets, job.parameters)
  const changes: Changes = { count: 0 }
  const inTenant = { ...context, tenant: withSecrets(tenant, secrets).countingFor([changes]) }
  let isCalled = false
  try {
    const fitted = await fitResolved(definition, job, inTenant, abort.signal)
    if ('misfits' in fitted) {
      const message = misfitText(definition.name, fitted.misfits)
      return settled(refuse(job, 'UnfitParameters', message), seen)
    }
    isCalled = true
    const running = runOwned(ownerOf(definition, job, context, abort, seen), () =>
      runFunction(definition, job, fitted.params, inTenant, abort.signal, changes),
    )
    const outcome = await abort.orGiveUp(running)
    // Node reports unhandled rejections at the end of the turn; standard functions leave none.
    if (!definition.actsOnlyOnTenant) await new Promise(setImmediate)
    if (abort.signal.reason instanceof LeftBehind) throw abort.signal.reason
    return settled(outcome, seen)
  } catch (error) {
    const reason: unknown = abort.signal.reason
    if (reason instanceof WorkerStops) return null
    const failed = failureBy(reason, error)
    const hasNoEffect = definition.actsOnlyOnTenant === true && changes.count === 0
    // A function that is given up still runs.
    const mayHaveActed = isCalled && (!hasNoEffect || error instanceof StillRuns)
    return settled(mayHaveActed ? failed : withoutEffect(job, failed), seen)
  } finally {
    // Unresolved: no secret is remembered.
    if (changes.count > 0) context.recent?.note({ ...job.parameters })
    abort.end()
  }
}

/** Whom a call waits for, and who hears of what the function left behind. */
const ownerOf = (
  { name }: WorkerFunction,
  { jobId }: Job,
  { waits, trace }: JobContext,
  abort: JobAbort,
  seen: HiddenSecrets,
): OwningJob => ({
  jobId,
  functionName: name,
  reasonOf: (error) => seen.hideIn(messageOf(error)),
  ...(waits ? { waits } : {}),
  ...(trace ? { trace } : {}),
  fail: (error) => abort.leftBehind(error),
})

/** The worker's tenant, with a vault that remembers what this job read. */
const withSecrets = (tenant: Tenant, secrets: Secrets): Tenant =>
  Object.create(tenant, { secrets: { value: secrets, enumerable: true } }) as Tenant

async function fitResolved(
  definition: WorkerFunction,
  { parameters }: Job,
  { tenant }: JobContext,
  signal: AbortSignal,
): Promise<ReturnType<typeof fitParameters>> {
  const given = { ...parameters }
  const resolved = holdsMark(given) ? await resolveSecrets(given, tenant.secrets, signal) : given
  return fitParameters(definition, resolved as Job['parameters'])
}

async function runFunction(
  definition: WorkerFunction,
  job: Job,
  params: unknown,
  { clock, tenant, joint, recent, waits }: JobContext,
  signal: AbortSignal,
  changes: Changes,
): Promise<Outcome> {
  // A function that ignores its signal and succeeds has succeeded: its effect counts, not the deadline.
  const { jobId, isPolled = false, parameters } = job
  const isRecent = recent?.has(parameters) ?? true
  const ofJob = { jobId, isPolled, isRecent }
  const call = { params, tenant, signal, clock: abortingClock(clock, signal), ...ofJob }
  const result: unknown = await (joint
    ? untilTimedOut(joint.join(call, changes), signal)
    : runRepeated(definition, call, waits))
  const outcome = asJson(result, definition.name)
  if (!('result' in outcome)) return outcome
  if (changes.count > 0) recent?.note(outcome.result)
  return { ...outcome, effect: effectIn(definition, params, outcome.result, job) }
}

/** Standard functions meet throttling only in calls of the tenant, which repeat themselves. */
function runRepeated(
  definition: WorkerFunction,
  call: FunctionCall<unknown>,
  waits: JobContext['waits'],
): Promise<unknown> {
  if (definition.actsOnlyOnTenant) return definition.run(call)
  const { isIdempotent, repeatsWhenThrottled: mayRepeat = isIdempotent } = definition
  const { clock, signal } = call
  return repeatThrottled(() => definition.run(call), {
    clock,
    signal,
    mayRepeat,
    ...(waits && { waits }),
  })
}

/** The call continues for the others, and may still act for this one. */
async function untilTimedOut(answer: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  const timedOut = Promise.withResolvers<never>()
  const giveUp = () => {
    const reason: unknown = signal.reason
    if (reason instanceof WorkerStops) return
    timedOut.reject(new StillRuns(`${messageOf(reason)}; the call for it and others may still run`))
  }
  signal.addEventListener('abort', giveUp)
  try {
    return await Promise.race([answer, timedOut.promise])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** The result as it travels. A custom function may return anything, even a cycle. */
function asJson(result: unknown, name: string): Outcome {
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch (error) {
    return fail(
      'UnusableResult',
      `${name} ran, but its result is not JSON (${messageOf(error).split('\n')[0]}). Check in the tenant what was done, and correct the function.`,
    )
  }
  return { result: text === undefined ? null : (JSON.parse(text) as Json) }
}

const MESSAGE_CHARS_MAX = 2_000
const TYPE_CHARS_MAX = 200

/** Secrets are hidden before anything is cut: half a secret would not be found. */
function settled(outcome: Outcome, seen: HiddenSecrets): Outcome {
  if ('result' in outcome) {
    const effect = outcome.effect ? withoutSecrets(outcome.effect, seen) : null
    return { result: fitResult(seen.hideIn(outcome.result)), effect }
  }
  const { message, type } = outcome.failure
  const texts = {
    message: seen.hideIn(message).slice(0, MESSAGE_CHARS_MAX),
    type: seen.hideIn(type).slice(0, TYPE_CHARS_MAX),
  }
  return { failure: { ...outcome.failure, ...texts } }
}

interface Ended {
  readonly context: JobContext
  readonly trace: JobTrace | null
  readonly startedAt: Date
  readonly endedAt: Date
}

function resultOf(
  job: Job,
  outcome: Outcome,
  { context, trace, startedAt, endedAt }: Ended,
): JobResult {
  const isSuccess = 'result' in outcome
  const result = isSuccess ? resultFor(job, outcome.result, context) : null
  const togetherMax = context.joint?.togetherMax
  return {
    ...(trace && { traceparent: traceparentOf(trace.context) }),
    jobId: job.jobId,
    batchId: job.batchId,
    workerId: context.workerId,
    functionName: job.functionName,
    status: isSuccess ? 'Success' : 'Failure',
    resultType: result === null || typeof result === 'boolean' ? 'Boolean' : 'Object',
    result,
    error: isSuccess ? null : outcome.failure,
    durationMs: Math.round(+endedAt - +startedAt),
    timestamp: endedAt.toISOString(),
    correlationData: job.correlation,
    ...(isSuccess && outcome.effect ? { effect: outcome.effect as unknown as JsonObject } : {}),
    ...(togetherMax ? { togetherMax } : {}),
  }
}

/** Our undo ledger and evidence need more than `true`. */
function resultFor(job: Job, result: Json, { catalogue }: JobContext): Json {
  const definition = catalogue.get(job.functionName.toLowerCase())
  return job.isOfEarlierSystem && definition?.answeredTrue ? true : result
}

/** Of the trace: null for a success. */
function endNameOf(outcome: Outcome | null): string | null {
  if (outcome === null) return 'Abandoned'
  return 'failure' in outcome ? outcome.failure.type : null
}

/** Null when telemetry is off. */
function traceOf(job: Job, context: JobContext, startedAt: Date): JobTrace | null {
  const { telemetry, workerId, catalogue } = context
  if (!telemetry) return null
  const functionName = catalogue.get(job.functionName.toLowerCase())?.name ?? null
  return new JobTrace(telemetry, job, { workerId, functionName, startedAt })
}
