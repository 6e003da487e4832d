// One job, from message to result. Whatever a function does, the job ends with a success or a failure and its reason, except in
// two cases: a job that waited in the queue past its limit is dead-lettered, and a job aborted by a stopping worker is abandoned,
// because nobody knows how far it came. A job's timeout counts from its start. On redelivery a function that is not idempotent fails with `OutcomeUnknown` instead of
// running again.

import { messageOf } from '../../base/errors/errors.ts'
import type { JobKeys, SignatureFault } from '../../base/keys/job-keys.ts'
import type { HiddenSecrets } from '../../base/log/hidden-secrets.ts'
import type { Clock } from '../../base/run/clock.ts'
import { type Telemetry, traceparentOf } from '../../base/telemetry/telemetry.ts'
import { durationText } from '../../base/text/duration.ts'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { hintFor } from '../../base/text/spelling.ts'
import type { ReceivedMessage } from '../../bus/bus.ts'
import { EXPIRED, NOT_STARTED } from '../../bus/bus.ts'
import { GIVEN_BACK, type Message, readMessage } from '../../domain/messages/messages.ts'
import { holdsMark } from '../../domain/runbook/template.ts'
import type { LedgerEffect } from '../../domain/state/effects.ts'
import type { Catalogue, WorkerFunction } from '../functions/catalogue.ts'
import type { Changes, Tenant } from '../functions/tenant.ts'
import { ChangedSince } from '../functions/undo-guard.ts'
import { ApiError, type Secrets } from '../http/api.ts'
import { resolveSecrets } from '../secrets/reference.ts'
import { watchedSecrets } from '../secrets/watched-secrets.ts'
import { abortingClock } from './aborting-clock.ts'
import { effectIn, withoutSecrets } from './effect-report.ts'
import { fitParameters } from './fit-parameters.ts'
import { fitResult } from './fit-result.ts'
import { JobTrace } from './job-trace.ts'
import type { JointSeat } from './joint/joint-call.ts'
import { runOwned } from './owning-job.ts'
import type { JobResult } from './result-cache.ts'

export interface Job extends Pick<Message<'worker-job'>, 'jobId' | 'batchId' | 'functionName'> {
  readonly parameters: { readonly [key: string]: Json }
  /** Counts from the start; null when the sender gave none. */
  readonly timeoutSec: number | null
  /** The job is not started later. */
  readonly notAfter: Date | null
  /** The step has `poll`: it runs again until its function is complete. */
  readonly isPolled?: boolean
  /** Delivered before: another worker may have run it. */
  readonly isRepeated: boolean
  /** Trace context of the sender. */
  readonly traceparent?: string | null
  /** Tells this delivery of the job from another. */
  readonly delivery?: string
  /** Echoed unchanged: the sender finds its step by it. */
  readonly correlation: { readonly [key: string]: Json } | null
}

/** Why a message is dead-lettered: a code for machines and a sentence for people. */
export interface RefusedJob {
  readonly reason: string
  readonly description: string
}

const FAULTS: Readonly<Record<SignatureFault, string>> = {
  JobUnsigned:
    'The job is not signed, and this worker runs signed jobs only. If matoolkit sent it, set MATOOLKIT_JOB_KEY_FILE for every process; otherwise somebody else wrote it.',
  JobKeyUnknown:
    'The job is signed with a key that this worker does not have. Give every process the same MATOOLKIT_JOB_KEY_FILE.',
  JobForged:
    'The signature does not fit the job: somebody made it up or changed it. Find out who can write to the database.',
}

/** With keys, nothing of a job is believed before its signature. */
export function readJob(
  received: ReceivedMessage,
  workerId: string,
  keys: JobKeys | null = null,
): Job | RefusedJob {
  const fault = keys?.faultIn(received.body)
  if (fault) return { reason: fault, description: FAULTS[fault] }
  const read = readMessage(received.type, received.body, 'worker-job')
  if (!read.ok) return { reason: 'Unreadable', description: read.reason }
  const { message } = read
  if (message.messageType !== 'worker-job') {
    return {
      reason: 'WrongTopic',
      description: `A worker received a ${message.messageType} message.`,
    }
  }
  if (message.workerId.toLowerCase() !== workerId.toLowerCase()) {
    // A subscription without its filter receives every worker's jobs.
    const description = `Worker ${workerId} received a job for worker ${message.workerId}. Check the filter of its subscription.`
    return { reason: 'WrongWorker', description }
  }
  const { jobId, batchId, functionName, parameters } = message
  const notAfter = message.notAfter ? new Date(message.notAfter) : null
  const correlation = correlationIn(received.body)
  const isRepeated = received.deliveryCount > 1
  const timeoutSec = message.timeoutSec ?? null
  const isPolled = message.isPolled ?? false
  const times = { timeoutSec, notAfter, isPolled, isRepeated }
  const { sequence, token } = received.lease
  const trace = { traceparent: message.traceparent ?? null, delivery: `${sequence} ${token}` }
  return { jobId, batchId, functionName, parameters, ...times, ...trace, correlation }
}

/**
 * A job that waited past its limit is not started; it is dead-lettered like one that expired on the bus. A Failure would cost its
 * step a retry although it never ran.
 */
export function refuseExpired({ notAfter, isRepeated }: Job, now: Date): RefusedJob | null {
  if (notAfter === null || notAfter > now) return null
  const description = `The job waited until ${notAfter.toISOString()}, its limit, and was not started.`
  // An earlier delivery may have run: then it counts as expired, not as never started.
  return { reason: isRepeated ? EXPIRED : NOT_STARTED, description }
}

/** `readMessage` drops fields it does not know; a sender gets all of its own back. */
function correlationIn(body: string): Job['correlation'] {
  const fields = Object.entries(JSON.parse(body) as { [key: string]: Json })
  const found = fields.find(([name]) => name.toLowerCase() === 'correlationdata')?.[1]
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : null
}

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
  /** Null when telemetry is off. */
  readonly telemetry?: Telemetry | null
  /** Set while the job runs. */
  readonly trace?: JobTrace | null
}

type Failed = { readonly failure: NonNullable<JobResult['error']> }
type Outcome = { readonly result: Json; readonly effect?: LedgerEffect | null } | Failed

/** Runs the job's function. Null when the worker stopped meanwhile: the job must be abandoned. */
export async function runJob(job: Job, context: JobContext): Promise<JobResult | null> {
  const { clock, workerId } = context
  const startedAt = clock.now()
  const trace = traceOf(job, context, startedAt)
  const traced = trace ? { ...context, trace } : context
  const outcome = await outcomeOf(job, traced).finally(() => context.joint?.leave())
  if (outcome === null) {
    trace?.end(clock.now(), 'Abandoned')
    return null
  }
  const isSuccess = 'result' in outcome
  const result = isSuccess ? outcome.result : null
  const endedAt = clock.now()
  trace?.end(endedAt, isSuccess ? null : outcome.failure.type)
  return {
    ...(trace && { traceparent: traceparentOf(trace.context) }),
    jobId: job.jobId,
    batchId: job.batchId,
    workerId,
    functionName: job.functionName,
    status: isSuccess ? 'Success' : 'Failure',
    resultType: result === null || typeof result === 'boolean' ? 'Boolean' : 'Object',
    result,
    error: isSuccess ? null : outcome.failure,
    durationMs: Math.round(+endedAt - +startedAt),
    timestamp: endedAt.toISOString(),
    correlationData: job.correlation,
    ...(isSuccess && outcome.effect ? { effect: outcome.effect as unknown as JsonObject } : {}),
    ...(context.joint?.togetherMax ? { togetherMax: context.joint.togetherMax } : {}),
  }
}

/** Null when telemetry is off. */
function traceOf(job: Job, context: JobContext, startedAt: Date): JobTrace | null {
  const { telemetry, workerId, catalogue } = context
  if (!telemetry) return null
  const functionName = catalogue.get(job.functionName.toLowerCase())?.name ?? null
  return new JobTrace(telemetry, job, { workerId, functionName, startedAt })
}

async function outcomeOf(job: Job, context: JobContext): Promise<Outcome | null> {
  const { catalogue, workerId } = context
  const found = catalogue.get(job.functionName.toLowerCase())
  if (!found) {
    const names = [...catalogue.values()].map(({ name }) => name)
    const hint = hintFor(job.functionName, names, 'It has')
    return refuse(
      job,
      'UnknownFunction',
      `Worker ${workerId} has no function "${job.functionName}". ${hint}`,
    )
  }
  if (job.isRepeated && !found.isIdempotent) return fail('OutcomeUnknown', OUTCOME_UNKNOWN)
  const stopped = context.whyStopped?.(job.jobId) ?? null
  if (stopped !== null) return withoutEffect(job, fail(GIVEN_BACK, stopped))
  return attempt(found, job, context)
}

const OUTCOME_UNKNOWN =
  'An earlier delivery of this job ended without a result, and the function must not run twice. Check in the tenant what was done, then retry the step or mark it as done.'

class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

class StillRuns extends TimedOut {}

/** Something that the function started and did not wait for failed. */
class LeftBehind extends Error {
  override readonly name = 'UnhandledRejection'
}

class WorkerStops extends Error {
  override readonly name = 'WorkerStops'
}

async function attempt(
  definition: WorkerFunction,
  job: Job,
  context: JobContext,
): Promise<Outcome | null> {
  const { clock, stopping, tenant } = context
  const abort = new AbortController()
  const ended = new AbortController()
  const stop = () => abort.abort(new WorkerStops('the worker is stopping'))
  if (stopping.aborted) stop()
  stopping.addEventListener('abort', stop)
  const overrun = Promise.withResolvers<never>()
  // It may overrun before anything waits for it.
  overrun.promise.catch(() => {})
  void abortInTime(job, clock, abort, ended.signal, overrun.reject)
  const { secrets, seen } = watchedSecrets(tenant.secrets, job.parameters)
  const changes: Changes = { count: 0 }
  const inTenant = { ...context, tenant: withSecrets(tenant, secrets).countingFor([changes]) }
  let isCalled = false
  try {
    const fitted = await fitResolved(definition, job, inTenant, abort.signal)
    if ('misfits' in fitted) {
      const message = `Parameters do not fit ${definition.name}: ${fitted.misfits}`
      return settled(refuse(job, 'UnfitParameters', message), seen)
    }
    isCalled = true
    const owner = {
      jobId: job.jobId,
      functionName: definition.name,
      reasonOf: (error: unknown) => seen.hideIn(messageOf(error)),
      ...(context.waits ? { waits: context.waits } : {}),
      ...(context.trace ? { trace: context.trace } : {}),
      fail: (error: unknown) => {
        if (ended.signal.aborted) return false
        void abortForLeftBehind(error, clock, abort, ended.signal, overrun.reject)
        return true
      },
    }
    const running = runOwned(owner, () =>
      runFunction(definition, job, fitted.params, inTenant, abort.signal, changes),
    )
    const outcome = await Promise.race([running, overrun.promise])
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
    ended.abort()
    stopping.removeEventListener('abort', stop)
  }
}

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
  { clock, tenant, joint }: JobContext,
  signal: AbortSignal,
  changes: Changes,
): Promise<Outcome> {
  // A function that ignores its signal and succeeds has succeeded: its effect counts, not the deadline.
  const { jobId, isPolled = false } = job
  const call = { params, tenant, signal, jobId, isPolled, clock: abortingClock(clock, signal) }
  const result: unknown = await (joint
    ? untilTimedOut(joint.join(call, changes), signal)
    : definition.run(call))
  const outcome = asJson(result, definition.name)
  if (!('result' in outcome)) return outcome
  return { ...outcome, effect: effectIn(definition, params, outcome.result, job) }
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

/** Why the job was aborted counts more than what the function made of it. */
function failureBy(abortReason: unknown, error: unknown): Failed {
  if (abortReason instanceof LeftBehind) return fail(abortReason.name, abortReason.message)
  const timedOut = error instanceof TimedOut ? error : abortReason
  return timedOut instanceof TimedOut ? fail(timedOut.name, timedOut.message) : failureOf(error)
}

function failureOf(error: unknown): Failed {
  if (!(error instanceof ApiError))
    return { failure: { ...fail(nameOf(error), messageOf(error)).failure, ...finality(error) } }
  const { message, code, isThrottled, attempts } = error
  return { failure: { ...POSSIBLE, message, type: code, isThrottled, attempts } }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'Error')
const finality = (error: unknown): { isFinal?: true } =>
  error instanceof ChangedSince ? { isFinal: true } : {}

/** A function that ignores the abort may continue for so long: if it succeeds, its success counts. */
const STOPS_WITHIN_MS = 60_000

/** Aborts the job when its timeout is over, and gives it up when it does not stop: its slot and its step must not wait forever. */
async function abortInTime(
  { timeoutSec, notAfter }: Job,
  clock: Clock,
  abort: AbortController,
  ended: AbortSignal,
  giveUp: (error: TimedOut) => void,
): Promise<void> {
  // A sender that gives no timeout means its limit as the job's deadline.
  const limitMs = timeoutSec === null ? notAfter && +notAfter - +clock.now() : timeoutSec * 1_000
  if (limitMs === null) return
  await clock.wait(limitMs, ended)
  if (ended.aborted) return
  const why = `stopped after its timeout of ${durationText(limitMs)}`
  abort.abort(new TimedOut(why))
  await clock.wait(STOPS_WITHIN_MS, ended)
  // A stopping worker keeps the job until it ends: abandoned while it runs, it would run twice at once.
  if (ended.aborted || !(abort.signal.reason instanceof TimedOut)) return
  giveUp(new StillRuns(`${why}, but it did not stop and may still run`))
}

/** Nobody waits for what failed, and the function may wait for it forever. */
async function abortForLeftBehind(
  error: unknown,
  clock: Clock,
  abort: AbortController,
  ended: AbortSignal,
  giveUp: (error: TimedOut) => void,
): Promise<void> {
  const why = `the function started something without waiting for it, and that failed: ${messageOf(error)}`
  abort.abort(new LeftBehind(why))
  await clock.wait(STOPS_WITHIN_MS, ended)
  if (!ended.aborted) giveUp(new StillRuns(why))
}

const MESSAGE_CHARS_MAX = 2_000
const TYPE_CHARS_MAX = 200

const POSSIBLE = { effect: 'possible', isFinal: false } as const

function fail(type: string, message: string): Failed {
  return { failure: { ...POSSIBLE, message, type, isThrottled: false, attempts: 1 } }
}

/** The function or its parameters are wrong: nothing was called, and a retry would end the same way. */
function refuse(job: Job, type: string, message: string): Failed {
  const { failure } = withoutEffect(job, fail(type, message))
  return { failure: { ...failure, isFinal: true } }
}

/** Says that nothing was called, unless an earlier delivery of the same job may have called something. */
const withoutEffect = ({ isRepeated }: Job, { failure }: Failed): Failed => ({
  failure: { ...failure, effect: isRepeated ? 'possible' : 'none' },
})
